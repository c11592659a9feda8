package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/client"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/supervisor"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// daemons start a process that sleeps for %s and outlives the shell that starts it.
var daemons = map[string]string{
	"background":                          "sleep %s &",
	"holds output":                        "sleep %s 2>/dev/null &",
	"own session":                         "setsid sleep %s &",
	"orphan":                              "(sleep %s &)",
	"orphan, own session":                 "(setsid sleep %s >/dev/null 2>&1 </dev/null &)",
	"orphan, own session, no environment": "(env -i /usr/bin/setsid /bin/sh -c 'sleep %s & exec true' >/dev/null 2>&1 &); sleep 0.1",
	"stopped":                             "sleep %s & kill -STOP $!",
}

func TestWhatOutlivesAProgramIsKilled(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		for name, script := range daemons {
			mark := tag()
			began := time.Now()
			got := s.sh("echo before; " + fmt.Sprintf(script, mark) + "\necho after; exit 4")
			if got.stdout != "before\nafter\n" || got.Code != 4 || got.Outcome != backend.Exited {
				t.Errorf("%s: got %q, %+v", name, got.stdout, got.Exit)
			}
			if d := time.Since(began); d > 2*time.Second {
				t.Errorf("%s: took %v", name, d)
			}
			if left := sleepers(mark); left != nil {
				t.Errorf("%s: processes %v are left", name, left)
			}
		}
	})
}

// Beside another program, a program's tree is found and the other is spared.
func TestWhatOutlivesAProgramIsKilledBesideOthers(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		other := tag()
		ctx, cancel := context.WithCancel(t.Context())
		wait := s.start(ctx, shell("setsid sleep "+other+" & (sleep "+other+" &); wait"))
		eventually(t, "the other program runs", func() bool { return len(sleepers(other)) == 2 })
		for name, script := range daemons {
			mark := tag()
			if got := s.sh(fmt.Sprintf(script, mark) + "\necho after"); got.stdout != "after\n" || got.Outcome != backend.Exited {
				t.Errorf("%s: got %q, %+v", name, got.stdout, got.Exit)
			}
			if left := sleepers(mark); left != nil {
				t.Errorf("%s: processes %v are left", name, left)
			}
		}
		if n := len(sleepers(other)); n != 2 {
			t.Errorf("%d of the other program's 2 processes are left", n)
		}
		cancel()
		if got := wait(); got.Outcome != backend.Cancelled {
			t.Errorf("the other program: got %+v", got.Exit)
		}
		if left := sleepers(other); left != nil {
			t.Errorf("the other program: processes %v are left", left)
		}
	})
}

func TestDeadline(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		mark := tag()
		script := "trap '' TERM INT HUP; echo before\n"
		for _, daemon := range daemons {
			script += fmt.Sprintf(daemon, mark) + "\n"
		}
		cmd := shell(script + "sleep " + mark)
		cmd.Timeout = time.Second
		began := time.Now()
		got := s.start(t.Context(), cmd)()
		if got.Outcome != backend.TimedOut || got.Code != backend.CodeTimedOut || got.stdout != "before\n" {
			t.Errorf("got %q, %+v", got.stdout, got.Exit)
		}
		if d := time.Since(began); d < cmd.Timeout || d > cmd.Timeout+time.Second {
			t.Errorf("took %v", d)
		}
		if left := sleepers(mark); left != nil {
			t.Errorf("processes %v are left", left)
		}
	})
}

// A tree that grows while it is killed, alone and beside another program.
func TestForkBomb(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		for _, beside := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			wait := func() run { return run{} }
			if beside {
				wait = s.start(ctx, shell("sleep 100"))
			}
			mark := tag()
			// 2^9 processes at the end, if it got so far.
			cmd := shell("f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep " + mark + "; }; f 8")
			cmd.Timeout = 150 * time.Millisecond
			began := time.Now()
			if got := s.start(t.Context(), cmd)(); got.Outcome != backend.TimedOut || time.Since(began) > 2*time.Second {
				t.Errorf("beside another: %t: got %+v after %v", beside, got.Exit, time.Since(began))
			}
			if left := sleepers(mark); left != nil {
				t.Errorf("beside another: %t: %d processes are left", beside, len(left))
			}
			cancel()
			wait()
		}
	})
}

// The end of one program, which kills all that is left, does not hit one that starts at that moment.
func TestProgramsStartWhileOthersEnd(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		mark := tag()
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for range 15 {
					want := fmt.Sprintln("hello from", i)
					if got := s.sh("sleep " + mark + " & echo hello from " + fmt.Sprint(i)); got.stdout != want || got.Code != 0 {
						t.Errorf("got %q, %+v", got.stdout, got.Exit)
					}
				}
			})
		}
		all.Wait()
		if left := sleepers(mark); left != nil {
			t.Errorf("processes %v are left", left)
		}
	})
}

func TestNothingOutlivesTheConnection(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		mark := tag()
		p, err := s.Start(t.Context(), shell("(setsid sleep "+mark+" &); sleep "+mark))
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the program runs", func() bool { return len(sleepers(mark)) == 2 })
		_ = s.Close()
		s.waitGone()
		if left := sleepers(mark); left != nil {
			t.Errorf("processes %v are left", left)
		}
		_, err = p.Wait()
		wantKind(t, err, backend.ErrUnavailable)
		_, err = s.Start(t.Context(), shell("true"))
		wantKind(t, err, backend.ErrUnavailable)
	})
}

func TestOrphansAreReaped(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		ctx, cancel := context.WithCancel(t.Context())
		wait := s.start(ctx, shell("for i in $(seq 40); do (true &); done; sleep 60"))
		eventually(t, "only the program is left", func() bool { return children(s.pid) == 1 })
		cancel()
		wait()
		if n := children(s.pid); n != 0 {
			t.Errorf("%d children are left", n)
		}
	})
}

// Signals from programs, which may have the same user, do not end or stop the supervisor. Only pid 1
// is safe from all of them.
func TestSignalsAreDropped(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		signals := "HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM CHLD CONT TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS 40 RTMAX"
		if s.mode == asInit {
			signals += " KILL STOP 32 33 34" // the last three are the C library's, and cannot be taken
		}
		for signal := range strings.FieldsSeq(signals) {
			if got := s.sh("kill -" + signal + " $PPID && echo sent"); got.stdout != "sent\n" || got.Code != 0 {
				t.Fatalf("%s: got %q, %q, %+v", signal, got.stdout, got.stderr, got.Exit)
			}
		}
		if got := s.sh("echo alive"); got.stdout != "alive\n" {
			t.Errorf("afterwards: got %q", got.stdout)
		}
	})
}

// After many programs, both sides have open what they had before.
func TestNothingAccumulates(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		s.sh("true")
		eventually(t, "the first call is over", func() bool { return children(s.pid) == 0 })
		ours, theirs := descriptors(os.Getpid()), descriptors(s.pid)
		for range 200 {
			s.sh("true")
		}
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() { s.sh("sleep 0.1; echo") })
		}
		all.Wait()
		eventually(t, "descriptors are back", func() bool {
			return descriptors(os.Getpid()) <= ours && descriptors(s.pid) <= theirs && children(s.pid) == 0
		})
	})
}

// A supervisor that has a machine not to itself leaves alone what it has not started, also if that looks
// like its own.
func TestOthersAreLeftAlone(t *testing.T) {
	s := boot(t, mode{name: asChild})
	stranger := boot(t, mode{name: asChild})
	theirs := tag()
	strangers := stranger.start(t.Context(), shell("(setsid sleep "+theirs+" &); sleep "+theirs))
	eventually(t, "the stranger's program runs", func() bool { return len(sleepers(theirs)) == 2 })

	ctx, cancel := context.WithCancel(t.Context())
	beside := s.start(ctx, shell("sleep 60"))
	ours := tag()
	cmd := shell("sleep " + ours)
	cmd.Timeout = time.Second
	wait := s.start(t.Context(), cmd)
	eventually(t, "the program runs", func() bool { return len(sleepers(ours)) == 1 })
	var mark unix.Rlimit
	if err := unix.Prlimit(sleepers(ours)[0], unix.RLIMIT_RTTIME, nil, &mark); err != nil || mark.Cur == mark.Max {
		t.Fatalf("no mark: %+v, %v", mark, err)
	}
	for _, pid := range append(sleepers(theirs), stranger.pid) {
		if err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, &mark, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := wait(); got.Outcome != backend.TimedOut || len(sleepers(ours)) != 0 {
		t.Errorf("got %+v", got.Exit)
	}
	cancel()
	beside()
	if n := len(sleepers(theirs)); n != 2 {
		t.Errorf("%d of the stranger's 2 processes are left", n)
	}
	_ = stranger.Close()
	stranger.waitGone()
	_ = strangers
}

// Threads are made ahead: when programs have used up a limit of processes, it is too late.
func TestThreadsAreMadeAhead(t *testing.T) {
	s := boot(t, mode{name: asChild})
	s.sh("true")
	eventually(t, "the threads are there", func() bool {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.pid))
		return len(tasks) >= supervisor.Threads-2
	})
}

// A connection can be standard input and output, of which programs see nothing.
func TestStdio(t *testing.T) {
	input, toAgent, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromAgent, output, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.StartProcess("/proc/self/exe", []string{asStdio, `{"WorkDir":"/"}`}, &os.ProcAttr{Files: []*os.File{input, output, os.Stderr}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = input.Close(), output.Close()
	c, err := client.New(t.Context(), pair{fromAgent, toAgent})
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{Client: c, t: t, mode: asStdio, dir: "/", pid: p.Pid, process: p}
	if got := s.sh("cat; echo hello"); got.stdout != "hello\n" {
		t.Errorf("got %q, %+v", got.stdout, got.Exit)
	}
	_ = c.Close()
	s.waitGone()
}

type pair struct {
	io.ReadCloser
	w io.WriteCloser
}

func (p pair) Write(b []byte) (int, error) { return p.w.Write(b) }
func (p pair) Close() error                { return errors.Join(p.ReadCloser.Close(), p.w.Close()) }
