//go:build !linux

package jail

import (
	"os"
	"os/exec"
)

// Sandboxes see the programs of the host on Linux only; elsewhere a Finder is of no use, and simpler.

func inode(os.FileInfo) uint64 { return 0 }

func killTree(*exec.Cmd) {}
