package artifact

import "io"

// Collect reads what the hooks captured and what the program left in its working directory.
func Collect(captured, workdir io.Reader, lim Limits) (Set, error) {
	return Set{}, nil
}
