package stage

import (
	"encoding/binary"
	"errors"
)

// A Setup tells the stage what to build. It crosses the socket between the server and the new process
// before the agent's own protocol begins.
type Setup struct {
	// Binds are pairs of a path of the host and the path in the sandbox where it is shown, read-only
	// and with everything that is mounted below it. A source that is missing is an error.
	Binds []string
	// Links are pairs of a name in the sandbox and what the symbolic link there holds.
	Links []string
	// Files are pairs of a name in the sandbox and the text of the read-only file there.
	Files []string
	// Writable are the directories that programs can write to. They share Size bytes.
	Writable []string
	// Devices are names in /dev of the host that are shown.
	Devices []string
	// Overlay is a read-only directory in the sandbox over which a writable layer is laid; empty for
	// none.
	Overlay string
	// Bounds are the options of tmpfs that bound what all writable directories hold together.
	Bounds string
	// Limits are triples of the number of a resource of setrlimit(2), its soft and its hard limit.
	Limits []int64
	// UID and GID are set inside when Switch is true; otherwise the process has them already.
	UID, GID int
	Switch   bool
	// Filter is the seccomp program, empty for none.
	Filter []byte
	// WorkDir is where programs start.
	WorkDir string
	// Data bounds the private writable memory of each program's processes, in bytes; 0 for no limit.
	Data int

	// self is the binary, opened before its file system is out of reach.
	self int
}

// fields lists the parts of s in the order of the wire.
func (s *Setup) fields() (lists []*[]string, words []*string, flags []*bool, numbers []*int) {
	return []*[]string{&s.Binds, &s.Links, &s.Files, &s.Writable, &s.Devices},
		[]*string{&s.Overlay, &s.Bounds, &s.WorkDir},
		[]*bool{&s.Switch},
		[]*int{&s.UID, &s.GID, &s.Data}
}

// Marshal encodes s. JSON would do, but its package costs the stage a tenth of its start.
func (s *Setup) Marshal() []byte {
	lists, words, flags, numbers := s.fields()
	var b []byte
	text := func(t string) { b = append(binary.AppendUvarint(b, uint64(len(t))), t...) }
	for _, list := range lists {
		b = binary.AppendUvarint(b, uint64(len(*list)))
		for _, t := range *list {
			text(t)
		}
	}
	for _, t := range words {
		text(*t)
	}
	for _, f := range flags {
		if *f {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	for _, n := range numbers {
		b = binary.AppendVarint(b, int64(*n))
	}
	b = binary.AppendUvarint(b, uint64(len(s.Limits)))
	for _, n := range s.Limits {
		b = binary.AppendVarint(b, n)
	}
	text(string(s.Filter))
	return b
}

// errSetup says that the bytes are not those of Marshal.
var errSetup = errors.New("damaged setup message")

// Unmarshal decodes what Marshal encoded.
func (s *Setup) Unmarshal(b []byte) error {
	lists, words, flags, numbers := s.fields()
	r := reader{b: b}
	for _, list := range lists {
		for range r.count() {
			*list = append(*list, r.text())
		}
	}
	for _, t := range words {
		*t = r.text()
	}
	for _, f := range flags {
		*f = r.byte() == 1
	}
	for _, n := range numbers {
		*n = int(r.varint())
	}
	for range r.count() {
		s.Limits = append(s.Limits, r.varint())
	}
	s.Filter = []byte(r.text())
	if r.bad || len(r.b) > 0 {
		return errSetup
	}
	return nil
}

// reader takes values off the front of b and remembers whether one was missing.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) skip(n int) {
	if n <= 0 || n > len(r.b) {
		r.b, r.bad = nil, true
		return
	}
	r.b = r.b[n:]
}

// count is a length that cannot be larger than what is left.
func (r *reader) count() int {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	if v > uint64(len(r.b)) {
		r.bad = true
		return 0
	}
	return int(v) //nolint:gosec // bounded by len(r.b)
}

func (r *reader) text() string {
	n := r.count()
	t := string(r.b[:n])
	r.b = r.b[n:]
	return t
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.skip(n)
	return v
}
