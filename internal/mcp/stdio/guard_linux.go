package stdio

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Claim takes standard output for the protocol: it returns the file behind it and points descriptor 1
// and [os.Stdout] at standard error, so that neither a library nor C code nor a child process can put
// a word between two messages.
//
// The returned file has another number than 1, so that writing to it after the reader has gone is an
// error and not the end of the process by SIGPIPE.
func Claim() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("stdio: duplicate standard output: %w", err)
	}
	if err := unix.Dup3(2, 1, 0); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("stdio: redirect standard output: %w", err)
	}
	os.Stdout = os.Stderr
	return os.NewFile(uintptr(fd), "stdout"), nil
}
