package backendtest

import (
	"archive/tar"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// selectionCases are about what CopyOut packs.
func selectionCases() []conformanceCase {
	return []conformanceCase{
		{name: "select by extension", run: byExtension},
		{name: "select without hidden and skipped directories", run: withoutHidden},
		{name: "select by size", run: bySize},
		{name: "select by count", run: byCount},
		{name: "copy out takes what is there, not what links point to", needs: []Need{NeedKernel}, run: linksStayLinks},
		{name: "copy out does not hang on pipes and devices", needs: []Need{NeedPython, NeedKernel}, run: pipesAndSockets},
		{name: "copy out of unreadable files", needs: []Need{NeedKernel}, run: unreadable},
		{name: "copy out of a sparse file", needs: []Need{NeedKernel}, run: sparse},
		{name: "copy out of a deep tree", needs: []Need{NeedPython, NeedKernel}, run: deepTree},
		{name: "copy out closed early", run: closedEarly},
		{name: "copy out while a program writes", needs: []Need{NeedKernel}, run: whileWriting},
	}
}

func names(entries map[string]entry) []string { return slices.Sorted(maps.Keys(entries)) }

func (c *check) selects(s backend.Sandbox, sel backend.Selection, want ...string) map[string]entry {
	c.t.Helper()
	got := c.copyOut(s, sel)
	if !slices.Equal(names(got), want) {
		c.t.Errorf("selected %q, want %q", names(got), want)
	}
	return got
}

func byExtension(c *check) {
	s := c.sandbox()
	c.copyIn(s, "/tmp", file("a.png", "1", 0o644), file("b.PNG", "2", 0o644), file("c.txt", "3", 0o644), file("png", "4", 0o644),
		special(tar.TypeDir, "dir.png/", ""), file("dir.png/d.csv", "5", 0o644), special(tar.TypeSymlink, "link.png", "a.png"))
	c.selects(s, backend.Selection{Dir: "/tmp", Extensions: []string{".png", ".csv"}}, "a.png", "b.PNG", "dir.png/d.csv")
}

func withoutHidden(c *check) {
	s := c.sandbox()
	c.copyIn(s, "/tmp", file("a.py", "", 0o644), file(".h.py", "", 0o644), file(".d/b.py", "", 0o644),
		file("x/cache/c.py", "", 0o644), file("x/d.py", "", 0o644), file("x/.e/f.py", "", 0o644))
	c.selects(s, backend.Selection{Dir: "/tmp", Extensions: []string{".py"}, SkipHidden: true, Skip: []string{"cache"}}, "a.py", "x/d.py")
	c.selects(s, backend.Selection{Dir: "/tmp", Extensions: []string{".py"}}, ".d/b.py", ".h.py", "a.py", "x/.e/f.py", "x/cache/c.py", "x/d.py")
}

func bySize(c *check) {
	s := c.sandbox()
	c.copyIn(s, "/tmp", file("at", strings.Repeat("x", 100), 0o644), file("over", strings.Repeat("x", 101), 0o644))
	got := c.selects(s, backend.Selection{Dir: "/tmp", MaxFile: 100}, "at", "over")
	if at := got["at"]; len(at.body) != 100 || at.header.PAXRecords[backend.RecordSize] != "" {
		c.t.Errorf("file of the limit's size: %d bytes, records %v", len(at.body), at.header.PAXRecords)
	}
	if over := got["over"]; over.body != "" || over.header.PAXRecords[backend.RecordSize] != "101" {
		c.t.Errorf("larger file: %d bytes, records %v", len(over.body), over.header.PAXRecords)
	}
}

func byCount(c *check) {
	s := c.sandbox()
	var entries []entry
	for n := range 25 {
		entries = append(entries, file("f"+strconv.Itoa(n), "x", 0o644))
	}
	c.copyIn(s, "/tmp", entries...)
	got := c.copyOut(s, backend.Selection{Dir: "/tmp", MaxFiles: 10})
	if more := got[globalRecords].header.PAXRecords[backend.RecordMore]; len(got) != 11 || more != "15" {
		c.t.Errorf("got %d entries and %q more; want 10, the records, and 15", len(got), more)
	}
	if got := c.copyOut(s, backend.Selection{Dir: "/tmp", MaxFiles: 25}); len(got) != 25 {
		c.t.Errorf("got %d entries at exactly the limit", len(got))
	}
}

func linksStayLinks(c *check) {
	s := c.sandbox()
	c.succeed(c.sh(s, "cd /tmp; mkdir top; ln -s /etc/passwd top/plot.png; ln -s / top/root; ln -s /tmp/top top/self; ln -s gone top/dangling"))
	got := c.selects(s, backend.Selection{Dir: "/tmp/top"}, "dangling", "plot.png", "root", "self")
	for name, e := range got {
		if e.header.Typeflag != tar.TypeSymlink || e.body != "" {
			c.t.Errorf("%s is of type %q with %d bytes", name, e.header.Typeflag, len(e.body))
		}
	}
	c.selects(s, backend.Selection{Dir: "/tmp/top", Extensions: []string{".png"}})
}

func pipesAndSockets(c *check) {
	s := c.sandbox()
	c.succeed(c.py(s, `
import os, socket
os.mkdir("/tmp/top")
os.mkfifo("/tmp/top/plot.png")
socket.socket(socket.AF_UNIX).bind("/tmp/top/socket.png")
open("/tmp/top/real.png", "w").write("x")
`))
	c.selects(s, backend.Selection{Dir: "/tmp/top"}, "real.png")
	c.selects(s, backend.Selection{Dir: "/tmp/top", Extensions: []string{".png"}}, "real.png")
}

// unreadable files and directories are left out or taken; they never fail the archive.
func unreadable(c *check) {
	s := c.sandbox()
	c.succeed(c.sh(s, "cd /tmp; mkdir -p top/shut; echo x > top/shut/a; echo x > top/b; chmod 0 top/b top/shut; echo x > top/c"))
	got := c.copyOut(s, backend.Selection{Dir: "/tmp/top"})
	if got["c"].body != "x\n" {
		c.t.Errorf("got %q", names(got))
	}
}

func sparse(c *check) {
	s := c.sandbox()
	c.succeed(c.sh(s, "cd /tmp; mkdir top; truncate -s 4G top/huge.csv; echo x > top/small.csv"))
	got := c.selects(s, backend.Selection{Dir: "/tmp/top", MaxFile: 1 << 20}, "huge.csv", "small.csv")
	if huge := got["huge.csv"]; huge.body != "" || huge.header.PAXRecords[backend.RecordSize] != strconv.Itoa(4<<30) {
		c.t.Errorf("huge file: %d bytes, records %v", len(huge.body), huge.header.PAXRecords)
	}
}

func deepTree(c *check) {
	s := c.sandbox()
	c.succeed(c.py(s, `
import os
os.makedirs("/tmp/top")
os.chdir("/tmp/top")
open("a.png", "w").write("x")
for _ in range(3000):
    os.mkdir("d" * 100)
    os.chdir("d" * 100)
open("z.png", "w").write("x")
`))
	// How deep it goes is the driver's choice; that it comes back with what is near is not.
	got := c.copyOut(s, backend.Selection{Dir: "/tmp/top", Extensions: []string{".png"}, MaxFiles: 10})
	if got["a.png"].body != "x" {
		c.t.Errorf("got %d entries", len(got))
	}
	c.expect(c.sh(s, "echo next"), 0, "next\n")
}

func closedEarly(c *check) {
	s := c.sandbox()
	c.copyIn(s, "/tmp", file("large", strings.Repeat("0123456789abcdef", 1<<20), 0o644))
	for range 3 {
		r, err := s.CopyOut(c.ctx, backend.Selection{Dir: "/tmp"})
		if err != nil {
			c.t.Fatalf("copy out: %v", err)
		}
		if _, err := r.Read(make([]byte, 512)); err != nil {
			c.t.Errorf("read: %v", err)
		}
		if err := r.Close(); err != nil {
			c.t.Errorf("close: %v", err)
		}
	}
	c.expect(c.sh(s, "echo next"), 0, "next\n")
}

func whileWriting(c *check) {
	s := c.sandbox()
	c.startUntil(c.ctx, s, shell(`mkdir /tmp/top; cd /tmp/top; echo started; while true; do seq 1 20000 > grows; seq 1 3 > grows; done`))
	for range 20 {
		c.copyOut(s, backend.Selection{Dir: "/tmp/top"})
	}
}
