package supervisor

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pipes are the three streams of a program. They are plain pipes, never a terminal.
type pipes struct {
	// theirs are the program's ends: standard input, output and error.
	theirs [3]*os.File
	// stdin is our end of standard input, nil if it is empty.
	stdin *os.File
	// ours are our ends of standard output and error.
	ours [2]*os.File
}

func newPipes(stdin bool) (*pipes, error) {
	p := new(pipes)
	var errs [3]error
	if stdin {
		p.theirs[0], p.stdin, errs[0] = os.Pipe()
	} else {
		p.theirs[0], errs[0] = os.Open(os.DevNull)
	}
	p.ours[0], p.theirs[1], errs[1] = os.Pipe()
	p.ours[1], p.theirs[2], errs[2] = os.Pipe()
	if err := errors.Join(errs[:]...); err != nil {
		p.closeTheirs()
		p.close()
		return nil, err
	}
	return p, nil
}

// closeTheirs closes the program's ends in this process.
func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		if f != nil {
			_ = f.Close()
		}
	}
}

// read calls take with what the program writes to standard output (0) or error (1), until its end, or
// after expire until that which was written by then.
func (p *pipes) read(stream int, take func([]byte)) {
	f := p.ours[stream]
	buf := make([]byte, 32<<10)
	for {
		n, err := f.Read(buf)
		take(buf[:n])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			readRest(f, buf, take)
			return
		case err != nil:
			return
		}
	}
}

// readRest reads what is in the pipe.
func readRest(f *os.File, buf []byte, take func([]byte)) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	rest := 0
	if err := raw.Control(func(fd uintptr) {
		rest, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) // FIONREAD by its other name
	}); err != nil {
		return
	}
	_ = f.SetReadDeadline(time.Time{})
	for rest > 0 {
		n, err := f.Read(buf[:min(rest, len(buf))])
		take(buf[:n])
		rest -= n
		if err != nil {
			return
		}
	}
}

// expire ends reading, after what is in the pipes. The tree that wrote there is gone, but somebody else
// may hold the other ends: a program beside it may have been given them.
func (p *pipes) expire() {
	for _, f := range p.ours {
		_ = f.SetReadDeadline(time.Unix(1, 0))
	}
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.stdin, p.ours[0], p.ours[1]} {
		if f != nil {
			_ = f.Close()
		}
	}
}
