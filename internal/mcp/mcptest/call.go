package mcptest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"
)

// A Request is a request that was sent.
type Request struct {
	// ID is its id as JSON.
	ID     string
	answer chan Message
	server *Server
}

// Send sends a request. params is anything that encodes to JSON; nil leaves them out.
func (s *Server) Send(method string, params any) (*Request, error) {
	s.mu.Lock()
	if s.waiting == nil {
		s.mu.Unlock()
		return nil, ErrEnded
	}
	s.nextID++
	id := strconv.Itoa(s.nextID)
	r := &Request{ID: id, answer: make(chan Message, 1), server: s}
	s.waiting[id] = r.answer
	s.mu.Unlock()
	message := map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method}
	if params != nil {
		message["params"] = params
	}
	line, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	return r, s.WriteLine(line)
}

// Expect registers a request that the test writes itself: the answer with this id, as JSON, is kept
// for the Request returned.
func (s *Server) Expect(id string) *Request {
	r := &Request{ID: id, answer: make(chan Message, 1), server: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		close(r.answer)
	} else {
		s.waiting[id] = r.answer
	}
	return r
}

// Wait returns the answer, or [ErrDeadline], or [ErrEnded].
func (r *Request) Wait(d time.Duration) (Message, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case m, ok := <-r.answer:
		if !ok {
			return Message{}, fmt.Errorf("answer to request %s: %w", r.ID, ErrEnded)
		}
		return m, nil
	case <-timer.C:
		return Message{}, fmt.Errorf("answer to request %s: %w of %v", r.ID, ErrDeadline, d)
	}
}

// Notify sends a notification.
func (s *Server) Notify(method string, params any) error {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	return s.WriteLine(line)
}

// Initialize does what a client does first. It fails the test if the server does not answer within
// ten seconds.
func (s *Server) Initialize(t testing.TB) {
	t.Helper()
	r, err := s.Send("initialize", map[string]any{
		"protocolVersion": "2025-06-18",
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": "mcptest", "version": "1"},
	})
	if err != nil {
		t.Fatalf("initialize: %v", err)
	}
	m, err := r.Wait(10 * time.Second)
	if err != nil || m.Error != nil {
		t.Fatalf("initialize: %v %+v", err, m.Error)
	}
	if err := s.Notify("notifications/initialized", map[string]any{}); err != nil {
		t.Fatalf("initialized: %v", err)
	}
}

// A Result is the outcome of a tools/call, in the form that a model gets to see.
type Result struct {
	// Refused is the JSON-RPC error, if there was one.
	Refused *Error
	// IsError and Text are those of the tool result; Text joins all text blocks.
	IsError bool
	Text    string
	// Blocks are the types of the content blocks, in order.
	Blocks []string
	// Images are the image blocks.
	Images []Image
	// Resources counts embedded resources and resource links.
	Resources int
	// Ran says that Text is the JSON of a run, which the fields below are from.
	Ran            bool
	ExitCode       int
	Stdout, Stderr string
	// Fields are all fields of that JSON.
	Fields map[string]any
	// Took is the time from request to answer.
	Took time.Duration
	// Raw is the whole answer.
	Raw Message
}

// An Image is an image block.
type Image struct {
	MIME string
	Data []byte
}

// SendCall sends a tools/call.
func (s *Server) SendCall(tool string, arguments any) (*Request, error) {
	return s.Send("tools/call", map[string]any{"name": tool, "arguments": arguments})
}

// Call calls a tool and waits at most d for the result.
func (s *Server) Call(tool string, arguments any, d time.Duration) (Result, error) {
	began := time.Now()
	r, err := s.SendCall(tool, arguments)
	if err != nil {
		return Result{}, err
	}
	result, err := r.Result(d)
	result.Took = time.Since(began)
	return result, err
}

// Result waits for the answer to a tools/call.
func (r *Request) Result(d time.Duration) (Result, error) {
	m, err := r.Wait(d)
	if err != nil {
		return Result{}, err
	}
	return ParseResult(m)
}

// ParseResult reads the answer to a tools/call.
func ParseResult(m Message) (Result, error) {
	result := Result{Raw: m, Refused: m.Error}
	if m.Error != nil {
		return result, nil
	}
	var content struct {
		IsError bool `json:"isError"`
		Content []struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			Data     string `json:"data"`
			MIMEType string `json:"mimeType"`
		} `json:"content"`
	}
	if err := json.Unmarshal(m.Result, &content); err != nil {
		return result, fmt.Errorf("read result %s: %w", m.Result, err)
	}
	result.IsError = content.IsError
	for _, block := range content.Content {
		result.Blocks = append(result.Blocks, block.Type)
		switch block.Type {
		case "text":
			result.Text += block.Text
		case "image":
			data, err := base64.StdEncoding.Strict().DecodeString(block.Data)
			if err != nil {
				return result, fmt.Errorf("read image block: %w", err)
			}
			result.Images = append(result.Images, Image{MIME: block.MIMEType, Data: data})
		case "resource", "resource_link":
			result.Resources++
		}
	}
	var run struct {
		ExitCode *int   `json:"exit_code"`
		Stdout   string `json:"stdout"`
		Stderr   string `json:"stderr"`
	}
	if json.Unmarshal([]byte(result.Text), &run) == nil && run.ExitCode != nil {
		result.Ran = true
		result.ExitCode, result.Stdout, result.Stderr = *run.ExitCode, run.Stdout, run.Stderr
		_ = json.Unmarshal([]byte(result.Text), &result.Fields) // it was JSON a line ago
	}
	return result, nil
}

// Failed says that the call did not do what it was asked for.
func (r Result) Failed() bool {
	return r.Refused != nil || r.IsError || r.Ran && r.ExitCode != 0
}

// Message is all that tells what went wrong.
func (r Result) Message() string {
	message := r.Stderr
	if r.Refused != nil {
		message += "\n" + r.Refused.Message
	}
	if text, ok := r.Fields["message"].(string); ok {
		message += "\n" + text
	}
	if r.IsError || !r.Ran {
		message += "\n" + r.Text
	}
	return message
}
