package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/all"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/config"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

const doctorUsage = `Usage: llm-sandbox-mcp doctor [-json]

Says which backends and languages work on this machine with the current settings, what is enforced, and
how to get what does not work. The exit status is 0 if programs can be run, else 1.

`

// A diagnosis is what doctor finds. Its JSON is for scripts: fields are added, never renamed.
type diagnosis struct {
	Version  string             `json:"version"`
	Platform string             `json:"platform"`
	Settings []string           `json:"settings"`
	Backends []backendDiagnosis `json:"backends"`
	// Backend is the one that runs programs, or empty if none does.
	Backend   string              `json:"backend"`
	wanted    string              // what the settings ask for, or empty if they cannot be used
	Languages []languageDiagnosis `json:"languages"`
	Cache     cacheDiagnosis      `json:"cache"`
}

// A backendDiagnosis is about one backend of this build.
type backendDiagnosis struct {
	Name string `json:"name"`
	// Problem says why it does not work and what to do; empty if it works.
	Problem   string   `json:"problem,omitempty"`
	Isolation string   `json:"isolation,omitempty"`
	Enforced  []string `json:"enforced_limits,omitempty"`
	// Unenforced are limits that the settings ask for and that do not hold, and Why says why.
	Unenforced []string `json:"unenforced_limits,omitempty"`
	Why        string   `json:"why,omitempty"`
	// Cgroups is the version of the control groups that enforce limits.
	Cgroups string `json:"cgroups,omitempty"`
	// Inside is what a program in a sandbox found out about itself.
	Inside []string `json:"inside,omitempty"`
}

// A languageDiagnosis is about one language on the backend in use.
type languageDiagnosis struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Seconds is what a small program took in all.
	Seconds float64 `json:"seconds,omitempty"`
	// Programs are the paths of the runtime; Note says why others were not taken.
	Programs []string `json:"programs,omitempty"`
	Note     string   `json:"note,omitempty"`
	// Missing is the image that has to be downloaded first; empty if it is there or none is needed.
	Missing string `json:"missing_image,omitempty"`
	// Problem says why it does not work and what to do; empty if it works.
	Problem string `json:"problem,omitempty"`
}

// A cacheDiagnosis is about the directory for what outlives the server.
type cacheDiagnosis struct {
	Dir          string `json:"dir"`
	Environments int    `json:"environments"`
	Bytes        int64  `json:"bytes"`
	Problem      string `json:"problem,omitempty"`
}

// doctor is the command doctor.
func doctor(ctx context.Context, args []string, std streams) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	flags := flag.NewFlagSet("doctor", flag.ContinueOnError)
	flags.SetOutput(std.err)
	flags.Usage = func() {
		fmt.Fprint(std.err, doctorUsage)
		flags.PrintDefaults()
	}
	asJSON := flags.Bool("json", false, "print JSON")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	case flags.NArg() != 0:
		flags.Usage()
		return exitUsage
	}
	cfg, warnings, wrong := config.FromOS()
	log := newLogger(std.err, quietly(cfg))
	d := &diagnosis{Version: programVersion(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, w := range warnings {
		d.Settings = append(d.Settings, w.String())
	}
	if wrong != nil {
		d.Settings = append(d.Settings, wrong.Error())
	}
	if err := all.Check(cfg.Backend); err != nil {
		d.Settings = append(d.Settings, err.Error())
	}
	out := io.Discard
	if !*asJSON {
		out = std.out
	}
	if wrong == nil { // else the limits in cfg are not those that were meant
		d.wanted = cfg.Backend
	}
	examine(ctx, d, cfg, log, out)
	if *asJSON {
		e := json.NewEncoder(std.out)
		e.SetIndent("", "  ")
		if err := e.Encode(d); err != nil {
			return fail(std.err, 1, err)
		}
	}
	if ctx.Err() != nil {
		return exitCancelled
	}
	if d.Backend == "" {
		return 1
	}
	return 0
}

// examine fills the diagnosis and prints each part as soon as it is known: some take seconds.
func examine(ctx context.Context, d *diagnosis, cfg *config.Config, log *slog.Logger, out io.Writer) {
	printHead(out, d)
	var used backend.Backend
	for _, name := range all.Names() {
		b, report := examineBackend(ctx, name, cfg, log)
		d.Backends = append(d.Backends, report)
		switch {
		case b == nil:
		case used == nil && (d.wanted == all.Auto || d.wanted == name):
			used, d.Backend = b, name
		default:
			closeBackend(ctx, b, log)
		}
		printBackend(out, report, d)
	}
	if used != nil {
		examineLanguages(ctx, d, used, cfg, log, out)
	}
	d.Cache = examineCache(cfg, log)
	printCache(out, d.Cache)
}

// examineBackend opens a backend and looks at what it enforces. The caller closes it; it is nil if it
// does not work.
func examineBackend(ctx context.Context, name string, cfg *config.Config, log *slog.Logger) (backend.Backend, backendDiagnosis) {
	d := backendDiagnosis{Name: name}
	b, err := all.Open(ctx, name, backendOptions(cfg, log))
	if err != nil {
		d.Problem = err.Error()
		return nil, d
	}
	capabilities := b.Capabilities()
	d.Isolation = capabilities.Isolation
	d.Enforced = enforced(capabilities)
	d.Unenforced = capabilities.Unenforced(backend.Limits(cfg.Limits))
	// What native says about control groups; other backends leave them to their engine.
	if limited, ok := b.(interface {
		Limited() (version, why string, err error)
	}); ok {
		if d.Cgroups, d.Why, err = limited.Limited(); err != nil {
			d.Why = err.Error()
		}
	}
	if d.Inside, err = lookInside(ctx, b); err != nil {
		d.Problem = err.Error()
		closeBackend(ctx, b, log)
		return nil, d
	}
	return b, d
}

// enforced names the limits that hold for a sandbox as a whole, in the words of Unenforced.
func enforced(c backend.Capabilities) []string {
	one := backend.Limits{Memory: 1, MilliCPUs: 1, Processes: 1, Disk: 1, FileSize: 1, OpenFiles: 1}
	not := c.Unenforced(one)
	var names []string
	for _, name := range (backend.Capabilities{}).Unenforced(one) {
		if len(not) > 0 && not[0] == name { // both are in the same order
			not = not[1:]
			continue
		}
		names = append(names, name)
	}
	return names
}

func closeBackend(ctx context.Context, b backend.Backend, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		log.Error("close backend", "backend", b.Name(), "error", err)
	}
}

// examineLanguages runs a program in each language on the backend, which it closes.
func examineLanguages(ctx context.Context, d *diagnosis, b backend.Backend, cfg *config.Config, log *slog.Logger, out io.Writer) {
	options := engineOptions(cfg, log)
	options.Open = func(context.Context) (backend.Backend, error) { return b, nil }
	runs := &services{Engine: engine.New(options)}
	defer closeServices(ctx, runs, log)
	printLanguagesHead(out, d.Backend)
	for _, name := range lang.Builtin().Names() {
		if ctx.Err() != nil {
			return
		}
		language, err := lang.Builtin().Lookup(name)
		if err != nil {
			continue // it is one of the catalogue's own names
		}
		printLanguageName(out, name) // what follows may take a while
		report := languageDiagnosis{Name: name, Missing: missingImage(ctx, b, cmp.Or(options.Images[name], language.Image))}
		if report.Missing == "" {
			report = examineLanguage(ctx, runs.Engine, b, language)
		}
		d.Languages = append(d.Languages, report)
		printLanguage(out, report)
	}
}

// missingImage returns the image if a program would have to wait for its download: a diagnosis is no
// reason to fetch gigabytes.
func missingImage(ctx context.Context, b backend.Backend, image string) string {
	store, ok := b.(backend.ImageStore)
	if !ok {
		return ""
	}
	if has, err := store.HasImage(ctx, image); err != nil || has {
		return "" // an error comes again when the program is run
	}
	return image
}

func examineLanguage(ctx context.Context, e *engine.Engine, b backend.Backend, language *lang.Language) languageDiagnosis {
	d := languageDiagnosis{Name: language.Name}
	if host, ok := b.(backend.HostRuntimes); ok {
		found, err := host.Locate(ctx, backend.Need{Language: language.Name, Programs: language.Programs, Package: language.Package})
		if err != nil {
			d.Problem = err.Error()
			return d
		}
		d.Note = found.Note
		for _, alternatives := range language.Programs {
			d.Programs = append(d.Programs, found.Programs[alternatives[0]])
		}
	}
	began := time.Now()
	response, err := e.Execute(ctx, engine.Request{Language: language.Name, Code: language.Describe()})
	d.Seconds = time.Since(began).Seconds()
	var answer struct{ Version string }
	switch {
	case err != nil:
		d.Problem = err.Error()
	case response.Status != engine.StatusOK:
		d.Problem = fmt.Sprintf("exit code %d in step %s: %s %s", response.ExitCode, response.Step, response.Message, response.Stderr)
	default:
		if err := json.Unmarshal([]byte(response.Stdout), &answer); err != nil {
			d.Problem = fmt.Sprintf("unexpected output %q", response.Stdout)
		}
		d.Version = answer.Version
	}
	return d
}

func examineCache(cfg *config.Config, log *slog.Logger) cacheDiagnosis {
	d := cacheDiagnosis{Dir: cfg.CacheDir}
	err := cfg.MakeCacheDir()
	if err == nil {
		d.Environments, d.Bytes, err = environments(cfg, log).Size()
	}
	if err != nil {
		d.Problem = err.Error()
	}
	return d
}
