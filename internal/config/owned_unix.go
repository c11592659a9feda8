//go:build unix

package config

import (
	"io/fs"
	"os"
	"syscall"
)

// owned reports whether the file belongs to this user.
func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
