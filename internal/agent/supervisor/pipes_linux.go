package supervisor

import (
	"errors"
	"os"
	"time"
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

// expire ends reading from pipes that somebody else still holds open, after what is in them already.
func (p *pipes) expire() {
	for _, f := range p.ours {
		_ = f.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	}
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.stdin, p.ours[0], p.ours[1]} {
		if f != nil {
			_ = f.Close()
		}
	}
}
