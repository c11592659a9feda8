//go:build !linux

package stdio

import "os"

// Claim takes standard output for the protocol: it returns the file behind it and points [os.Stdout]
// at standard error, so that no library can put a word between two messages.
func Claim() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}
