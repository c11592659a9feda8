// Package agent is the protocol between the server and the supervisor inside a sandbox: a greeting, a
// multiplexed connection, one stream for each operation, and typed frames inside it.
package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/yamux"
)

// Version is the version of the protocol. Both ends must have the same.
const Version = 1

// magic is what both ends send first, followed by the version in two bytes, big endian. It is text so
// that it can be told from the message of a program that was started by mistake.
const magic = "sandbox-agent\n"

// GreetingSize is the number of bytes in a greeting.
const GreetingSize = len(magic) + 2

// ErrGarbage: the other end did not send a greeting.
var ErrGarbage = errors.New("not a greeting")

// Greeting is what each end sends before anything else.
func Greeting() []byte {
	return binary.BigEndian.AppendUint16([]byte(magic), Version)
}

// CheckGreeting reports whether the other end speaks this protocol in this version. Its error wraps
// [ErrGarbage] if it does not speak it at all.
func CheckGreeting(b []byte) error {
	if len(b) != GreetingSize || string(b[:len(magic)]) != magic {
		return fmt.Errorf("%w: %q", ErrGarbage, b)
	}
	if v := binary.BigEndian.Uint16(b[len(magic):]); v != Version {
		return fmt.Errorf("the other end speaks version %d of the protocol, this one %d", v, Version)
	}
	return nil
}

// Server multiplexes conn for the supervisor, after the greetings.
func Server(conn io.ReadWriteCloser) (*yamux.Session, error) {
	return yamux.Server(&guard{ReadWriteCloser: conn}, config())
}

// Client multiplexes conn for the side that starts programs, after the greetings.
func Client(conn io.ReadWriteCloser) (*yamux.Session, error) {
	return yamux.Client(&guard{ReadWriteCloser: conn}, config())
}

// config turns off all that wakes an idle process or writes to standard error. The end of a
// connection is the end of its stream; there are no keep-alive messages.
func config() *yamux.Config {
	return &yamux.Config{
		AcceptBacklog: 64,
		// Required to be positive even when it is not used.
		KeepAliveInterval: time.Hour,
		// A server that was suspended for a while must find its sandbox alive.
		ConnectionWriteTimeout: time.Hour,
		// 256 KiB, the least that yamux takes.
		MaxStreamWindowSize: 256 << 10,
		// A stream that only one end has closed is given up.
		StreamCloseTimeout: time.Minute,
		LogOutput:          io.Discard,
	}
}
