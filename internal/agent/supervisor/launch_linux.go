package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// launch starts the program, in a session of its own and with nothing but its three streams open. An
// error means that it did not start.
func (s *supervisor) launch(m *agent.Start) (*program, *pipes, error) {
	dir := m.Dir
	if dir == "" {
		dir = s.options.WorkDir
	}
	if err := checkStart(m, dir); err != nil {
		return nil, nil, err
	}
	env := lastWins(m.Env)
	path, err := lookPath(m.Args[0], env)
	if err != nil {
		return nil, nil, err
	}
	pipes, err := newPipes(m.Stdin)
	if err != nil {
		return nil, nil, startError(m.Args[0], err)
	}
	defer pipes.closeTheirs()
	attr := &syscall.ProcAttr{
		Dir: dir, Env: env, Sys: &syscall.SysProcAttr{Setsid: true},
		Files: []uintptr{pipes.theirs[0].Fd(), pipes.theirs[1].Fd(), pipes.theirs[2].Fd()},
	}
	var prog *program
	s.spawn(func() {
		prog, err = s.processes.fork(func() (int, error) {
			pid, err := syscall.ForkExec(path, m.Args, attr)
			if err == nil {
				s.bound(pid)
			}
			return pid, err
		})
	})
	if err != nil {
		pipes.close()
		return nil, nil, startError(m.Args[0], err)
	}
	return prog, pipes, nil
}

// bound sets the limit that this process could not live with itself: the Go runtime takes 64 MiB of
// address space at once.
func (s *supervisor) bound(pid int) {
	if s.options.Data > 0 {
		_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: s.options.Data, Max: s.options.Data}, nil) // it may have ended
	}
}

// maxTail bounds the end of a stream, which is kept in the memory of the sandbox.
const maxTail = 64 << 20

// checkStart refuses what fork would answer with a number that does not say what is wrong.
func checkStart(m *agent.Start, dir string) error {
	invalid := func(format string, args ...any) error {
		return backend.Wrap(backend.ErrInvalid, fmt.Errorf("start "+format, args...))
	}
	if len(m.Args) == 0 || m.Args[0] == "" {
		return invalid("program: none is named")
	}
	name := m.Args[0]
	hasNUL := func(s string) bool { return strings.ContainsRune(s, 0) }
	if slices.ContainsFunc(m.Args, hasNUL) || slices.ContainsFunc(m.Env, hasNUL) || hasNUL(dir) {
		return invalid("%q: an argument, a variable or the directory holds a NUL character", name)
	}
	if o := m.Output; o.Head < 0 || o.Tail < 0 || o.Tail > maxTail {
		return invalid("%s: keep %d and %d bytes of output: the end may have %d", name, o.Head, o.Tail, maxTail)
	}
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = unix.ENOTDIR
	}
	if err == nil {
		err = unix.Access(dir, unix.X_OK)
	}
	if err != nil {
		return invalid("%s: working directory %s: %w", name, dir, bare(err))
	}
	return nil
}

// bare is err without the operation and the path, which the text around it names.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// lastWins drops variables that are set again later, as exec.Cmd does: which of them a program would
// see is up to the program.
func lastWins(env []string) []string {
	out := make([]string, 0, len(env))
	seen := make(map[string]struct{}, len(env))
	for _, v := range slices.Backward(env) {
		name, _, _ := strings.Cut(v, "=")
		if _, later := seen[name]; !later {
			seen[name] = struct{}{}
			out = append(out, v)
		}
	}
	slices.Reverse(out)
	return out
}

// lookPath finds a program in the PATH that it is to have itself. A name with a slash is a path
// already, from the program's directory.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var list string
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			list = value
		}
	}
	var refused error
	for _, place := range filepath.SplitList(list) {
		if !filepath.IsAbs(place) {
			continue // from which directory, nobody can tell
		}
		candidate := filepath.Join(place, name)
		info, err := os.Stat(candidate)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := unix.Access(candidate, unix.X_OK); err != nil {
			refused = fmt.Errorf("start %s: %s: %w", name, candidate, err)
			continue
		}
		return candidate, nil
	}
	if refused != nil {
		return "", backend.Wrap(backend.ErrInvalid, refused)
	}
	return "", backend.Wrap(backend.ErrNotFound, fmt.Errorf("start %s: no such program in PATH %q", name, list))
}

// startError gives the number that fork or exec answered with its kind, and says what it means.
func startError(name string, err error) error {
	kind, advice := backend.ErrInvalid, ""
	switch {
	case errors.Is(err, unix.ENOENT):
		kind = backend.ErrNotFound
		if strings.Contains(name, "/") {
			break
		}
		advice = ": it was found, but the interpreter that it names was not"
	case errors.Is(err, unix.ENOEXEC):
		advice = ": neither a program for this machine nor a script that begins with #!"
	case errors.Is(err, unix.E2BIG):
		advice = ": pass long values on standard input or in a file"
	case errors.Is(err, unix.EAGAIN):
		kind, advice = backend.ErrUnavailable, ": the sandbox has no room for another process"
	case errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ESHUTDOWN):
		kind = backend.ErrUnavailable
	}
	return backend.Wrap(kind, fmt.Errorf("start %s: %w%s", name, err, advice))
}
