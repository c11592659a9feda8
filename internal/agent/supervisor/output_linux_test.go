package supervisor_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/supervisor"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

func TestOutputKeepsHeadAndTail(t *testing.T) {
	for _, test := range []struct {
		name       string
		head, tail int64
		in, want   string
		cut        backend.Cut
	}{
		{"all of it fits", 4, 4, "abcdefgh", "abcdefgh", backend.Cut{}},
		{"one byte too many", 4, 4, "abcdXefgh", "abcdefgh", backend.Cut{Offset: 4, Omitted: 1}},
		{"no limit", 0, 0, "abcdefgh", "abcdefgh", backend.Cut{}},
		{"no tail", 4, 0, "abcdefgh", "abcd", backend.Cut{Offset: 4, Omitted: 4}},
		{"no head", 0, 4, "abcdefgh", "efgh", backend.Cut{Offset: 0, Omitted: 4}},
		{"a sequence at the end of the head", 4, 2, "abc世xyz", "abcyz", backend.Cut{Offset: 3, Omitted: 4}},
		{"a sequence at the start of the tail", 2, 3, "abcde世x", "abx", backend.Cut{Offset: 2, Omitted: 6}},
		{"bytes that are no text", 2, 2, "\x80\x81\x82\x83\x84\x85", "\x80\x81", backend.Cut{Offset: 2, Omitted: 4}},
	} {
		for chunk := 1; chunk <= len(test.in); chunk++ {
			var out bytes.Buffer
			cut := supervisor.Keep(&out, backend.OutputLimit{Head: test.head, Tail: test.tail}, []byte(test.in), chunk)
			if out.String() != test.want || cut != test.cut {
				t.Errorf("%s, in pieces of %d: got %q with %+v, want %q with %+v", test.name, chunk, out.String(), cut, test.want, test.cut)
			}
		}
	}
}

func FuzzOutput(f *testing.F) {
	f.Add([]byte("abc世界xyz"), uint8(4), uint8(4), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, head, tail, chunk uint8) {
		var out bytes.Buffer
		cut := supervisor.Keep(&out, backend.OutputLimit{Head: int64(head), Tail: int64(tail)}, in, int(chunk)+1)
		if int64(out.Len())+cut.Omitted != int64(len(in)) {
			t.Fatalf("%d of %d bytes came out, %d are said to be missing", out.Len(), len(in), cut.Omitted)
		}
		if cut.Omitted == 0 && !bytes.Equal(out.Bytes(), in) {
			t.Fatalf("got %q, want %q", out.Bytes(), in)
		}
		if utf8.Valid(in) && !utf8.Valid(out.Bytes()) {
			t.Fatalf("a cut split a sequence: %q of %q", out.Bytes(), in)
		}
	})
}
