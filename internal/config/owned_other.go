//go:build !unix

package config

import "io/fs"

// owned trusts the directory: temporary directories of Windows belong to one user.
func owned(fs.FileInfo) bool { return true }
