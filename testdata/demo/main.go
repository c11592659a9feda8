// Command demo is a small MCP client: it starts the server, has it run a program that draws a plot, and
// writes the picture that comes back. It speaks the protocol itself, line by line, to show what passes.
package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed plot.py
var program string

func main() {
	server := flag.String("server", "bin/llm-sandbox-mcp", "the server to start")
	out := flag.String("out", "demo-output", "the directory that receives plot.png")
	flag.Parse()
	if err := run(*server, *out); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(server, out string) error {
	fmt.Printf("1. start  %s, as an MCP client would\n", server)
	cmd := exec.Command(server)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c := &client{in: stdin, out: bufio.NewReader(stdout)}
	err = talk(c, out)
	// The server ends when its input ends.
	return errors.Join(err, stdin.Close(), cmd.Wait())
}

func talk(c *client, out string) error {
	var hello struct {
		ServerInfo      struct{ Name, Version string } `json:"serverInfo"`
		ProtocolVersion string                         `json:"protocolVersion"`
	}
	began := time.Now()
	err := c.call("initialize", map[string]any{
		"protocolVersion": "2025-06-18",
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": "demo", "version": "1"},
	}, &hello)
	if err != nil {
		return err
	}
	if err := c.notify("notifications/initialized"); err != nil {
		return err
	}
	fmt.Printf("2. hello  from %s %s, protocol %s, after %s\n",
		hello.ServerInfo.Name, hello.ServerInfo.Version, hello.ProtocolVersion, since(began))

	fmt.Printf("3. call   execute_code with %d lines of Python that use matplotlib\n", strings.Count(program, "\n"))
	var result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Type, Text, MIMEType string
			Data                 []byte // base64 in JSON
		}
	}
	began = time.Now()
	err = c.call("tools/call", map[string]any{
		"name":      "execute_code",
		"arguments": map[string]any{"language": "python", "code": program},
	}, &result)
	if err != nil {
		return err
	}
	fmt.Printf("4. answer after %s:\n", since(began))
	saved := 0
	for _, block := range result.Content {
		if block.Type != "image" {
			fmt.Println(indent(block.Text))
			continue
		}
		saved++
		name := filepath.Join(out, "plot.png")
		if saved > 1 {
			name = filepath.Join(out, fmt.Sprintf("plot-%d.png", saved))
		}
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, block.Data, 0o644); err != nil {
			return err
		}
		fmt.Printf("   %s, %d bytes, written to %s\n", block.MIMEType, len(block.Data), name)
	}
	if result.IsError || saved == 0 {
		return errors.New("no picture came back; `bin/llm-sandbox-mcp doctor` says what is missing")
	}
	return nil
}

func since(t time.Time) time.Duration { return time.Since(t).Round(time.Millisecond) }

func indent(text string) string { return "   " + strings.ReplaceAll(text, "\n", "\n   ") }

// client speaks JSON-RPC over newline-delimited JSON, one request at a time.
type client struct {
	in   io.Writer
	out  *bufio.Reader
	last int
}

func (c *client) call(method string, params, result any) error {
	c.last++
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s: the server ended: %w", method, err)
		}
		var answer struct {
			ID     *int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		switch {
		case answer.ID == nil || *answer.ID != c.last: // a notification, or a request that a demo need not answer
		case answer.Error != nil:
			return fmt.Errorf("%s: %s", method, answer.Error.Message)
		default:
			return json.Unmarshal(answer.Result, result)
		}
	}
}

func (c *client) notify(method string) error {
	return c.send(map[string]any{"jsonrpc": "2.0", "method": method})
}

func (c *client) send(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(line, '\n'))
	return err
}
