package docker

import (
	"strings"
	"sync"
)

// remarks keep the beginning of what an agent writes to standard error: it writes there only why it cannot
// serve.
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
