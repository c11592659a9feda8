package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/binary"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/all"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/config"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine/environment"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine/limit"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// services are what the commands that run code share.
type services struct {
	Engine *engine.Engine
}

// newServices builds the chain from settings to engine. It starts and probes nothing: that waits for
// the first request. If wrong, which says what is wrong with the settings, is not nil, every request is
// answered with it.
func newServices(cfg *config.Config, wrong error, log *slog.Logger) *services {
	if err := all.Check(cfg.Backend); err != nil {
		log.Warn("no code can be run", "why", err)
	}
	options := engineOptions(cfg, log)
	options.Open = opener(cfg, wrong, log)
	return &services{Engine: engine.New(options)}
}

// engineOptions are what the settings say to the engine, all but the backend.
func engineOptions(cfg *config.Config, log *slog.Logger) engine.Options {
	return engine.Options{
		Catalog:        lang.Builtin(),
		Environments:   environments(cfg, log),
		Gate:           limit.New(cfg.MaxConcurrent, cfg.QueueTimeout),
		Images:         images(cfg, log),
		Limits:         backend.Limits(cfg.Limits),
		Network:        backend.Network(cfg.Isolation.Network),
		DefaultTimeout: cfg.Timeout,
		MaxTimeout:     cfg.MaxTimeout,
		Output:         backend.OutputLimit(cfg.Output),
		Artifacts:      artifactLimits(cfg),
		Logger:         log,
	}
}

// Close kills what runs and removes every sandbox.
func (s *services) Close(ctx context.Context) error { return s.Engine.Close(ctx) }

// opener opens the backend that the settings ask for. It runs no code with settings that are wrong.
func opener(cfg *config.Config, wrong error, log *slog.Logger) func(context.Context) (backend.Backend, error) {
	return func(ctx context.Context) (backend.Backend, error) {
		if wrong != nil {
			return nil, backend.Wrap(backend.ErrInvalid,
				fmt.Errorf("settings: %w; correct the environment of the server and start it again", wrong))
		}
		b, err := all.Open(ctx, cfg.Backend, backendOptions(cfg, log))
		if err != nil {
			return nil, err
		}
		for _, name := range withoutEffect(cfg, b) {
			log.WarnContext(ctx, "setting has no effect on this backend", "variable", name, "backend", b.Name())
		}
		return b, nil
	}
}

// withoutEffect names the variables that were set and that the backend has no use for. They ask for
// nothing that it would have to refuse.
func withoutEffect(cfg *config.Config, b backend.Backend) []string {
	var names []string
	for _, name := range cfg.SetIn(config.GroupEngines) {
		used := b.Name() == "docker" && (strings.HasPrefix(name, "DOCKER_") || strings.HasPrefix(name, "SANDBOX_IMAGE_"))
		if !used {
			names = append(names, name)
		}
	}
	if !cfg.Isolation.ReadOnly && !b.Capabilities().Images {
		names = append(names, "SANDBOX_READ_ONLY") // its root is always read-only
	}
	return names
}

// images are the images that the settings name, by the name of the language.
func images(cfg *config.Config, log *slog.Logger) map[string]string {
	chosen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Engines.Images)) {
		image := cfg.Engines.Images[name]
		language, err := lang.Builtin().Lookup(name)
		if err != nil {
			log.Warn("no such language", "variable", "SANDBOX_IMAGE_"+strings.ToUpper(name), "error", err)
			continue
		}
		chosen[language.Name] = image
	}
	return chosen
}

// environments keeps what languages build once in the cache directory.
func environments(cfg *config.Config, log *slog.Logger) *environment.Store {
	return environment.New(environment.Options{
		Dir:    filepath.Join(cfg.CacheDir, "environments"),
		Parent: cfg.MakeCacheDir,
		Logger: log,
	})
}

func backendOptions(cfg *config.Config, log *slog.Logger) all.Options {
	isolation := all.Isolation{
		Network:    backend.Network(cfg.Isolation.Network),
		ReadOnly:   cfg.Isolation.ReadOnly,
		Privileged: cfg.Isolation.Privileged,
		CapDrop:    cfg.Isolation.CapDrop,
	}
	for _, opt := range cfg.Isolation.SecurityOpts {
		isolation.SecurityOpts = append(isolation.SecurityOpts, all.SecurityOpt(opt))
	}
	docker := cfg.Engines.Docker
	return all.Options{
		Logger: log, Path: cfg.Host.Path, Home: cfg.Host.Home, Isolation: isolation,
		Docker: all.DockerEndpoint{
			Host: docker.Host.Reveal(), TLSVerify: docker.TLSVerify, CertPath: docker.CertPath,
			Context: cfg.Engines.DockerContext, APIVersion: cfg.Engines.DockerAPI, ConfigDir: cfg.Engines.DockerConfig,
			Home: cfg.Host.Home, RuntimeDir: cfg.Host.RuntimeDir,
		},
		Agent: binary.For,
	}
}

// artifactLimits turns "nothing inline" into what package artifact takes for it: there, 0 stands for
// the default.
func artifactLimits(cfg *config.Config) artifact.Limits {
	limits := artifact.Limits(cfg.Artifacts)
	limits.Inline = max(limits.Inline, 1)
	return limits
}

// newLogger returns the logger that the settings ask for.
func newLogger(w io.Writer, cfg *config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
