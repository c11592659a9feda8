package command

import "io"

// Parse reads a command line.
func Parse(args []string) (Options, error) {
	o, _, err := parse(args, io.Discard)
	return o, err
}
