package engine

import (
	"bytes"
	"strings"
	"sync"
	"time"
)

const (
	// lineInterval is how often, at most, a line of output is reported.
	lineInterval = 500 * time.Millisecond
	// maxLine is how much of a line is reported, in bytes.
	maxLine = 200
)

// A reporter passes events on to the client: steps at once, lines of output now and then. Its methods
// may be called concurrently, and do nothing if nobody listens.
type reporter struct {
	mu     sync.Mutex
	report func(Event)
	line   string      // the last line that was not reported yet
	timer  *time.Timer // runs while a line waits
}

func newReporter(report func(Event)) *reporter { return &reporter{report: report} }

// say reports a step. A line that still waits is not worth reporting any more.
func (r *reporter) say(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
	if r.report != nil {
		r.report(Event{Message: message})
	}
}

// stop ends the reports: none comes after it has returned.
func (r *reporter) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report = nil
	r.drop()
}

func (r *reporter) drop() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

// later reports a line when the time has come, unless another follows before.
func (r *reporter) later(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.report == nil {
		return
	}
	r.line = line
	if r.timer == nil {
		r.timer = time.AfterFunc(lineInterval, r.flush)
	}
}

func (r *reporter) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer == nil {
		return // dropped at this very moment
	}
	r.timer = nil
	r.report(Event{Message: r.line})
}

// lines returns what watches one stream, or nil if nobody listens.
func (r *reporter) lines() *lines {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.report == nil {
		return nil
	}
	return &lines{to: r}
}

// lines finds the last line of a stream.
type lines struct {
	to   *reporter
	rest []byte // the beginning of a line that has not ended
}

// see looks at the next bytes of the stream.
func (l *lines) see(p []byte) {
	if l == nil {
		return
	}
	end := bytes.LastIndexByte(p, '\n')
	if end < 0 {
		l.keep(p)
		return
	}
	whole := bytes.TrimSpace(p[:end]) // blank lines say nothing
	if start := bytes.LastIndexByte(whole, '\n'); start >= 0 {
		whole, l.rest = whole[start+1:], nil
	}
	l.keep(whole)
	if line := strings.TrimSpace(strings.ToValidUTF8(string(l.rest), "\uFFFD")); line != "" {
		l.to.later(line)
	}
	l.rest = nil
	l.keep(p[end+1:])
}

func (l *lines) keep(p []byte) {
	l.rest = append(l.rest, p[:min(len(p), maxLine-len(l.rest))]...)
}
