package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// read returns the text of a control file without surrounding white space. The files of one group that
// matter here are short; lists of processes may not be.
func read(dir, file string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, file))
	return strings.TrimSpace(string(text)), err
}

// write writes a control file in one call, as the kernel wants it.
func write(dir, file, text string) error {
	path := filepath.Join(dir, file)
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Write(fd, []byte(text))
		err = errors.Join(err, unix.Close(fd))
	}
	if err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

// number reads a control file that holds one number.
func number(dir, file string) (int64, error) {
	text, err := read(dir, file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// field reads a number from a control file of lines with a name and a number; 0 if it is not there.
func field(dir, file, name string) (int64, error) {
	text, err := read(dir, file)
	if err != nil {
		return 0, err
	}
	return lookup(text, name)
}

// lookup finds a number by its name in a text of lines with a name and a number.
func lookup(text, name string) (int64, error) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if key == name {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, nil
}
