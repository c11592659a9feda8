// Keeps the compiler busy without end.
// want: status timeout memory_limit error
// want: timeout 8
// want: seconds 40

template <int N> struct Bomb {
    enum { value = Bomb<N - 1>::value + Bomb<N - 2 + (N % 2)>::value };
    Bomb<N - 1> a;
    Bomb<N - 2> b;
};
template <> struct Bomb<0> { enum { value = 1 }; };
template <> struct Bomb<1> { enum { value = 1 }; };
template <> struct Bomb<-1> { enum { value = 1 }; };
int main() { return sizeof(Bomb<800>) > 0; }
