// Package stage is what the server's own binary is when the native backend starts it again inside new
// namespaces: it builds the sandbox around itself, gives up every privilege and becomes the agent.
//
// Its init function runs before those of the server's other packages, which is why it may import only
// what is cheap to initialise: a call pays for this start.
package stage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/supervisor"
)

const (
	// Name is the argv[0] that makes the binary a stage.
	Name = "sandbox-agent"
	// JanitorName is the argv[0] of the process that removes control groups when the server is gone.
	JanitorName = "sandbox-janitor"
	// served is the second argument of a stage that has built everything and only serves.
	served = "serve"
	// ControlFD is the stage's end of the socket to the server.
	ControlFD = 3
	// maxSetup bounds the setup message.
	maxSetup = 16 << 20
)

func init() { //nolint:gochecknoinits // must run before the other packages of the server: see the package comment
	switch {
	case len(os.Args) == 4 && os.Args[0] == Name && os.Args[1] == served:
		data, _ := strconv.ParseUint(os.Args[3], 10, 64) // written by execSelf
		os.Exit(serve(os.Args[2], data))
	case len(os.Args) == 2 && os.Args[0] == JanitorName:
		closeFrom(3)
		os.Exit(sweep(os.Args[1]))
	case len(os.Args) == 1 && os.Args[0] == Name:
		os.Exit(run())
	}
}

// run builds the sandbox, tells the server how that went, and serves. It is called on the main thread,
// to which init functions are bound; all privileges are changed on that thread and all programs are
// started from it.
func run() int {
	runtime.LockOSThread()
	closeFrom(ControlFD + 1)
	setup, err := receive()
	if err != nil {
		return 1
	}
	if err := build(setup); err != nil {
		report(err)
		return 1
	}
	if err := confine(setup); err != nil {
		report(err)
		return 1
	}
	return serve(setup.WorkDir, uint64(setup.Data)) //nolint:gosec // not negative
}

// closeFrom closes what the server was given by whoever started it, and passed on without knowing.
func closeFrom(fd uint) {
	_ = unix.CloseRange(fd, math.MaxUint32, 0) // fails only on kernels that are too old for the rest as well
}

// serve tells the server that all is built, and is the agent.
func serve(workDir string, data uint64) int {
	report(nil)
	return supervisor.Run(ControlFD, supervisor.Options{WorkDir: workDir, Disk: []string{"/tmp"}, Data: data})
}

// receive reads the setup: its length in four bytes, then itself. The server sends it when the process
// is in its control group.
func receive() (*Setup, error) {
	var size [4]byte
	if err := readFull(size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxSetup {
		return nil, errSetup
	}
	b := make([]byte, n)
	if err := readFull(b); err != nil {
		return nil, err
	}
	setup := new(Setup)
	if err := setup.Unmarshal(b); err != nil {
		return nil, err
	}
	var err error
	setup.self, err = unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	return setup, err
}

func readFull(b []byte) error {
	for len(b) > 0 {
		n, err := unix.Read(ControlFD, b)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case n == 0:
			return io.ErrUnexpectedEOF
		}
		b = b[n:]
	}
	return nil
}

// report answers the server: the length of the error's text in four bytes, then the text.
func report(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(len(text))) //nolint:gosec // an error text is short
	b = append(b, text...)
	for len(b) > 0 {
		n, err := unix.Write(ControlFD, b)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return // the server is gone; serving will end at once
		}
		b = b[max(n, 0):]
	}
}

// stepError names what failed and on what.
func stepError(step, object string, err error) error {
	if err == nil {
		return nil
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok && object != "" {
		return fmt.Errorf("%s %s: %w", step, object, errno)
	}
	return fmt.Errorf("%s %s: %w", step, object, err)
}
