package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// lookInside lets a program in a sandbox report what the kernel says about it.
func lookInside(ctx context.Context, b backend.Backend) (facts []string, err error) {
	if b.Capabilities().Images {
		return nil, nil // it would have to fetch an image
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	sandbox, err := b.Create(ctx, backend.Spec{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sandbox.Close(context.WithoutCancel(ctx))) }()
	var status bytes.Buffer
	process, err := sandbox.Start(ctx, backend.Command{
		Args:   []string{"cat", "/proc/self/status"},
		Env:    []string{"PATH=/usr/bin:/bin"},
		Stdout: &status,
	})
	if err != nil {
		return nil, err
	}
	exit, err := process.Wait()
	if err != nil {
		return nil, err
	}
	if exit.Code != 0 {
		return nil, fmt.Errorf("%s: look inside a sandbox: cat ended with %d", b.Name(), exit.Code)
	}
	return factsOf(status.String()), nil
}

// factsOf reads what proc(5) documents of the status of a process.
func factsOf(status string) []string {
	fields := map[string]string{}
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		fields[name], _, _ = strings.Cut(strings.TrimSpace(value), "\t")
	}
	facts := []string{"user " + fields["Uid"]}
	say := func(yes bool, good, bad string) {
		if !yes {
			good = bad
		}
		facts = append(facts, good)
	}
	say(strings.Trim(fields["CapEff"]+fields["CapPrm"]+fields["CapBnd"], "0") == "", "no capabilities", "HAS CAPABILITIES "+fields["CapEff"])
	say(fields["NoNewPrivs"] == "1", "no_new_privs", "NO no_new_privs")
	say(fields["Seccomp"] == "2", "system call filter", "NO SYSTEM CALL FILTER")
	if abi := landlockABI(); abi > 0 {
		facts = append(facts, fmt.Sprintf("the kernel has Landlock %d", abi))
	} else {
		facts = append(facts, "the kernel has no Landlock")
	}
	return facts
}
