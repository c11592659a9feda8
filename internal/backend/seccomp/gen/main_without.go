//go:build !(linux && cgo && libseccomp)

// Command gen compiles profile.json with libseccomp into the filters that package seccomp embeds. This
// half of it is built where that cannot be done.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "gen: build with -tags libseccomp on Linux, with cgo, pkg-config and libseccomp-dev")
	os.Exit(1)
}
