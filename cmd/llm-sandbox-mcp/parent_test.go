//go:build linux

package main_test

import (
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestParentEnds starts a server by a process that ends while this test keeps the server's input open,
// as happens when another child of a client has inherited the pipe. The server must end by itself.
func TestParentEnds(t *testing.T) {
	t.Parallel()
	o := serverOptions(t)
	input, keepOpen, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer keepOpen.Close()
	output, fromServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	// The shell gives a background process no input of its own, hence the detour. It must live until the
	// server has looked at its parent for the first time, two seconds after the start.
	shell := exec.CommandContext(t.Context(), "sh", "-c", `"$0" <&3 & sleep 3`, o.Path)
	shell.Env = o.Env
	shell.ExtraFiles = []*os.File{input}
	shell.Stdout = fromServer
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	input.Close()
	fromServer.Close()
	if err := shell.Wait(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, output)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("10 s after its parent has ended, the server still has its output open")
	}
}
