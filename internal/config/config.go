// Package config turns environment variables into typed, validated and redacted settings, and knows no
// backend and no language.
package config

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"
)

// Config is every setting of the server. [Variables] names the variable of each field.
type Config struct {
	// Backend is the lower-cased name of a backend, or "auto". Which there are is not known here.
	Backend string

	// Limits bound each sandbox.
	Limits Limits
	// Isolation is what the container engines of the reference let users loosen or tighten.
	Isolation Isolation
	// Timeout bounds a call that names no bound of its own, MaxTimeout bounds every call.
	Timeout, MaxTimeout time.Duration
	// MaxConcurrent is the number of calls that run at once. Others wait up to QueueTimeout.
	MaxConcurrent int
	QueueTimeout  time.Duration

	// Output bounds what a call returns of each output stream.
	Output Output
	// Artifacts bounds the pictures and files a call returns.
	Artifacts Artifacts

	// MaxMessage is the longest line accepted from the client, in bytes.
	MaxMessage int64
	// EOFGrace is how long running calls may go on after the client closed its end.
	EOFGrace time.Duration

	// LogLevel is the least severe level that is logged, LogFormat is "text" or "json".
	LogLevel  slog.Level
	LogFormat string
	// CacheDir is the absolute directory for what outlives the server. It may not exist yet;
	// [Config.MakeCacheDir] makes it.
	CacheDir string

	// Engines is what the clients of container engines and clusters need to know.
	Engines Engines
	// Host is what the environment says about the machine and its user.
	Host Host

	explicit map[string]string // trimmed values of the variables that were set and could be used
	set      []Variable        // those of explicit, in the order of [Variables]
	private  bool              // CacheDir was made up below a directory that others can write to
}

// Limits bound a sandbox; zero means no limit. The type converts to backend.Limits.
type Limits struct {
	// Memory in bytes, swap and temporary files included.
	Memory int64
	// MilliCPUs is processor time in thousandths of one processor.
	MilliCPUs int64
	// Processes counts processes and threads.
	Processes int64
	// Disk is the number of bytes all writable directories hold together.
	Disk int64
	// FileSize is the largest file that can be written, in bytes.
	FileSize int64
	// OpenFiles is per process.
	OpenFiles int64
}

// Isolation is read for every backend. A backend that cannot do what is asked refuses it; none ignores
// it.
type Isolation struct {
	// Network is "none", "host" or the name of an engine's network.
	Network string
	// ReadOnly asks for a read-only root file system.
	ReadOnly bool
	// Privileged asks for a container without isolation.
	Privileged bool
	// CapDrop are capabilities in upper case without CAP_, or "ALL".
	CapDrop []string
	// SecurityOpts are options such as no-new-privileges or seccomp.
	SecurityOpts []SecurityOpt
}

// A SecurityOpt is one option of SANDBOX_SECURITY_OPT, split at its first "=" or ":".
type SecurityOpt struct {
	// Name is in lower case, for example "seccomp".
	Name string
	// Value is empty for an option that is only a name.
	Value string
}

// Output bounds what is kept of each output stream, in bytes. The type converts to
// backend.OutputLimit.
type Output struct {
	// Head and Tail are kept at the beginning and the end.
	Head, Tail int64
	// Kill ends a program that wrote more than that to both streams; zero means never.
	Kill int64
}

// Artifacts bounds the pictures and files of a call. The type converts to artifact.Limits.
type Artifacts struct {
	// Inline is the number of bytes, before base64, that travel in the result itself.
	Inline int64
	// Side is the longest side of an image in pixels.
	Side int
	// File is the largest file taken, Total what all files may have together, in bytes.
	File, Total int64
	// Count is the number of files taken.
	Count int
}

// Engines is what the clients of container engines and clusters need to know.
type Engines struct {
	// Docker and Podman say where the engine listens. Podman's own variables win over Docker's.
	Docker, Podman Remote
	// DockerContext and DockerConfig are the name of a context and the directory with the files of
	// Docker's own client, DockerAPI the version of the API to speak. All may be empty.
	DockerContext, DockerConfig, DockerAPI string
	// Images are the container images that users chose, by the name of the language as they wrote it,
	// in lower case.
	Images map[string]string
	// Kubeconfig is the path of the cluster's configuration, Namespace the namespace for pods.
	Kubeconfig, Namespace string
	// CommitContainer keeps a container's changes as an image, KeepTemplate keeps the images that
	// were pulled or built.
	CommitContainer, KeepTemplate bool
	// RRepo is the package repository for R.
	RRepo URL
}

// A Remote is the address of an engine.
type Remote struct {
	Host      URL
	TLSVerify string
	CertPath  string
}

// FromOS loads the settings from the environment of this process, and is all that reads it.
func FromOS() (*Config, []Warning, error) { return Load(os.Environ()) }

// Load decodes environ, which holds NAME=value pairs. A blank value counts as not set.
//
// The error joins one [*Error] per variable that cannot be used. The Config is there even then, with
// defaults in place of what is wrong, so that a server can start and answer its calls with the error;
// it must not run code with it.
func Load(environ []string) (*Config, []Warning, error) {
	env := parse(environ)
	c := &Config{explicit: map[string]string{}, Host: host(env)}
	rows := members(variables(), env)
	warnings := unknown(env, rows)

	var problems []error
	for _, row := range rows {
		if row.Default != "" && !row.derived {
			if err := row.into(c).Decode(row.Default); err != nil {
				problems = append(problems, row.problem(row.Default, err))
			}
		}
	}
	for _, row := range rows {
		value, set := env[row.Name]
		if !set {
			continue
		}
		if row.loses != "" && env[row.loses] != "" {
			warnings = append(warnings, Warning{row.Name, "has no effect: " + row.loses + " is set too and wins"})
			continue
		}
		switch err := row.into(c).Decode(value); {
		case err == nil:
			c.explicit[row.Name] = value
			c.set = append(c.set, row.Variable)
		case row.lenient && row.into(c).Decode("false") == nil:
			warnings = append(warnings, Warning{row.Name, err.Error() + "; taken as false"})
		default:
			problems = append(problems, row.problem(value, err))
		}
	}
	problems = append(problems, c.derive()...)
	return c, append(warnings, c.loosened()...), errors.Join(problems...)
}

// parse returns the trimmed values of the variables that are not blank. Of several with one name the
// first counts, as in os.Getenv.
func parse(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	seen := make(map[string]bool, len(environ))
	for _, pair := range environ {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || seen[name] {
			continue
		}
		seen[name] = true
		if value = strings.TrimSpace(value); value != "" {
			env[name] = value
		}
	}
	return env
}

// derive fills in what follows from other settings and compares those that belong together.
func (c *Config) derive() []error {
	if !c.IsSet("SANDBOX_FILE_SIZE_LIMIT") {
		c.Limits.FileSize = c.Limits.Disk
	}
	c.Output.Tail = c.Output.Head / 4
	c.Output.Head -= c.Output.Tail
	c.Engines.Podman = c.Engines.Podman.or(c.Engines.Docker)
	if c.CacheDir == "" {
		c.CacheDir, c.private = c.Host.cacheDir()
	}
	if c.Timeout <= c.MaxTimeout {
		return nil
	}
	c.Timeout = c.MaxTimeout
	if !c.IsSet("SANDBOX_TIMEOUT") {
		return nil
	}
	return []error{&Error{
		Variable: "SANDBOX_TIMEOUT",
		Value:    c.explicit["SANDBOX_TIMEOUT"],
		Reason:   "must be at most SANDBOX_MAX_TIMEOUT, which is " + c.MaxTimeout.String(),
	}}
}

// or returns r, with what it leaves open from other.
func (r Remote) or(other Remote) Remote {
	if r.Host == "" {
		r.Host = other.Host
	}
	if r.TLSVerify == "" {
		r.TLSVerify = other.TLSVerify
	}
	if r.CertPath == "" {
		r.CertPath = other.CertPath
	}
	return r
}

// loosened warns of limits that were switched off.
func (c *Config) loosened() []Warning {
	var warnings []Warning
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"SANDBOX_MEMORY", c.Limits.Memory},
		{"SANDBOX_PIDS_LIMIT", c.Limits.Processes},
		{"SANDBOX_DISK_LIMIT", c.Limits.Disk},
		{"SANDBOX_OUTPUT_KILL", c.Output.Kill},
	} {
		if limit.value == 0 {
			warnings = append(warnings, Warning{limit.name, "is 0: programs run without this limit"})
		}
	}
	return warnings
}

// IsSet reports whether the variable had a value that counted: not blank, not wrong and not overruled.
func (c *Config) IsSet(name string) bool {
	_, set := c.explicit[name]
	return set
}

// SetIn returns the variables of a group that were set, in the order of [Variables].
func (c *Config) SetIn(group Group) []string {
	var names []string
	for _, v := range c.set {
		if v.Group == group {
			names = append(names, v.Name)
		}
	}
	return names
}

// LogValue implements [slog.LogValuer]: the variables that were set, without secrets.
func (c *Config) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, v := range c.set {
		attrs = append(attrs, slog.String(v.Name, redact(v.Name, c.explicit[v.Name])))
	}
	return slog.GroupValue(attrs...)
}
