package supervisor

import (
	"errors"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Run serves the connection fd, a socket, and returns the process's exit status. All programs are
// started from the thread that called it, so that they have that thread's privileges and no others.
func Run(fd int, o Options) int {
	harden()
	conn, err := inherited(fd)
	if err != nil {
		return 1
	}
	return run(conn, o)
}

// RunStdio does what Run does with standard input and output, which then lead nowhere.
func RunStdio(o Options) int {
	harden()
	conn, err := takeStdio()
	if err != nil {
		return 1
	}
	return run(conn, o)
}

func run(conn io.ReadWriteCloser, o Options) int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Programs inherit the signals that are blocked in the thread that starts them.
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, new(unix.Sigset_t), nil); err != nil {
		return 1
	}
	spawn := make(chan func())
	served := make(chan error, 1)
	go func() {
		served <- serve(conn, o, func(start func()) {
			started := make(chan struct{})
			spawn <- func() { start(); close(started) }
			<-started
		})
	}()
	for {
		select {
		case start := <-spawn:
			start()
		case err := <-served:
			if err != nil {
				return 1
			}
			return 0
		}
	}
}

// harden sets what programs inherit, and keeps them, which may have the same user, away from this
// process: its memory and descriptors are closed to them, and the signals they send it are ignored.
func harden() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	// Fails only on kernels before 5.11; what closes the descriptors of a sandbox there is its driver.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	unix.Umask(0o022)
	for s := unix.Signal(1); s <= lastSignal; s++ {
		switch s {
		case unix.SIGKILL, unix.SIGSTOP: // cannot be ignored
		case unix.SIGCHLD, unix.SIGURG: // needed by the reaper and by the runtime
		case 32, 33: // the C library's own, nptl(7); it takes them from itself only
		default:
			ignore(s)
		}
	}
}

// lastSignal is the number of the last real-time signal.
const lastSignal = 64

// ignore does what signal.Ignore does, without telling package os/signal: that would take 20 µs for
// each signal, and programs would inherit it. The runtime, which believes to handle the signal, gives
// programs its default.
//
// Some signals the runtime has left alone: because it does not care for them, or because whoever started
// the server had them ignored, which programs must not inherit either. The first process of a pid
// namespace is safe from a signal at its default, pid_namespaces(7). Elsewhere the runtime takes it first.
func ignore(s unix.Signal) {
	const standard, ignored = 0, 1 // SIG_DFL, SIG_IGN
	var old struct{ handler, flags, restorer, mask uint64 }
	if !sigaction(s, nil, unsafe.Pointer(&old)) {
		return
	}
	switch {
	case old.handler > ignored:
		old.handler = ignored
	case os.Getpid() == 1:
		old.handler = standard
	default:
		signal.Notify(make(chan os.Signal, 1), s)
		if !sigaction(s, nil, unsafe.Pointer(&old)) || old.handler <= ignored {
			return // one of those that the runtime never takes
		}
		old.handler = ignored
	}
	sigaction(s, unsafe.Pointer(&old), nil)
}

func sigaction(s unix.Signal, action, old unsafe.Pointer) bool {
	const maskSize = 8
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(action), uintptr(old), maskSize, 0, 0)
	return errno == 0
}

// inherited returns fd as a file on which reads wait without a thread, and end when it is closed.
func inherited(fd int) (*os.File, error) {
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "server"), nil
}

// takeStdio moves standard input and output out of the way and puts /dev/null in their place.
func takeStdio() (*stdio, error) {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(null) //nolint:errcheck // it was duplicated
	var files [2]*os.File
	for fd := range files {
		moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return nil, err
		}
		if files[fd], err = inherited(moved); err != nil {
			return nil, err
		}
		if err := unix.Dup3(null, fd, 0); err != nil {
			return nil, err
		}
	}
	return &stdio{Reader: files[0], Writer: files[1], files: files}, nil
}

// stdio is a connection of two files.
type stdio struct {
	io.Reader
	io.Writer
	files [2]*os.File
}

// Close implements io.Closer.
func (s *stdio) Close() error { return errors.Join(s.files[0].Close(), s.files[1].Close()) }
