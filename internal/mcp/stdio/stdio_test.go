package stdio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/stdio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lockedBuffer is what a client has read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func connect(t *testing.T, in io.Reader, out io.Writer, o stdio.Options) (*stdio.Transport, mcp.Connection) {
	t.Helper()
	if o.MaxMessage == 0 {
		o.MaxMessage = 1 << 20
	}
	o.Log = slog.New(slog.DiscardHandler)
	transport := stdio.New(in, out, o)
	conn, err := transport.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return transport, conn
}

// readAll answers every request at once and returns the methods of what was read, with ids.
func readAll(t *testing.T, conn mcp.Connection) []string {
	t.Helper()
	var read []string
	for {
		message, err := conn.Read(t.Context())
		if errors.Is(err, io.EOF) {
			return read
		}
		if err != nil {
			t.Fatalf("Read: %v", err)
		}
		switch m := message.(type) {
		case *jsonrpc.Request:
			read = append(read, fmt.Sprintf("%s %v %s", m.Method, m.ID.Raw(), m.Params))
			if m.IsCall() {
				answer(t, conn, m.ID)
			}
		case *jsonrpc.Response:
			read = append(read, fmt.Sprintf("response %v %s", m.ID.Raw(), m.Result))
		}
	}
}

func answer(t *testing.T, conn mcp.Connection, id jsonrpc.ID) {
	t.Helper()
	if err := conn.Write(t.Context(), &jsonrpc.Response{ID: id, Result: json.RawMessage(`"ok"`)}); err != nil {
		t.Errorf("Write: %v", err)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	const pong = `{"jsonrpc":"2.0","id":1,"result":"ok"}` + "\n"
	refused := func(id string, code int, reason string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, reason)
	}
	for _, test := range []struct {
		name, in string
		read     []string
		out      string
	}{
		{name: "nothing"},
		{name: "a request", in: ping + "\n", read: []string{"ping 1 "}, out: pong},
		{name: "no line feed at the end", in: ping, read: []string{"ping 1 "}, out: pong},
		{name: "carriage returns", in: ping + "\r\n\r\n", read: []string{"ping 1 "}, out: pong},
		{name: "byte order mark", in: "\ufeff" + ping + "\n", read: []string{"ping 1 "}, out: pong},
		{name: "blank lines", in: "\n \t\n" + ping + "\n\n", read: []string{"ping 1 "}, out: pong},
		{name: "spaces beyond a buffer", in: strings.Repeat(" ", 500_000) + "\n" + ping + "\n", read: []string{"ping 1 "}, out: pong},
		{name: "a string as id", in: `{"jsonrpc":"2.0","id":"a b","method":"x"}`, read: []string{"x a b "},
			out: `{"jsonrpc":"2.0","id":"a b","result":"ok"}` + "\n"},
		{name: "the largest id", in: `{"jsonrpc":"2.0","id":9007199254740992,"method":"x"}`, read: []string{"x 9007199254740992 "},
			out: `{"jsonrpc":"2.0","id":9007199254740992,"result":"ok"}` + "\n"},
		{name: "a notification", in: `{"jsonrpc":"2.0","method":"x","params":{"a":1}}`, read: []string{`x <nil> {"a":1}`}},
		{name: "an answer", in: `{"jsonrpc":"2.0","id":7,"result":{}}`, read: []string{"response 7 {}"}},
		{name: "a bad answer", in: `{"jsonrpc":"2.0","result":{}}`},
		{name: "no JSON", in: "nonsense\n" + ping, read: []string{"ping 1 "},
			out: refused("null", -32700, "message: invalid character 'o' in literal null (expecting 'u')") + pong},
		{name: "half an object", in: "{\n" + ping, read: []string{"ping 1 "},
			out: refused("null", -32700, "message: unexpected end of JSON input") + pong},
		{name: "two objects", in: ping + ping + "\n",
			out: refused("null", -32700, "message: invalid character '{' after top-level value")},
		{name: "a number", in: "5\n", out: refused("null", -32600, "message: must be a JSON object")},
		{name: "no method", in: `{"jsonrpc":"2.0","id":3}`, out: refused("3", -32600, "method: missing")},
		{name: "a method that is no string", in: `{"jsonrpc":"2.0","id":3,"method":5}`,
			out: refused("3", -32600, "method: must be a string that is not empty")},
		{name: "no version", in: `{"id":"q","method":"x"}`, out: refused(`"q"`, -32600, `jsonrpc: must be "2.0"`)},
		{name: "null as id", in: `{"jsonrpc":"2.0","id":null,"method":"x"}`,
			out: refused("null", -32600, "id: must be a string or an integer of at most 53 bits")},
		{name: "a fraction as id", in: `{"jsonrpc":"2.0","id":1.5,"method":"x"}`,
			out: refused("null", -32600, "id: must be a string or an integer of at most 53 bits")},
		{name: "an id that would change", in: `{"jsonrpc":"2.0","id":9007199254740993000,"method":"x"}`,
			out: refused("null", -32600, "id: must be a string or an integer of at most 53 bits")},
		{name: "not UTF-8", in: "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"x\xff\"}\n" + ping, read: []string{"ping 1 "},
			out: refused("4", -32700, "message: not valid UTF-8 at byte 35") + pong},
		{name: "an empty batch", in: "[]\n" + ping, read: []string{"ping 1 "}, out: refused("null", -32600, "message: the batch is empty") + pong},
		{name: "a batch", in: `[{"jsonrpc":"2.0","id":1,"method":"x"},7,{"jsonrpc":"2.0","method":"y"},{"jsonrpc":"2.0","id":2,"method":"z"}]`,
			read: []string{"x 1 ", "y <nil> ", "z 2 "},
			out: `[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"message: must be a JSON object"}},` +
				`{"jsonrpc":"2.0","id":1,"result":"ok"},{"jsonrpc":"2.0","id":2,"result":"ok"}]` + "\n"},
		{name: "a batch of notifications", in: `[{"jsonrpc":"2.0","method":"y"}]`, read: []string{"y <nil> "}},
		{name: "a batch of nonsense", in: `[1]`, out: `[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"message: must be a JSON object"}}]` + "\n"},
		{name: "cancel what does not run", in: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/cancelled"}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}` + "\n" + ping,
			read: []string{"ping 1 "}, out: pong},
		{name: "an absent method", in: `{"jsonrpc":"2.0","id":1,"method":"not/here"}`, out: refused("1", -32601, `method not found: "not/here"`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out lockedBuffer
			transport, conn := connect(t, strings.NewReader(test.in), &out, stdio.Options{Absent: []string{"not/here"}})
			if diff := cmp.Diff(test.read, readAll(t, conn)); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.out, out.String()); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
			<-transport.Ended()
		})
	}
}

// TestTooLong pins that an over-long line costs its request and nothing else, and that the request is
// named where its id can be known.
func TestTooLong(t *testing.T) {
	t.Parallel()
	const reason = "message: too long; send less at once, or raise SANDBOX_MAX_MESSAGE"
	filler := strings.Repeat("x", 100_000)
	for _, test := range []struct{ name, line, id string }{
		{"id first", `{"jsonrpc":"2.0","id":5,"method":"x","params":{"code":"` + filler + `"}}`, "5"},
		{"id last", `{"method":"x","params":{"code":"` + filler + `"},"jsonrpc":"2.0","id": "q"}`, `"q"`},
		{"no id", `{"method":"x","params":{"code":"` + filler + `"},"jsonrpc":"2.0"}`, "null"},
		{"an id inside", `{"method":"x","params":{"code":"` + filler + `","id":6}}`, "null"},
		{"an id in text", `{"method":"x","params":["` + filler + `\"id\":6}"]}`, "null"},
		{"no object", filler, "null"},
	} {
		for _, end := range []string{"\n", ""} {
			var out lockedBuffer
			_, conn := connect(t, strings.NewReader(test.line+end), &out, stdio.Options{MaxMessage: 50_000})
			if got := readAll(t, conn); len(got) > 0 {
				t.Errorf("%s: read %q", test.name, got)
			}
			want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":%q}}`+"\n", test.id, reason)
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("%s: written (-want +got):\n%s", test.name, diff)
			}
		}
	}
}

func TestLengthLimitIsExact(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for limit, accepted := range map[int64]bool{int64(len(ping)): true, int64(len(ping)) - 1: false} {
		var out lockedBuffer
		_, conn := connect(t, strings.NewReader(ping+"\n"), &out, stdio.Options{MaxMessage: limit})
		if got := len(readAll(t, conn)) == 1; got != accepted {
			t.Errorf("%d bytes with a limit of %d: accepted = %v", len(ping), limit, got)
		}
	}
}

// TestEndlessLine pins that a line without end takes no memory.
func TestEndlessLine(t *testing.T) { // not parallel: it measures the memory of the process
	var out lockedBuffer
	_, conn := connect(t, io.LimitReader(endless{}, 256<<20), &out, stdio.Options{MaxMessage: 1 << 20})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	readAll(t, conn)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 32<<20 {
		t.Errorf("skipping 256 MiB allocated %d bytes", allocated)
	}
	if !strings.Contains(out.String(), "too long") {
		t.Errorf("written: %q", out.String())
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// next reads one request.
func next(t *testing.T, conn mcp.Connection) *jsonrpc.Request {
	t.Helper()
	message, err := conn.Read(t.Context())
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return message.(*jsonrpc.Request)
}

func TestCancelledRequestIsNotAnswered(t *testing.T) {
	t.Parallel()
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"slow"}` + "\n" +
		`[{"jsonrpc":"2.0","id":3,"method":"slow"},{"jsonrpc":"2.0","id":4,"method":"slow"}]` + "\n"
	for id := range 4 {
		in += fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", id)
	}
	var out lockedBuffer
	_, conn := connect(t, strings.NewReader(in), &out, stdio.Options{Grace: time.Hour})
	var ids []jsonrpc.ID
	cancelled := 0
	for range 6 { // four requests, and two notifications that have something to cancel
		if m := next(t, conn); m.IsCall() {
			ids = append(ids, m.ID)
		} else {
			cancelled++
		}
	}
	for _, id := range ids {
		answer(t, conn, id)
	}
	want := `{"jsonrpc":"2.0","id":1,"result":"ok"}` + "\n" + `[{"jsonrpc":"2.0","id":4,"result":"ok"}]` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if cancelled != 2 {
		t.Errorf("%d notifications were passed on, want those of 2 and 3", cancelled)
	}
	if got := readAll(t, conn); len(got) > 0 {
		t.Errorf("read %q", got)
	}
}

func TestIDInUse(t *testing.T) {
	t.Parallel()
	const slow = `{"jsonrpc":"2.0","id":1,"method":"slow"}` + "\n"
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n"
	const reason = "id: 1 is that of a request which still runs"
	in, feed := io.Pipe()
	var out lockedBuffer
	_, conn := connect(t, in, &out, stdio.Options{})
	go func() {
		io.WriteString(feed, slow+slow+cancel+slow)
		feed.Close()
	}()
	first := next(t, conn)
	next(t, conn) // the cancellation
	if _, err := conn.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Read: %v, want EOF: the other requests are refused", err)
	}
	answer(t, conn, first.ID)
	want := fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":%q}}`+"\n"+
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":%q}}`+"\n", reason, reason)
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

// TestEndOfInput pins that reading ends when all requests are answered, and else when the grace is
// over.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	const request = `{"jsonrpc":"2.0","id":1,"method":"slow"}`
	for _, test := range []struct {
		name         string
		takes, grace time.Duration
		want         time.Duration
		out          bool
	}{
		{name: "in time", takes: 3 * time.Second, grace: 5 * time.Second, want: 3 * time.Second, out: true},
		{name: "too late", takes: time.Hour, grace: 5 * time.Second, want: 5 * time.Second},
		{name: "no grace", takes: time.Second, grace: 0, want: 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var out lockedBuffer
				transport, conn := connect(t, strings.NewReader(request), &out, stdio.Options{Grace: test.grace})
				start := time.Now()
				id := next(t, conn).ID
				ended := make(chan struct{})
				work := time.AfterFunc(test.takes, func() { answer(t, conn, id) })
				go func() {
					defer close(ended)
					if _, err := conn.Read(t.Context()); !errors.Is(err, io.EOF) {
						t.Errorf("Read: %v", err)
					}
				}()
				<-ended
				<-transport.Ended()
				work.Stop()
				if got := time.Since(start); got != test.want {
					t.Errorf("reading ended after %v, want %v", got, test.want)
				}
				if got := out.String() != ""; got != test.out {
					t.Errorf("answered = %v, want %v", got, test.out)
				}
			})
		})
	}
}

// TestContextEndsReading pins that a read that blocks for ever does not keep the connection.
func TestContextEndsReading(t *testing.T) {
	t.Parallel()
	in, feed := io.Pipe()
	defer feed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	transport := stdio.New(in, io.Discard, stdio.Options{MaxMessage: 100, Log: slog.New(slog.DiscardHandler)})
	conn, err := transport.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := conn.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Read: %v, want EOF", err)
	}
	<-transport.Ended()
}

func TestBrokenOutput(t *testing.T) {
	t.Parallel()
	broken := errors.New("pipe is broken")
	_, conn := connect(t, strings.NewReader("nonsense\n"), failing{broken}, stdio.Options{})
	if _, err := conn.Read(t.Context()); !errors.Is(err, broken) {
		t.Errorf("Read: %v, want the error of writing the refusal", err)
	}
	if err := conn.Write(t.Context(), &jsonrpc.Request{Method: "x"}); !errors.Is(err, broken) {
		t.Errorf("Write: %v", err)
	}
}

func TestBrokenInput(t *testing.T) {
	t.Parallel()
	broken := errors.New("cable is cut")
	_, conn := connect(t, io.MultiReader(strings.NewReader("\n"), failing{broken}), io.Discard, stdio.Options{})
	if _, err := conn.Read(t.Context()); !errors.Is(err, broken) {
		t.Errorf("Read: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestErrorsHaveCodes(t *testing.T) {
	t.Parallel()
	var out lockedBuffer
	_, conn := connect(t, strings.NewReader(""), &out, stdio.Options{})
	id, err := jsonrpc.MakeID("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{errors.New("plain"), fmt.Errorf("wrapped: %w", &jsonrpc.Error{Code: -32001, Message: "m"})} {
		if err := conn.Write(t.Context(), &jsonrpc.Response{ID: id, Error: err}); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"plain"}}` + "\n" +
		`{"jsonrpc":"2.0","id":"a","error":{"code":-32001,"message":"wrapped: m"}}` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

// TestWatch ends the reader of a pipe.
func TestWatch(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	why := make(chan string)
	go func() { why <- stdio.Watch(ctx, 10*time.Millisecond, w) }()
	select {
	case got := <-why:
		t.Fatalf("Watch returned %q while there is a reader", got)
	case <-time.After(100 * time.Millisecond):
	}
	r.Close()
	if got, want := <-why, "nobody reads the output any more"; got != want {
		t.Errorf("Watch = %q, want %q", got, want)
	}
	cancel()
	if got := stdio.Watch(ctx, time.Hour, w); got != "" {
		t.Errorf("Watch = %q after the end of its context", got)
	}
}

// FuzzInput pins what holds for any input at all: it is read to the end, what is passed on are
// messages that can be answered, and every line written is JSON.
func FuzzInput(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "{", "[]", "[1,2]", "nonsense\n{}\n", `{"jsonrpc":"2.0","id":1,"method":"x"}` + "\n",
		`[{"jsonrpc":"2.0","id":1,"method":"x"},{"jsonrpc":"2.0","id":1,"method":"x"}]`,
		`{"jsonrpc":"2.0","id":"1","method":"x","params":{"a":"` + strings.Repeat("y", 300) + `"}}`,
		`{"method":"x","params":{"a":"` + strings.Repeat("y", 300) + `"},"id":7}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		"\xff\xfe{\"id\":1}", `{"jsonrpc":"2.0","id":1e3,"method":"\u0000"}`, `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out lockedBuffer
		_, conn := connect(t, bytes.NewReader(in), &out, stdio.Options{MaxMessage: 256, Grace: time.Hour})
		readAll(t, conn)
		for l := range strings.Lines(out.String()) {
			if !json.Valid([]byte(l)) || !strings.HasSuffix(l, "\n") {
				t.Errorf("written: %q", l)
			}
		}
	})
}
