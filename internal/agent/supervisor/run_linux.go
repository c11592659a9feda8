package supervisor

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Run serves the connection fd and returns the process's exit status. All programs are started from
// the thread that called it, so that they have that thread's privileges and no others.
func Run(fd int, o Options) int {
	runtime.LockOSThread()
	harden()
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return 1
	}
	spawn := make(chan func())
	served := make(chan error, 1)
	go func() {
		served <- serve(os.NewFile(uintptr(fd), "server"), o, func(start func()) {
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

// harden keeps programs, which have the same user, away from this process: its memory and descriptors
// are closed to them, and the signals they send it are ignored.
func harden() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	for signal := unix.Signal(1); signal <= lastSignal; signal++ {
		switch signal {
		case unix.SIGKILL, unix.SIGSTOP: // cannot be ignored
		case unix.SIGCHLD, unix.SIGURG: // needed by the reaper and by the runtime
		case 32, 33: // the C library's own, nptl(7); it takes them from itself only
		default:
			ignore(signal)
		}
	}
}

// lastSignal is the number of the last real-time signal.
const lastSignal = 64

// ignore does what signal.Ignore does, without telling package os/signal: that would take 20 µs for
// each signal, and programs would inherit it. The runtime, which believes to handle the signal, gives
// programs its default. What the runtime does not handle is left: the kernel keeps it from the first
// process of a pid namespace, pid_namespaces(7).
func ignore(signal unix.Signal) {
	const standard, ignored = 0, 1 // SIG_DFL, SIG_IGN
	var old struct{ handler, flags, restorer, mask uint64 }
	if !sigaction(signal, nil, unsafe.Pointer(&old)) {
		return
	}
	switch {
	case old.handler == ignored && os.Getpid() == 1:
		old.handler = standard // whoever started the server had it ignored; programs must not inherit that
	case old.handler == ignored, old.handler == standard:
		return
	default:
		old.handler = ignored
	}
	sigaction(signal, unsafe.Pointer(&old), nil)
}

func sigaction(signal unix.Signal, action, old unsafe.Pointer) bool {
	const maskSize = 8
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal), uintptr(action), uintptr(old), maskSize, 0, 0)
	return errno == 0
}
