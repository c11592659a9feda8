package agent_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

func messages() []agent.Message {
	return []agent.Message{
		&agent.Start{
			Args: []string{"python3", "a b", "ü\n"}, Env: []string{"PATH=/usr/bin", "EMPTY="}, Dir: "/sandbox",
			Stdin: true, Stderr: true, Timeout: 3 * time.Second,
			Output: backend.OutputLimit{Head: 1, Tail: 1 << 40, Kill: -1},
		},
		&agent.CopyIn{Dir: "/x"},
		&agent.CopyOut{Selection: backend.Selection{
			Dir: "/x", Extensions: []string{".png"}, Skip: []string{"node_modules"}, SkipHidden: true, MaxFile: 7, MaxFiles: 8,
		}},
		&agent.Exit{Exit: backend.Exit{
			Outcome: backend.Signaled, Code: 139, Signal: 11, Reached: []string{"disk"},
			Usage:  backend.Usage{Wall: 1, CPU: 2, PeakMemory: 3},
			Stdout: backend.Cut{Offset: 4, Omitted: 5}, Stderr: backend.Cut{Offset: 6, Omitted: 7},
		}},
	}
}

// like returns an empty message of the same type.
func like(m agent.Message) agent.Message {
	return reflect.New(reflect.TypeOf(m).Elem()).Interface().(agent.Message)
}

func TestMessagesCrossTheWire(t *testing.T) {
	for _, want := range messages() {
		got := like(want)
		if err := agent.Decode(agent.Encode(want), got); err != nil {
			t.Fatalf("%T: %v", want, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T changed on the way (-sent +received):\n%s", want, diff)
		}
	}
}

func TestDamagedMessagesAreRefused(t *testing.T) {
	for _, m := range messages() {
		payload := agent.Encode(m)
		for n := range payload {
			if err := agent.Decode(payload[:n], like(m)); !errors.Is(err, agent.ErrProtocol) {
				t.Errorf("%T: the first %d of %d bytes gave %v", m, n, len(payload), err)
			}
		}
		if err := agent.Decode(append(payload, 0), like(m)); !errors.Is(err, agent.ErrProtocol) {
			t.Errorf("%T: a byte too many gave %v", m, err)
		}
	}
}

func TestFailuresKeepTheirKind(t *testing.T) {
	for _, kind := range []error{
		backend.ErrInvalid, backend.ErrUnsupported, backend.ErrRefused,
		backend.ErrUnavailable, backend.ErrNotFound, backend.ErrBusy,
	} {
		err := agent.DecodeFailure(agent.EncodeFailure(backend.Wrap(kind, errors.New("start x: no"))))
		if !errors.Is(err, kind) || err.Error() != "start x: no" {
			t.Errorf("kind %v came out as %v", kind, err)
		}
	}
	long := agent.DecodeFailure(agent.EncodeFailure(errors.New(strings.Repeat("x", 1<<20))))
	if len(long.Error()) > 8<<10 {
		t.Errorf("an error text of %d bytes came through", len(long.Error()))
	}
}

func TestFramesAreBounded(t *testing.T) {
	for name, frame := range map[string]string{
		"a type that does not exist":   "\xff\x00\x00\x00\x00",
		"data of 4 GiB":                string(rune(agent.TypeData)) + "\xff\xff\xff\xff",
		"an order to stop with a body": string(rune(agent.TypeCancel)) + "\x00\x00\x00\x01x",
	} {
		if _, _, err := agent.NewReader(strings.NewReader(frame)).Next(); !errors.Is(err, agent.ErrProtocol) {
			t.Errorf("%s: got %v, want a protocol error", name, err)
		}
	}
	if err := agent.NewWriter(io.Discard).Write(agent.TypeData, make([]byte, agent.MaxData+1)); err == nil {
		t.Error("a frame larger than the other end takes was written")
	}
}

func TestDataIsSplitIntoFrames(t *testing.T) {
	sent := bytes.Repeat([]byte("0123456789"), agent.MaxData/4)
	var wire bytes.Buffer
	w := agent.NewWriter(&wire)
	if _, err := w.Data(agent.TypeData).Write(sent); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(agent.TypeEOF, nil); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(agent.NewBody(agent.NewReader(&wire)))
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("got %d bytes, %v; want %d", len(got), err, len(sent))
	}
}

func TestHalfAnArchiveIsNoArchive(t *testing.T) {
	var wire bytes.Buffer
	if err := agent.NewWriter(&wire).Write(agent.TypeData, []byte("half")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(agent.NewBody(agent.NewReader(&wire))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want an unexpected end", err)
	}
}

func FuzzFrames(f *testing.F) {
	var wire bytes.Buffer
	w := agent.NewWriter(&wire)
	for _, m := range messages() {
		_ = w.Write(agent.TypeStart, agent.Encode(m))
	}
	f.Add(wire.Bytes())
	f.Fuzz(func(_ *testing.T, b []byte) {
		r := agent.NewReader(bytes.NewReader(b))
		for {
			_, payload, err := r.Next()
			if err != nil {
				break
			}
			for _, m := range messages() {
				_ = agent.Decode(payload, like(m))
			}
			_ = agent.DecodeFailure(payload)
		}
		_, _ = io.Copy(io.Discard, agent.NewBody(agent.NewReader(bytes.NewReader(b))))
	})
}

// muxFrame is a frame of yamux (its spec.md, "Framing") without a body.
func muxFrame(kind byte, flags uint16, stream, length uint32) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0, kind}, flags)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, stream), length)
}

// A ping ends the connection, wherever the reads cut it: yamux would answer each on a goroutine.
func TestPingEndsTheConnection(t *testing.T) {
	const data, ping, syn = 0, 2, 1
	// A body that looks like a ping is none.
	fine := append(muxFrame(data, syn, 1, 12), muxFrame(ping, syn, 0, 7)...)
	for name, test := range map[string]struct {
		sent []byte
		ends bool
	}{
		"ping":         {muxFrame(ping, syn, 0, 7), true},
		"ping in data": {fine, false},
		"ping after":   {append(bytes.Clone(fine), muxFrame(ping, syn, 0, 7)...), true},
	} {
		for piece := 1; piece <= len(test.sent); piece++ {
			ours, theirs := net.Pipe()
			session, err := agent.Server(ours)
			if err != nil {
				t.Fatal(err)
			}
			go io.Copy(io.Discard, theirs) //nolint:errcheck // until it is closed
			for p := range slices.Chunk(test.sent, piece) {
				_, _ = theirs.Write(p)
			}
			if test.ends {
				<-session.CloseChan()
			} else if session.IsClosed() {
				t.Errorf("%s in pieces of %d: the connection ended", name, piece)
			}
			_ = session.Close()
			_ = theirs.Close()
		}
	}
}

// Nothing that comes over a connection makes an end of it panic or hang.
func FuzzConnection(f *testing.F) {
	f.Add(muxFrame(0, 1, 1, 3))
	f.Add(append(muxFrame(1, 1, 1, 0), muxFrame(3, 0, 0, 0)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		ours, theirs := net.Pipe()
		session, err := agent.Server(ours)
		if err != nil {
			t.Fatal(err)
		}
		go io.Copy(io.Discard, theirs) //nolint:errcheck // until it is closed
		go func() {
			for {
				stream, err := session.AcceptStream()
				if err != nil {
					return
				}
				go io.Copy(io.Discard, stream) //nolint:errcheck // until its end
			}
		}()
		_, _ = theirs.Write(b)
		_ = theirs.Close()
		<-session.CloseChan()
		_ = session.Close()
	})
}
