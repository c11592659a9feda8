package supervisor_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/supervisor"
)

// Whatever the archive, nothing beside its directory changes.
func FuzzUnpack(f *testing.F) {
	for _, entries := range [][]entry{
		{file("a", "1"), dir("b"), link("b/c", "../a")},
		{dir("a/b"), link("a/b/c", "../.."), link("a/b/c/d", "../../x"), file("d/f", "1")},
		{file("../outside", "1")},
		{link("l", "/etc"), file("l/x", "1")},
	} {
		b, err := io.ReadAll(archive(f, entries...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 64<<10 {
			t.Skip("an archive may be as large as the disk, but this one is not to be")
		}
		parent := t.TempDir()
		_ = supervisor.Unpack(filepath.Join(parent, "dir"), io.LimitReader(bytes.NewReader(b), int64(len(b))))
		entries, err := os.ReadDir(parent)
		if err != nil || len(entries) != 1 || entries[0].Name() != "dir" {
			t.Errorf("beside the directory there is %v, %v", entries, err)
		}
	})
}

// Whatever a server sends, a program ends: the end of the stream always cancels.
func FuzzListen(f *testing.F) {
	var wire bytes.Buffer
	w := agent.NewWriter(&wire)
	_ = w.Write(agent.TypeData, []byte("input"))
	_ = w.Write(agent.TypeEOF, nil)
	_ = w.Write(agent.TypeData, []byte("too late"))
	_ = w.Write(agent.TypeCancel, nil)
	f.Add(wire.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if input, cancelled := supervisor.Listen(bytes.NewReader(b)); !cancelled || len(input) > len(b) {
			t.Errorf("cancelled: %t, input %q", cancelled, input)
		}
	})
}
