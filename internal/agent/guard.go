package agent

import (
	"encoding/binary"
	"errors"
	"io"
)

// The parts of yamux's frame header that guard looks at (spec.md of yamux, "Framing").
const (
	muxHeaderSize = 12
	muxTypeData   = 0
	muxTypePing   = 2
)

var errPing = errors.New("the other end sent a ping")

// A guard ends a connection on which a ping arrives. Neither end of ours sends one, and yamux answers
// each on a goroutine of its own: whoever sends pings without reading the answers would fill our memory.
type guard struct {
	io.ReadWriteCloser
	// header holds the first bytes of the next header; body is what is left of the current body.
	header []byte
	body   uint32
	err    error
}

// Read implements io.Reader.
func (g *guard) Read(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.ReadWriteCloser.Read(p)
	for b := p[:n]; len(b) > 0; {
		if g.body > 0 {
			skip := min(uint64(g.body), uint64(len(b)))
			g.body -= uint32(skip) //nolint:gosec // at most g.body
			b = b[skip:]
			continue
		}
		take := min(muxHeaderSize-len(g.header), len(b))
		g.header = append(g.header, b[:take]...)
		b = b[take:]
		if len(g.header) < muxHeaderSize {
			break
		}
		switch g.header[1] {
		case muxTypePing:
			g.err = errPing
			return 0, g.err
		case muxTypeData:
			g.body = binary.BigEndian.Uint32(g.header[8:])
		}
		g.header = g.header[:0]
	}
	return n, err
}
