package supervisor

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// An output passes on the beginning and the end of a stream and drops what is between: the beginning
// at once, the end when the stream has ended.
type output struct {
	w     io.Writer
	limit backend.OutputLimit
	head  int64  // bytes passed on
	full  bool   // head is at its end
	part  []byte // the beginning of a UTF-8 sequence, whose end may lie behind the head
	tail  []byte // a ring of limit.Tail bytes
	next  int64  // where the ring goes on
	seen  int64  // bytes that went into the ring
	err   error
}

func newOutput(w io.Writer, limit backend.OutputLimit) *output {
	return &output{w: w, limit: limit}
}

// write takes the next bytes of the stream. When nobody wants them any more they are dropped.
func (o *output) write(p []byte) {
	if o.limit.Head == 0 && o.limit.Tail == 0 {
		o.pass(p)
		return
	}
	if o.full {
		o.keep(p)
		return
	}
	if len(o.part) > 0 {
		p = append(o.part, p...)
		o.part = nil
	}
	n := int64(len(p))
	if room := o.limit.Head - o.head; n > room {
		n = boundary(p, room)
		o.full = true
		o.keep(p[n:])
	} else {
		n -= partial(p)
		o.part = bytes.Clone(p[n:])
	}
	o.pass(p[:n])
	o.head += n
}

// partial returns the length of the incomplete UTF-8 sequence at the end of p.
func partial(p []byte) int64 {
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if last := p[len(p)-back:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return int64(back)
		}
	}
	return 0
}

func (o *output) pass(p []byte) {
	if o.err == nil && len(p) > 0 {
		_, o.err = o.w.Write(p)
	}
}

// boundary returns the largest length up to n at which no UTF-8 sequence is split. n is less than the
// length of p.
func boundary(p []byte, n int64) int64 {
	for back := range int64(utf8.UTFMax) {
		if n-back >= 0 && utf8.RuneStart(p[n-back]) {
			return n - back
		}
	}
	return n
}

// keep puts bytes into the ring.
func (o *output) keep(p []byte) {
	o.seen += int64(len(p))
	if over := int64(len(p)) - o.limit.Tail; over > 0 {
		p = p[over:]
	}
	for len(p) > 0 {
		if int64(len(o.tail)) < o.limit.Tail {
			n := min(int64(len(p)), o.limit.Tail-int64(len(o.tail)))
			o.tail = append(o.tail, p[:n]...)
			p = p[n:]
			o.next = int64(len(o.tail)) % o.limit.Tail
			continue
		}
		n := copy(o.tail[o.next:], p)
		p = p[n:]
		o.next = (o.next + int64(n)) % o.limit.Tail
	}
}

// finish passes the end on and says what was dropped.
func (o *output) finish() backend.Cut {
	o.pass(o.part)
	tail := o.tail
	if int64(len(tail)) == o.limit.Tail && o.next > 0 {
		tail = append(append(make([]byte, 0, len(tail)), tail[o.next:]...), tail[:o.next]...)
	}
	omitted := o.seen - int64(len(tail))
	for skip := 0; omitted > 0 && skip < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); skip++ {
		tail = tail[1:]
		omitted++
	}
	o.pass(tail)
	if omitted == 0 {
		return backend.Cut{}
	}
	return backend.Cut{Offset: o.head, Omitted: omitted}
}
