package docker

import (
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/pkg/stdcopy"
)

// A stream is the connection to the standard input and output of a container. What the container writes
// to standard error is kept: an agent writes there only why it cannot serve.
type stream struct {
	io.Reader
	hijacked types.HijackedResponse
	end      *io.PipeReader
	remarks  *remarks
}

func newStream(hijacked types.HijackedResponse) *stream {
	r, w := io.Pipe()
	s := &stream{Reader: r, hijacked: hijacked, end: r, remarks: new(remarks)}
	go func() {
		_, err := stdcopy.StdCopy(w, s.remarks, hijacked.Reader)
		if err == nil {
			err = io.EOF
		}
		_ = w.CloseWithError(err)
	}()
	return s
}

// Write implements io.Writer.
func (s *stream) Write(p []byte) (int, error) { return s.hijacked.Conn.Write(p) }

// Close implements io.Closer. The engine then closes the container's standard input.
func (s *stream) Close() error {
	return errors.Join(s.hijacked.Conn.Close(), s.end.Close())
}

// remarks keep the beginning of a text.
type remarks struct {
	mu   sync.Mutex
	text []byte
}

// maxRemarks bounds what is kept, in bytes.
const maxRemarks = 1 << 10

// Write implements io.Writer.
func (r *remarks) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, p[:min(len(p), maxRemarks-len(r.text))]...)
	return len(p), nil
}

// String returns the text in one line.
func (r *remarks) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(strings.Fields(string(r.text)), " ")
}
