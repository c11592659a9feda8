package backendtest

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// fileCases are about CopyIn, and CopyOut of everything.
func fileCases() []conformanceCase {
	return []conformanceCase{
		{name: "copy in and out", run: roundTrip},
		{name: "copy in makes the directory", run: makesDirectory},
		{name: "copy in replaces files", run: replaces},
		{name: "copied files belong to the program", needs: []Need{NeedKernel}, run: ownership},
		{name: "unusual file names", run: unusualNames},
		{name: "50 MiB in and out", run: largeFile},
		{name: "copy in refuses names that leave the directory", run: refusesNames},
		{name: "copy in refuses links that leave the directory", run: refusesLinks},
		{name: "copy in does not follow links of the program", needs: []Need{NeedKernel}, run: doesNotFollow},
		{name: "copy in refuses devices and the like", run: refusesTypes},
		{name: "copy in drops set-user-id bits", needs: []Need{NeedKernel}, run: dropsBits},
		{name: "copy in of a broken archive", run: brokenArchive},
		{name: "copy in of an empty archive", run: emptyArchive},
	}
}

// An entry is a tar header and its contents.
type entry struct {
	header tar.Header
	body   string
}

func file(name, body string, mode int64) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(body)), ModTime: time.Unix(1e9, 0)}, body}
}

func special(kind byte, name, link string) entry {
	return entry{tar.Header{Typeflag: kind, Name: name, Linkname: link, Mode: 0o755}, ""}
}

func archive(t *testing.T, entries ...entry) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if err := w.WriteHeader(&e.header); err != nil {
			t.Fatalf("write tar header of %q: %v", e.header.Name, err)
		}
		if _, err := io.WriteString(w, e.body); err != nil {
			t.Fatalf("write %q: %v", e.header.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("close archive: %v", err)
	}
	return &b
}

func (c *check) copyIn(s backend.Sandbox, dir string, entries ...entry) {
	c.t.Helper()
	if err := s.CopyIn(c.ctx, dir, archive(c.t, entries...)); err != nil {
		c.t.Fatalf("copy in: %v", err)
	}
}

// copyOut returns the headers by name, with their contents.
func (c *check) copyOut(s backend.Sandbox, sel backend.Selection) map[string]entry {
	c.t.Helper()
	r, err := s.CopyOut(c.ctx, sel)
	if err != nil {
		c.t.Fatalf("copy out %s: %v", sel.Dir, err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			c.t.Errorf("close archive of %s: %v", sel.Dir, err)
		}
	}()
	got := map[string]entry{}
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			c.t.Fatalf("read archive of %s: %v", sel.Dir, err)
		}
		body, err := io.ReadAll(t)
		if err != nil {
			c.t.Fatalf("read %q in archive of %s: %v", h.Name, sel.Dir, err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(h.Name, "./"), "/")
		if h.Typeflag == tar.TypeXGlobalHeader {
			name = globalRecords
		}
		if name != "" && name != "." {
			got[name] = entry{*h, string(body)}
		}
	}
}

// globalRecords is the key of the global header in what copyOut returns.
const globalRecords = "\x00records"

func roundTrip(c *check) {
	s := c.sandbox()
	c.copyIn(s, backend.DefaultWorkDir,
		file("a.txt", "text", 0o644), file("run", "#!/bin/sh\n", 0o755), file("empty", "", 0o600),
		special(tar.TypeDir, "dir/", ""), file("dir/b", "\x00\xff", 0o644), special(tar.TypeSymlink, "link", "dir/b"))
	got := c.copyOut(s, backend.Selection{Dir: backend.DefaultWorkDir})
	for name, want := range map[string]entry{
		"a.txt": file("", "text", 0o644), "run": file("", "#!/bin/sh\n", 0o755), "empty": file("", "", 0o600),
		"dir": special(tar.TypeDir, "", ""), "dir/b": file("", "\x00\xff", 0o644), "link": special(tar.TypeSymlink, "", "dir/b"),
	} {
		e, ok := got[name]
		if !ok {
			c.t.Errorf("%s is missing", name)
			continue
		}
		if e.body != want.body || e.header.Typeflag != want.header.Typeflag || e.header.Linkname != want.header.Linkname {
			c.t.Errorf("%s: got type %q, link %q, %q", name, e.header.Typeflag, e.header.Linkname, e.body)
		}
		if want.header.Typeflag == tar.TypeReg && e.header.Mode&0o777 != want.header.Mode {
			c.t.Errorf("%s: got mode %o, want %o", name, e.header.Mode, want.header.Mode)
		}
	}
	if len(got) != 6 {
		c.t.Errorf("got %d entries, want 6: %v", len(got), got)
	}
}

func makesDirectory(c *check) {
	s := c.sandbox()
	c.copyIn(s, backend.DefaultWorkDir+"/new/and/deep", file("f", "x", 0o644))
	c.expect(c.sh(s, "cat new/and/deep/f; echo y > new/and/deep/g"), 0, "x")
	if got := c.copyOut(s, backend.Selection{Dir: "/tmp/none"}); len(got) != 0 {
		c.t.Errorf("a missing directory gives %v", got)
	}
}

func replaces(c *check) {
	s := c.sandbox()
	c.copyIn(s, "/tmp", file("f", "a long first text", 0o755))
	c.copyIn(s, "/tmp", file("f", "second", 0o644))
	c.expect(c.sh(s, "cat /tmp/f"), 0, "second")
}

func ownership(c *check) {
	s := c.sandbox()
	c.copyIn(s, backend.DefaultWorkDir, file("d/f", "x", 0o644), file("private", "y", 0o600))
	c.expect(c.sh(s, "cat private; echo z >> d/f; mv d/f d/g; rm private; chmod 700 d; cat d/g"), 0, "yxz\n")
}

func unusualNames(c *check) {
	s := c.sandbox()
	names := []string{"two words", "héllo 世界 🎉", "line\nbreak", "-n", "quote'\"`$x", "..dots", "...", strings.Repeat("n", 255), "a/.hidden/b"}
	var entries []entry
	for _, name := range names {
		entries = append(entries, file(name, "of "+name, 0o644))
	}
	c.copyIn(s, "/tmp", entries...)
	got := c.copyOut(s, backend.Selection{Dir: "/tmp"})
	for _, name := range names {
		if got[name].body != "of "+name {
			c.t.Errorf("%q: got %q", name, got[name].body)
		}
	}
}

func largeFile(c *check) {
	s := c.sandbox()
	body := strings.Repeat("0123456789abcdef", 50<<16)
	c.copyIn(s, "/tmp", file("large", body, 0o644))
	if got := c.copyOut(s, backend.Selection{Dir: "/tmp"}); got["large"].body != body {
		c.t.Errorf("got %d bytes back of %d", len(got["large"].body), len(body))
	}
}

// refuses fails the case if the archive is taken, or if any of it is found as name.
func (c *check) refuses(name string, entries ...entry) {
	c.t.Helper()
	s := c.sandbox()
	err := s.CopyIn(c.ctx, "/tmp/into", archive(c.t, entries...))
	c.refused(fmt.Sprintf("copy in of %q", entries[len(entries)-1].header.Name), err, backend.ErrInvalid, backend.ErrRefused)
	if _, found := c.copyOut(s, backend.Selection{Dir: "/tmp"})[name]; found {
		c.t.Errorf("%s was made", name)
	}
	c.expect(c.sh(s, "echo next"), 0, "next\n")
}

func refusesNames(c *check) {
	c.refuses("escaped", file("../escaped", "x", 0o644))
	c.refuses("escaped", file("a/../../escaped", "x", 0o644))
	c.refuses("escaped", file("/tmp/escaped", "x", 0o644))
	c.refuses("escaped", special(tar.TypeDir, "../escaped", ""))
}

func refusesLinks(c *check) {
	c.refuses("into/link", special(tar.TypeSymlink, "link", "/etc/passwd"))
	c.refuses("into/link", special(tar.TypeSymlink, "link", "../../etc/passwd"))
	c.refuses("into/a/link", special(tar.TypeSymlink, "a/link", "../../../etc"))
	c.refuses("into/hard", special(tar.TypeLink, "hard", "/etc/passwd"))
	c.refuses("escaped", special(tar.TypeSymlink, "link", ".."), file("link/escaped", "x", 0o644))
}

// doesNotFollow has a program prepare links where the next archive will be unpacked.
func doesNotFollow(c *check) {
	s := c.sandbox()
	c.succeed(c.sh(s, "mkdir /tmp/into /tmp/outside; echo old > /tmp/outside/f; ln -s /tmp/outside /tmp/into/d; ln -s /tmp/outside/f /tmp/into/f"))
	_ = s.CopyIn(c.ctx, "/tmp/into", archive(c.t, file("d/g", "new", 0o644))) // refused, or d becomes a directory
	_ = s.CopyIn(c.ctx, "/tmp/into", archive(c.t, file("f", "new", 0o644)))
	c.expect(c.sh(s, "cd /tmp/outside; ls; cat f"), 0, "f\nold\n")
}

func refusesTypes(c *check) {
	c.refuses("into/device", special(tar.TypeChar, "device", ""))
	c.refuses("into/device", special(tar.TypeBlock, "device", ""))
	c.refuses("into/pipe", special(tar.TypeFifo, "pipe", ""))
	c.refuses("into/hard", file("f", "x", 0o644), special(tar.TypeLink, "hard", "f"))
}

func dropsBits(c *check) {
	s := c.sandbox()
	c.copyIn(s, "/tmp", file("f", "x", 0o6755))
	c.expect(c.sh(s, "test -u /tmp/f || test -g /tmp/f || test -k /tmp/f || echo plain"), 0, "plain\n")
}

func brokenArchive(c *check) {
	s := c.sandbox()
	c.refused("copy in of noise", s.CopyIn(c.ctx, "/tmp", strings.NewReader(strings.Repeat("noise", 1000))), backend.ErrInvalid)
	whole, err := io.ReadAll(archive(c.t, file("f", strings.Repeat("x", 10_000), 0o644)))
	if err != nil {
		c.t.Fatal(err)
	}
	c.refused("copy in of half an archive", s.CopyIn(c.ctx, "/tmp", bytes.NewReader(whole[:3000])), backend.ErrInvalid)
	c.expect(c.sh(s, "echo next"), 0, "next\n")
}

func emptyArchive(c *check) {
	s := c.sandbox()
	c.copyIn(s, "/tmp/made")
	if err := s.CopyIn(c.ctx, "/tmp/made", strings.NewReader("")); err != nil {
		c.t.Errorf("copy in of nothing: %v", err)
	}
}
