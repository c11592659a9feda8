package backendtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// streamCases are about standard input and output.
func streamCases() []conformanceCase {
	return []conformanceCase{
		{name: "stdout and stderr are separate", run: separateStreams},
		{name: "output is binary", run: binaryOutput},
		{name: "10 MiB of output arrive", run: largeOutput},
		{name: "output limit keeps head and tail", run: headAndTail},
		{name: "output cut does not split a character", run: cutInsideRune},
		{name: "output limit applies to each stream", run: cutOfEach},
		{name: "output within the limit is whole", run: withinLimit},
		{name: "output kill", run: outputKill},
		{name: "output discarded", run: discardedOutput},
		{name: "stdin is empty by default", run: emptyStdin},
		{name: "stdin of 5 MiB", run: largeStdin},
		{name: "stdin streams", run: streamedStdin},
		{name: "stdin not read", run: unreadStdin},
		{name: "stdin that never ends", run: endlessStdin},
	}
}

func separateStreams(c *check) {
	r := c.sh(c.sandbox(), "echo out; echo err >&2; echo out again")
	c.expect(r, 0, "out\nout again\n")
	if r.err != "err\n" {
		c.t.Errorf("stderr is %q, want %q", r.err, "err\n")
	}
}

func binaryOutput(c *check) {
	c.expect(c.sh(c.sandbox(), `printf 'a\000b\377\376\n'`), 0, "a\x00b\xff\xfe\n")
}

func largeOutput(c *check) {
	r := c.run(c.sandbox(), backend.Command{Args: []string{"seq", "1000001", "2310720"}, Env: baseEnv()})
	if want := 10 << 20; len(r.out) != want || !strings.HasSuffix(r.out, "\n2310720\n") {
		c.t.Fatalf("got %d bytes ending in %q, want %d", len(r.out), r.out[max(0, len(r.out)-20):], want)
	}
	for i, line := range lines(r.out) {
		if line != fmt.Sprint(1000001+i) {
			c.t.Fatalf("line %d is %q", i, line)
		}
	}
}

func headAndTail(c *check) {
	cmd := backend.Command{Args: []string{"seq", "1000001", "1300000"}, Env: baseEnv()}
	cmd.Output = backend.OutputLimit{Head: 80, Tail: 160}
	r := c.succeed(c.run(c.sandbox(), cmd))
	var want strings.Builder
	for n := 1000001; n <= 1000010; n++ {
		fmt.Fprintln(&want, n)
	}
	for n := 1299981; n <= 1300000; n++ {
		fmt.Fprintln(&want, n)
	}
	if r.out != want.String() {
		c.t.Errorf("kept %s", shorten(r.out))
	}
	if cut := (backend.Cut{Offset: 80, Omitted: 8*300_000 - 240}); r.Stdout != cut {
		c.t.Errorf("cut is %+v, want %+v", r.Stdout, cut)
	}
}

func cutInsideRune(c *check) {
	s := c.sandbox()
	text := strings.Repeat("é世🎉", 10_000) // 9 bytes each
	c.copyIn(s, backend.DefaultWorkDir, file("text", text, 0o644))
	for head := int64(18); head < 27; head++ {
		cmd := shell("cat text")
		cmd.Output = backend.OutputLimit{Head: head, Tail: head + 4}
		r := c.succeed(c.run(s, cmd))
		if !utf8.ValidString(r.out) {
			c.t.Errorf("head %d: output is not UTF-8: %q", head, r.out)
		}
		if int64(len(r.out))+r.Stdout.Omitted != int64(len(text)) {
			c.t.Errorf("head %d: kept %d and omitted %d of %d bytes", head, len(r.out), r.Stdout.Omitted, len(text))
		}
		if r.Stdout.Offset > head || r.Stdout.Offset < head-3 || int64(len(r.out)) < 2*head+4-6 {
			c.t.Errorf("head %d: cut at %d, kept %d bytes", head, r.Stdout.Offset, len(r.out))
		}
		if !strings.HasPrefix(text, r.out[:r.Stdout.Offset]) || !strings.HasSuffix(text, r.out[r.Stdout.Offset:]) {
			c.t.Errorf("head %d: kept something else than the two ends: %q", head, r.out)
		}
	}
}

func cutOfEach(c *check) {
	cmd := shell("echo 0123456789; echo abcdefghij >&2")
	cmd.Output = backend.OutputLimit{Head: 4, Tail: 3}
	r := c.run(c.sandbox(), cmd)
	c.expect(r, 0, "012389\n")
	if r.err != "abcdij\n" {
		c.t.Errorf("stderr is %q", r.err)
	}
	if want := (backend.Cut{Offset: 4, Omitted: 4}); r.Stdout != want || r.Stderr != want {
		c.t.Errorf("cuts are %+v and %+v, want %+v", r.Stdout, r.Stderr, want)
	}
}

func withinLimit(c *check) {
	cmd := shell("echo 0123456789")
	cmd.Output = backend.OutputLimit{Head: 6, Tail: 5, Kill: 11}
	r := c.run(c.sandbox(), cmd)
	c.expect(r, 0, "0123456789\n")
	if r.Stdout != (backend.Cut{}) {
		c.t.Errorf("cut is %+v, want none", r.Stdout)
	}
}

func outputKill(c *check) {
	cmd := backend.Command{Args: []string{"seq", "1000001", "99999999"}, Env: baseEnv()}
	cmd.Output = backend.OutputLimit{Head: 800, Tail: 800, Kill: 4 << 20}
	r := c.run(c.sandbox(), cmd)
	if r.Outcome != backend.OutputLimited || r.Code == 0 {
		c.t.Errorf("want output_limit and a code; got %v", r)
	}
	if !strings.HasPrefix(r.out, "1000001\n1000002\n") || len(r.out) > 1600 {
		c.t.Errorf("kept %s", shorten(r.out))
	}
}

func discardedOutput(c *check) {
	p, err := c.sandbox().Start(c.ctx, backend.Command{Args: []string{"seq", "1", "100000"}, Env: baseEnv()})
	if err != nil {
		c.t.Fatalf("start: %v", err)
	}
	exit, err := p.Wait()
	if err != nil || exit.Code != 0 {
		c.t.Errorf("got %+v, %v", exit, err)
	}
}

func emptyStdin(c *check) {
	c.expect(c.run(c.sandbox(), backend.Command{Args: []string{"cat"}, Env: baseEnv()}), 0, "")
}

func largeStdin(c *check) {
	text := strings.Repeat("0123456789abcde\n", 5<<16)
	c.expect(c.run(c.sandbox(), backend.Command{Args: []string{"cat"}, Env: baseEnv(), Stdin: strings.NewReader(text)}), 0, text)
}

// streamedStdin answers only after the program has echoed what came before.
func streamedStdin(c *check) {
	toProgram, feed := io.Pipe()
	heard, fromProgram := io.Pipe()
	r := c.start(c.ctx, c.sandbox(), backend.Command{Args: []string{"cat"}, Env: baseEnv(), Stdin: toProgram, Stdout: fromProgram})
	defer context.AfterFunc(c.ctx, func() { _ = heard.CloseWithError(c.ctx.Err()) })()
	answer := make([]byte, 4)
	for _, line := range []string{"one\n", "two\n"} {
		if _, err := feed.Write([]byte(line)); err != nil {
			c.t.Fatalf("write %q: %v", line, err)
		}
		if _, err := io.ReadFull(heard, answer); err != nil || string(answer) != line {
			c.t.Fatalf("wrote %q, read %q, %v", line, answer, err)
		}
	}
	_ = feed.Close()
	c.succeed(c.wait(r))
}

func unreadStdin(c *check) {
	r := c.run(c.sandbox(), backend.Command{
		Args: []string{"echo", "done"}, Env: baseEnv(), Stdin: bytes.NewReader(make([]byte, 8<<20)),
	})
	c.expect(r, 0, "done\n")
}

func endlessStdin(c *check) {
	never, feed := io.Pipe()
	defer func() { _ = feed.Close() }()
	c.expect(c.run(c.sandbox(), backend.Command{Args: []string{"echo", "done"}, Env: baseEnv(), Stdin: never}), 0, "done\n")
}
