// Makes system calls by the numbers of other architectures, which a careless filter lets through.
// want: exit 0
// want: stdout refused

#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__
static long x32(long number) {
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(number | 0x40000000) : "rcx", "r11", "memory");
    return result;
}

static long i386(long number) {
    long result;
    asm volatile("int $0x80" : "=a"(result) : "a"(number) : "memory", "r8", "r9", "r10", "r11");
    return result;
}

static void attempt(const char *name, long (*call)(long), long number) {
    pid_t child = fork();
    if (child == 0) _exit(call(number) == getpid() ? 1 : 0);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1) std::printf("%s\n", name);
}
#endif

int main() {
#ifdef __x86_64__
    attempt("x32 getpid", x32, 39);
    attempt("i386 getpid", i386, 20);
#endif
    std::puts("refused");
}
