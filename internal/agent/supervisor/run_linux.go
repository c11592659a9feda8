package supervisor

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"

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
// are closed to them, and the signals they send it are taken and dropped. They are not ignored, because
// programs would inherit that.
func harden() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	dropped := make(chan os.Signal, 1)
	for n := syscall.Signal(1); n < 65; n++ {
		switch n {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG: // cannot be, is needed, is the runtime's
		default:
			signal.Notify(dropped, n)
		}
	}
}
