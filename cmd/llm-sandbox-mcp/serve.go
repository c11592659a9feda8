package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/config"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/stdio"
)

const (
	// watchPeriod is how soon a client is missed that has gone without closing the input.
	watchPeriod = 2 * time.Second
	// callsEnd is how long cancelled calls may take to end, and cleanUp how long all of the end may
	// take: a client that waits for the server kills it after five seconds or so.
	callsEnd = 2 * time.Second
	cleanUp  = 4500 * time.Millisecond
	// settleAfter is when the server turns to what the first answer does not need.
	settleAfter = 50 * time.Millisecond
	// keptBytes is the least memory for artifacts behind links.
	keptBytes = 64 << 20
)

// A runner is what a server serves: the engine, with an end.
type runner interface {
	mcp.Engine
	// Close kills what runs and removes every sandbox.
	Close(ctx context.Context) error
}

// serve is the command serve.
func serve(ctx context.Context, args []string, std streams) int {
	return serveWith(ctx, args, std, func(cfg *config.Config, wrong error, log *slog.Logger) runner {
		return newServices(cfg, wrong, log).Engine
	})
}

// serveWith serves one client with what open returns. Settings that cannot be used do not stop the
// server: a client shows its user what a call answers, and hides why a server did not start.
func serveWith(ctx context.Context, args []string, std streams, open func(*config.Config, error, *slog.Logger) runner) int {
	if len(args) > 0 {
		return usageError(std, "serve takes no arguments")
	}
	out, err := stdio.Claim()
	if err != nil {
		fmt.Fprintf(std.err, "llm-sandbox-mcp: %v\n", err)
		return 1
	}
	cfg, warnings, wrong := config.FromOS()
	log := newLogger(std.err, cfg)
	for _, w := range warnings {
		log.Warn(w.String())
	}
	if wrong != nil {
		log.Error("some settings cannot be used; every call will be answered with this", "error", wrong)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	runs := &lazily{open: func() runner {
		// Before this there is nothing that the end of the process could leave behind.
		stopOnSignal(stop, log)
		go stopWithoutClient(ctx, stop, out, log)
		return open(cfg, wrong, log)
	}}

	server := mcp.New(mcp.Options{
		Version:    programVersion(),
		Engine:     runs,
		Timeout:    cfg.Timeout,
		MaxTimeout: cfg.MaxTimeout,
		Network:    cfg.Isolation.Network != string(backend.NetworkNone),
		KeptBytes:  max(keptBytes, 2*cfg.Artifacts.Total),
		Log:        log,
	})
	transport := stdio.New(std.in, out, stdio.Options{
		MaxMessage: cfg.MaxMessage,
		Grace:      cfg.EOFGrace,
		Absent:     mcp.Absent(),
		Log:        log,
	})
	session, err := server.Connect(ctx, transport, nil)
	if err != nil {
		log.Error("connect", "error", err)
		return 1
	}
	defer time.AfterFunc(settleAfter, func() {
		log.Info("serving", "version", programVersion(), "backend", cfg.Backend, "settings", cfg)
		runs.get()
	}).Stop()

	<-transport.Ended() // the SDK now cancels what runs
	return end(ctx, session.Wait, runs, log)
}

// end waits for cancelled calls, removes what is left and returns the exit status. It does not wait
// longer than cleanUp.
func end(ctx context.Context, wait func() error, runs runner, log *slog.Logger) int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	status := 0
	ended := make(chan error, 1)
	go func() { ended <- wait() }()
	patience := time.NewTimer(callsEnd)
	defer patience.Stop()
	select {
	case err := <-ended:
		if err != nil {
			log.Error("connection to the client broke", "error", err)
			status = 1
		}
	case <-patience.C:
		log.Warn("some calls take long to end; removing their sandboxes")
	}
	if err := runs.Close(ctx); err != nil {
		log.Error("clean up", "error", err)
		status = 1
	}
	return status
}

// stopOnSignal arranges for stop to be called at the first signal that asks the server to end. Further
// ones change nothing: what is left to do then is bounded anyway.
func stopOnSignal(stop func(), log *slog.Logger) {
	signals := make(chan os.Signal, 1)
	// SIGPIPE must not end the process when nobody reads standard error any more: there is something
	// to clean up. It is caught and not ignored, because programs that are started inherit the latter.
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		for s := range signals {
			if s != syscall.SIGPIPE {
				log.Info("stopping", "signal", s.String())
				stop()
			}
		}
	}()
}

// stopWithoutClient calls stop when the client has gone without closing the input.
func stopWithoutClient(ctx context.Context, stop func(), out *os.File, log *slog.Logger) {
	if why := stdio.Watch(ctx, watchPeriod, out); why != "" {
		log.Warn("stopping: the client has gone", "why", why)
		stop()
	}
}

// A lazily is a runner that is opened when it is first needed: a client waits for the first answer of
// the server, and that one needs none.
type lazily struct {
	open func() runner

	mu     sync.Mutex
	opened runner
}

func (l *lazily) get() runner {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		l.opened = l.open()
	}
	return l.opened
}

// Execute implements [mcp.Engine].
func (l *lazily) Execute(ctx context.Context, req engine.Request) (*engine.Response, error) {
	return l.get().Execute(ctx, req)
}

// Details implements [mcp.Engine].
func (l *lazily) Details(ctx context.Context, name string) (lang.Details, error) {
	return l.get().Details(ctx, name)
}

// Close implements [runner].
func (l *lazily) Close(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		return nil
	}
	return l.opened.Close(ctx)
}
