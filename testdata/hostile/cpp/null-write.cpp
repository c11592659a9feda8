// Dies of a wild write; no core file may come back.
// want: exit 139
// want: artifacts 0

int main() {
    volatile int *nowhere = nullptr;
    *nowhere = 1;
}
