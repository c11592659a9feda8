package api

import (
	"bufio"
	"io"
)

// NewStream returns the reading half of a stream.
func NewStream(r io.Reader, stderr io.Writer) *Stream {
	return &Stream{reader: bufio.NewReader(r), stderr: stderr}
}
