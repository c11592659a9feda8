package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/fake"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	const timedOut = "timed out"
	for _, test := range []struct {
		name   string
		exit   backend.Exit
		status string
		says   []string
		never  string
	}{
		{name: "success", exit: backend.Exit{Outcome: backend.Exited}, status: "ok"},
		{name: "exit code", exit: backend.Exit{Outcome: backend.Exited, Code: 3}, status: "error"},
		{name: "exit code of timeout(1)", exit: backend.Exit{Outcome: backend.Exited, Code: 124}, status: "error", never: timedOut},
		{name: "own SIGKILL", exit: backend.Exit{Outcome: backend.Signaled, Code: 137, Signal: 9}, status: "error",
			says: []string{"signal 9 (SIGKILL)"}, never: timedOut},
		{name: "real-time signal", exit: backend.Exit{Outcome: backend.Signaled, Code: 168, Signal: 40}, status: "error",
			says: []string{"signal 40."}},
		{name: "time", exit: backend.Exit{Outcome: backend.TimedOut, Code: 124}, status: "timeout",
			says: []string{timedOut + " after 30 s", "covers compiling", "at most 600 s"}},
		{name: "memory", exit: backend.Exit{Outcome: backend.OutOfMemory, Code: 137, Signal: 9}, status: "memory_limit",
			says: []string{"memory limit of 256 MiB was reached", "SANDBOX_MEMORY"}, never: timedOut},
		{name: "processes", exit: backend.Exit{Outcome: backend.OutOfProcesses, Code: 1}, status: "process_limit",
			says: []string{"process limit of 64 was reached", "SANDBOX_PIDS_LIMIT"}},
		{name: "disk", exit: backend.Exit{Outcome: backend.OutOfDisk, Code: 1}, status: "disk_limit",
			says: []string{"disk limit of 1 GiB was reached", "SANDBOX_DISK_LIMIT", "SANDBOX_FILE_SIZE_LIMIT"}},
		{name: "output", exit: backend.Exit{Outcome: backend.OutputLimited, Code: 137, Signal: 9}, status: "output_limit",
			says: []string{"more than 1 MiB of output", "SANDBOX_OUTPUT_KILL"}, never: timedOut},
		{name: "system call", exit: backend.Exit{Outcome: backend.Denied, Code: 159, Signal: 31}, status: "denied",
			says: []string{"system call that the sandbox forbids"}},
		{name: "reached a limit and coped", exit: backend.Exit{Outcome: backend.Exited, Reached: []string{"memory", "processes"}}, status: "ok",
			says: []string{"memory limit of 256 MiB was reached (SANDBOX_MEMORY).", "process limit of 64 was reached (SANDBOX_PIDS_LIMIT)."}},
		{name: "reached a limit and failed otherwise", exit: backend.Exit{Outcome: backend.Signaled, Code: 139, Signal: 11, Reached: []string{"disk"}}, status: "error",
			says: []string{"SIGSEGV", "SANDBOX_DISK_LIMIT"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := python(t, func(context.Context, *fake.Call) backend.Exit { return test.exit })
			got := s.execute(t, engine.Request{Code: "pass"})
			if got.Status != test.status || got.ExitCode != test.exit.Code || got.Signal != test.exit.Signal {
				t.Errorf("status %q, code %d, signal %d, want %q, %d, %d", got.Status, got.ExitCode, got.Signal,
					test.status, test.exit.Code, test.exit.Signal)
			}
			says(t, got.Message, test.says...)
			if len(test.says) == 0 && got.Message != "" {
				t.Errorf("message %q where there is nothing to say", got.Message)
			}
			if test.never != "" && strings.Contains(got.Message, test.never) {
				t.Errorf("message %q speaks of %q", got.Message, test.never)
			}
		})
	}
}

func TestLimitsInMessages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		outcome backend.Outcome
		limits  backend.Limits
		want    string
	}{
		{"no limit of ours", backend.OutOfMemory, backend.Limits{}, "A memory limit was reached"},
		{"odd number of bytes", backend.OutOfMemory, backend.Limits{Memory: 1234567}, "limit of 1,234,567 bytes"},
		{"file size alone", backend.OutOfDisk, backend.Limits{FileSize: 1 << 20}, "file size limit of 1 MiB"},
		{"file size below disk", backend.OutOfDisk, backend.Limits{Disk: 1 << 30, FileSize: 1 << 20}, "disk limit of 1 GiB, or that of 1 MiB for one file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := python(t, func(context.Context, *fake.Call) backend.Exit { return backend.Exit{Outcome: test.outcome, Code: 1} },
				func(_ *fake.Options, o *engine.Options) { o.Limits = test.limits })
			says(t, s.execute(t, engine.Request{Code: "pass"}).Message, test.want)
		})
	}
}

func TestTimeoutIsAtMostTheLongest(t *testing.T) {
	t.Parallel()
	s := python(t, func(context.Context, *fake.Call) backend.Exit {
		return backend.Exit{Outcome: backend.TimedOut, Code: 124}
	},
		func(_ *fake.Options, o *engine.Options) { o.MaxTimeout = 90 * time.Second })
	got := s.execute(t, engine.Request{Code: "pass", Timeout: time.Hour})
	says(t, got.Message, "timed out after 90 s", "SANDBOX_MAX_TIMEOUT")
	if timeout := s.backend.Record().Commands[0].Timeout; timeout != 90*time.Second {
		t.Errorf("the program had %v, want 90 s", timeout)
	}
}
