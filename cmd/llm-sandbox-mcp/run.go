package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/config"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// Exit statuses of run beside those of the program, as in timeout(1) and env(1).
const (
	exitUsage     = 2   // the command line is wrong
	exitNotRun    = 125 // the program could not be run
	exitCancelled = 130 // interrupted
)

// closeTimeout bounds how long a command waits for its sandboxes to be gone.
const closeTimeout = 5 * time.Second

const runUsage = `Usage: llm-sandbox-mcp run [-lang L] [-timeout D] [-out DIR] FILE|-

Runs a program in a sandbox, with the settings of the server. Its output and its exit status are those
of this command; its standard input is passed on, unless the program itself comes from there (-).
Pictures and files that it makes are put into DIR.

The exit status is 124 if the time was up, 125 if the program could not be run, 130 if interrupted.

`

// streams are the standard streams of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run is the command run. It returns the exit status of the program.
func run(ctx context.Context, args []string, std streams) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(std.err)
	flags.Usage = func() {
		fmt.Fprint(std.err, runUsage)
		flags.PrintDefaults()
	}
	language := flags.String("lang", "", "the `language`; without it, that of the file's name or first line")
	timeout := flags.Duration("timeout", 0, "the longest `time` for compiling and running, such as 90s (default SANDBOX_TIMEOUT)")
	out := flags.String("out", "sandbox-artifacts", "the `directory` for pictures and files")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	case flags.NArg() != 1:
		flags.Usage()
		return exitUsage
	}
	req, err := request(flags.Arg(0), *language, std)
	if err != nil {
		return fail(std.err, exitUsage, err)
	}
	req.Timeout = *timeout
	cfg, _, wrong := config.FromOS()
	log := newLogger(std.err, quietly(cfg))
	services := newServices(cfg, wrong, log)
	defer closeServices(ctx, services, log)
	response, err := services.Engine.Execute(ctx, req)
	switch {
	case ctx.Err() != nil:
		return exitCancelled
	case err != nil:
		return fail(std.err, exitNotRun, err)
	}
	if response.Message != "" {
		fmt.Fprintf(std.err, "llm-sandbox-mcp: %s\n", response.Message)
	}
	if err := save(response.Artifacts, *out, std.err); err != nil {
		return fail(std.err, exitNotRun, err)
	}
	return response.ExitCode
}

// fail reports an error and returns the exit status for it.
func fail(w io.Writer, status int, err error) int {
	fmt.Fprintf(w, "llm-sandbox-mcp: %v\n", err)
	return status
}

// quietly keeps what a server logs off a terminal, unless the user asks for it. What went wrong is
// printed anyway.
func quietly(cfg *config.Config) *config.Config {
	if !cfg.IsSet("SANDBOX_LOG_LEVEL") {
		cfg.LogLevel = slog.LevelError
	}
	return cfg
}

// closeServices waits until nothing of the sandboxes is left.
func closeServices(ctx context.Context, s *services, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		log.Error("remove sandboxes", "error", err)
	}
}

// request reads the program.
func request(file, language string, std streams) (engine.Request, error) {
	req := engine.Request{Language: language, Artifacts: true, Stdout: std.out, Stderr: std.err}
	var code []byte
	var err error
	if file == "-" {
		code, err = io.ReadAll(std.in)
	} else {
		code, err = os.ReadFile(file)
		req.Input = std.in
	}
	if err != nil {
		return engine.Request{}, fmt.Errorf("read program: %w", err)
	}
	req.Code = string(code)
	if req.Language == "" {
		req.Language = guessLanguage(file, req.Code)
	}
	if req.Language == "" {
		return engine.Request{}, fmt.Errorf("%s: neither the name nor the first line tells the language; give one with -lang (%s)",
			file, strings.Join(lang.Builtin().Names(), ", "))
	}
	return req, nil
}

// guessLanguage returns the language that the ending of a file's name or the program in its first line
// stands for, or nothing.
func guessLanguage(file, code string) string {
	guesses := []string{strings.TrimPrefix(filepath.Ext(file), ".")}
	if first, ok := strings.CutPrefix(code, "#!"); ok {
		first, _, _ = strings.Cut(first, "\n")
		for word := range strings.FieldsSeq(first) {
			// #!/usr/bin/env -S python3.12 -u
			guesses = append(guesses, strings.TrimRight(path.Base(word), ".0123456789"))
		}
	}
	others := map[string]string{"mjs": "javascript", "cjs": "javascript", "rb": "ruby", "rscript": "r"}
	for _, guess := range guesses {
		guess = strings.ToLower(guess)
		if other, ok := others[guess]; ok {
			guess = other
		}
		if l, err := lang.Builtin().Lookup(guess); err == nil {
			return l.Name
		}
	}
	return ""
}
