// Makes standard output line-buffered, as on a terminal, so that what was printed before a crash or a
// timeout is there. Nothing is declared under a name that code or a header could use; the names of the
// C library are those of glibc and musl.
struct _IO_FILE;
namespace sandbox_stdout {
extern _IO_FILE* stream __asm__("stdout");
int set_buffer(_IO_FILE*, char*, int, decltype(sizeof 0)) __asm__("setvbuf");
__attribute__((constructor)) static void by_line() {
    constexpr int lines = 1;  // _IOLBF
    set_buffer(stream, nullptr, lines, 0);
}
}  // namespace sandbox_stdout
