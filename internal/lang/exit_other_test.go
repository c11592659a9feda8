//go:build !unix

package lang_test

import "os"

func exitCode(state *os.ProcessState) int { return state.ExitCode() }
