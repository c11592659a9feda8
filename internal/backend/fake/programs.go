package fake

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// A Program plays a program. An empty Outcome in what it returns means that it exited. It should
// return soon after ctx has ended: its timeout passed, its output was too much, it was cancelled, or
// the sandbox was closed. The backend then fills in the outcome.
type Program func(ctx context.Context, call *Call) backend.Exit

// A Call is what a program gets to see.
type Call struct {
	Args, Env []string
	// Dir is the working directory.
	Dir string
	// Files are those of the sandbox.
	Files *Files
	// Stdin ends when the program does. Stdout and Stderr count towards the output limit.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	sandbox *Sandbox
}

// Path makes a file name absolute.
func (c *Call) Path(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(c.Dir, name)
}

// Print returns a program that writes text to its standard output and exits with code.
func Print(text string, code int) Program {
	return func(_ context.Context, c *Call) backend.Exit {
		_, _ = io.WriteString(c.Stdout, text)
		return backend.Exit{Code: code}
	}
}

// Wait returns once d has passed or ctx has ended. Under testing/synctest it takes no real time.
func Wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// builtins are as close to the commands of the same name as the conformance suite needs.
func builtins() map[string]Program {
	return map[string]Program{
		"true":   Print("", 0),
		"false":  Print("", 1),
		"echo":   echo,
		"printf": printf,
		"cat":    cat,
		"env":    env,
		"pwd":    pwd,
		"seq":    seq,
		"sleep":  sleep,
		"sh":     sh,
	}
}

func echo(_ context.Context, c *Call) backend.Exit {
	_, _ = io.WriteString(c.Stdout, strings.Join(c.Args[1:], " ")+"\n")
	return backend.Exit{}
}

// printf knows %s, \n and octal escapes.
func printf(_ context.Context, c *Call) backend.Exit {
	if len(c.Args) < 2 {
		return fail(c, "no format")
	}
	format, args := c.Args[1], c.Args[2:]
	var out []byte
	for i := 0; i < len(format); i++ {
		rest := format[i:]
		switch {
		case strings.HasPrefix(rest, `\n`):
			out = append(out, '\n')
			i++
		case strings.HasPrefix(rest, "%s") && len(args) > 0:
			out = append(out, args[0]...)
			args = args[1:]
			i++
		case rest[0] == '\\' && len(rest) >= 4:
			octal, err := strconv.ParseUint(rest[1:4], 8, 8)
			if err != nil {
				return fail(c, "bad escape in "+format)
			}
			out = append(out, byte(octal))
			i += 3
		default:
			out = append(out, rest[0])
		}
	}
	_, _ = c.Stdout.Write(out)
	return backend.Exit{}
}

func cat(_ context.Context, c *Call) backend.Exit {
	if len(c.Args) == 1 {
		_, _ = io.Copy(c.Stdout, c.Stdin)
		return backend.Exit{}
	}
	for _, name := range c.Args[1:] {
		data, err := c.Files.Read(c.Path(name))
		if err != nil {
			return fail(c, err.Error())
		}
		_, _ = c.Stdout.Write(data)
	}
	return backend.Exit{}
}

func env(_ context.Context, c *Call) backend.Exit {
	for _, pair := range c.Env {
		_, _ = fmt.Fprintln(c.Stdout, pair)
	}
	return backend.Exit{}
}

func pwd(_ context.Context, c *Call) backend.Exit {
	_, _ = fmt.Fprintln(c.Stdout, c.Dir)
	return backend.Exit{}
}

// seq prints FIRST to LAST, and stops early when ctx ends.
func seq(ctx context.Context, c *Call) backend.Exit {
	if len(c.Args) != 3 {
		return fail(c, "want FIRST LAST")
	}
	first, err := strconv.Atoi(c.Args[1])
	if err != nil {
		return fail(c, err.Error())
	}
	last, err := strconv.Atoi(c.Args[2])
	if err != nil {
		return fail(c, err.Error())
	}
	var block bytes.Buffer
	for n := first; n <= last && ctx.Err() == nil; n++ {
		_, _ = fmt.Fprintln(&block, n)
		if block.Len() > 32<<10 || n == last {
			_, _ = block.WriteTo(c.Stdout)
		}
	}
	return backend.Exit{}
}

func sleep(ctx context.Context, c *Call) backend.Exit {
	if len(c.Args) != 2 {
		return fail(c, "want SECONDS")
	}
	seconds, err := strconv.ParseFloat(c.Args[1], 64)
	if err != nil {
		return fail(c, err.Error())
	}
	Wait(ctx, time.Duration(seconds*float64(time.Second)))
	return backend.Exit{}
}

func sh(ctx context.Context, c *Call) backend.Exit {
	if len(c.Args) < 3 || c.Args[1] != "-c" {
		return fail(c, "want -c SCRIPT")
	}
	return shell(ctx, c, c.Args[2])
}

func fail(c *Call, why string) backend.Exit {
	_, _ = fmt.Fprintf(c.Stderr, "%s: %s\n", c.Args[0], why)
	return backend.Exit{Code: 1}
}
