package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/kelseyhightower/envconfig"
)

// A Group is a heading under which variables are documented.
type Group string

// The groups, in the order of the documentation.
const (
	GroupGeneral   Group = "General"
	GroupLimits    Group = "Limits of a sandbox"
	GroupIsolation Group = "Isolation"
	GroupCalls     Group = "Calls"
	GroupResults   Group = "Results"
	GroupEngines   Group = "Container engines and clusters"
)

// A Variable is one environment variable as users read about it.
type Variable struct {
	Name string
	// Default is the value that counts when the variable is not set, or in words what is taken then.
	Default string
	// Accepts is the form of a value.
	Accepts string
	// Meaning is a phrase or two.
	Meaning string
	Group   Group
}

// Variables lists every variable that [Load] reads. It is the source of the tables in README.md and
// docs/configuration.md.
func Variables() []Variable {
	rows := variables()
	list := make([]Variable, len(rows))
	for i, row := range rows {
		list[i] = row.Variable
		list[i].Accepts = row.into(&Config{}).accepts()
	}
	return list
}

// A row is a variable and how its value gets into the Config.
//
// To add a setting, add a field to [Config] and a row here, then run "make generate".
type row struct {
	Variable
	into func(*Config) decoder
	// derived says that Default is a description, and that derive computes the value.
	derived bool
	// lenient makes a value that cannot be decoded a warning, and the value false.
	lenient bool
	// loses names the variable that wins over this one.
	loses string
	// member is set in a row whose Name ends in a placeholder, and gives the decoder of the variable that
	// has something else in its place.
	member func(c *Config, instead string) decoder
}

// placeholder stands for the name of a language.
const placeholder = "<LANGUAGE>"

// members adds to the rows one for each variable of env that a placeholder stands for.
func members(rows []row, env map[string]string) []row {
	all := slices.Clone(rows)
	for _, r := range rows {
		prefix, family := strings.CutSuffix(r.Name, placeholder)
		for _, name := range slices.Sorted(maps.Keys(env)) {
			instead, ok := strings.CutPrefix(name, prefix)
			if !family || !ok || instead == "" || slices.ContainsFunc(rows, func(r row) bool { return r.Name == name }) {
				continue
			}
			one := r
			one.Name = name
			one.into = func(c *Config) decoder { return r.member(c, instead) }
			all = append(all, one)
		}
	}
	return all
}

// problem says that the variable cannot have the value.
func (r row) problem(value string, err error) *Error {
	return &Error{Variable: r.Name, Value: redact(r.Name, value), Reason: err.Error()}
}

// A decoder stores a value. Its error reads "must …".
//
// envconfig.Process is not used: it stops at the first bad value, has no rule for blank ones and reads
// the process environment, so that a test of it cannot run beside another.
type decoder interface {
	envconfig.Decoder
	accepts() string
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// variables returns all rows: general ones first, then one function per subject.
func variables() []row {
	rows := []row{
		{Variable: Variable{Name: "BACKEND", Default: "auto", Group: GroupGeneral,
			Meaning: "The backend that runs code. `auto` takes the first of those in this build that works here."},
			into: func(c *Config) decoder { return word{into: &c.Backend} }},
		{Variable: Variable{Name: "SANDBOX_LOG_LEVEL", Default: "info", Group: GroupGeneral,
			Meaning: "The least severe messages that are logged to stderr."},
			into: func(c *Config) decoder { return level{&c.LogLevel} }},
		{Variable: Variable{Name: "SANDBOX_LOG_FORMAT", Default: "text", Group: GroupGeneral,
			Meaning: "The form of log lines."},
			into: func(c *Config) decoder { return word{into: &c.LogFormat, of: []string{"text", "json"}} }},
		{Variable: Variable{Name: "SANDBOX_CACHE_DIR", Default: "the user's cache directory", Group: GroupGeneral,
			Meaning: "Where is kept what is built once and used by many calls. Without a home directory: a private one below the temporary directory."},
			derived: true,
			into:    func(c *Config) decoder { return path{&c.CacheDir} }},
	}
	rows = append(rows, limitVariables()...)
	rows = append(rows, isolationVariables()...)
	rows = append(rows, callVariables()...)
	rows = append(rows, resultVariables()...)
	return append(rows, engineVariables()...)
}

func limitVariables() []row {
	// 6 MiB is the least that Docker accepts.
	memory := func(c *Config) decoder { return size{into: &c.Limits.Memory, min: 6 * mib, zero: true} }
	return []row{
		{Variable: Variable{Name: "SANDBOX_MEM_LIMIT", Group: GroupLimits,
			Meaning: "The reference's other name of `SANDBOX_MEMORY`; wins over it."},
			into: memory},
		{Variable: Variable{Name: "SANDBOX_MEMORY", Default: "2g", Group: GroupLimits,
			Meaning: "Memory, swap and temporary files included."},
			into: memory, loses: "SANDBOX_MEM_LIMIT"},
		{Variable: Variable{Name: "SANDBOX_CPU_COUNT", Group: GroupLimits,
			Meaning: "Processors, whole ones only; wins over `SANDBOX_CPUS`. Without either there is no limit."},
			into: func(c *Config) decoder { return cpus{into: &c.Limits.MilliCPUs, whole: true} }},
		{Variable: Variable{Name: "SANDBOX_CPUS", Group: GroupLimits,
			Meaning: "Processors, also parts of one."},
			into: func(c *Config) decoder { return cpus{into: &c.Limits.MilliCPUs} }, loses: "SANDBOX_CPU_COUNT"},
		{Variable: Variable{Name: "SANDBOX_PIDS_LIMIT", Default: "512", Group: GroupLimits,
			Meaning: "Processes and threads together."},
			into: func(c *Config) decoder {
				return count[int64]{into: &c.Limits.Processes, min: 8, max: 1 << 22, zero: true}
			}},
		{Variable: Variable{Name: "SANDBOX_DISK_LIMIT", Default: "1g", Group: GroupLimits,
			Meaning: "All files that a call writes, together."},
			into: func(c *Config) decoder { return size{into: &c.Limits.Disk, min: mib, zero: true} }},
		{Variable: Variable{Name: "SANDBOX_FILE_SIZE_LIMIT", Default: "as `SANDBOX_DISK_LIMIT`", Group: GroupLimits,
			Meaning: "The largest single file."},
			derived: true,
			into:    func(c *Config) decoder { return size{into: &c.Limits.FileSize, min: mib, zero: true} }},
		{Variable: Variable{Name: "SANDBOX_OPEN_FILES", Default: "4096", Group: GroupLimits,
			Meaning: "Open files of one process, at most the host's own hard limit."},
			into: func(c *Config) decoder { return count[int64]{into: &c.Limits.OpenFiles, min: 64, max: 1 << 20} }},
	}
}

func isolationVariables() []row {
	return []row{
		{Variable: Variable{Name: "SANDBOX_NETWORK_MODE", Default: "none", Group: GroupIsolation,
			Meaning: "`none` is loopback only. A backend that cannot give another network refuses it."},
			into: func(c *Config) decoder { return text{&c.Isolation.Network, "`none`, `host` or the name of a network"} }},
		{Variable: Variable{Name: "SANDBOX_READ_ONLY", Default: "true", Group: GroupIsolation,
			Meaning: "A read-only root file system; the working directory, `/tmp` and `$HOME` stay writable."},
			into: func(c *Config) decoder { return flag{&c.Isolation.ReadOnly} }},
		{Variable: Variable{Name: "SANDBOX_PRIVILEGED", Default: "false", Group: GroupIsolation,
			Meaning: "A container without isolation. Refused by `native`."},
			into: func(c *Config) decoder { return flag{&c.Isolation.Privileged} }},
		{Variable: Variable{Name: "SANDBOX_CAP_DROP", Default: "ALL", Group: GroupIsolation,
			Meaning: "Capabilities that programs lose. On `native` they never have any."},
			into: func(c *Config) decoder { return capabilities{&c.Isolation.CapDrop} }},
		{Variable: Variable{Name: "SANDBOX_SECURITY_OPT", Default: "no-new-privileges:true", Group: GroupIsolation,
			Meaning: "Security options of the engine. On `native` `no-new-privileges` is always on and anything else is refused."},
			into: func(c *Config) decoder { return securityOpts{&c.Isolation.SecurityOpts} }},
	}
}

func callVariables() []row {
	return []row{
		{Variable: Variable{Name: "SANDBOX_TIMEOUT", Default: "30s", Group: GroupCalls,
			Meaning: "Time for compiling and running when a call gives none."},
			into: func(c *Config) decoder { return duration{into: &c.Timeout} }},
		{Variable: Variable{Name: "SANDBOX_MAX_TIMEOUT", Default: "10m", Group: GroupCalls,
			Meaning: "The longest time that a call may ask for."},
			into: func(c *Config) decoder { return duration{into: &c.MaxTimeout} }},
		{Variable: Variable{Name: "SANDBOX_MAX_CONCURRENT", Default: "16", Group: GroupCalls,
			Meaning: "Calls that run at once; others wait."},
			into: func(c *Config) decoder { return count[int]{into: &c.MaxConcurrent, min: 1, max: 4096} }},
		{Variable: Variable{Name: "SANDBOX_QUEUE_TIMEOUT", Default: "60s", Group: GroupCalls,
			Meaning: "How long a call waits for its turn before it is answered that the server is busy."},
			into: func(c *Config) decoder { return duration{into: &c.QueueTimeout, zero: true} }},
		{Variable: Variable{Name: "SANDBOX_MAX_MESSAGE", Default: "32m", Group: GroupCalls,
			Meaning: "The longest message accepted from the client."},
			into: func(c *Config) decoder { return size{into: &c.MaxMessage, min: 64 * kib, max: gib} }},
		{Variable: Variable{Name: "SANDBOX_EOF_GRACE", Default: "4s", Group: GroupCalls,
			Meaning: "How long calls may go on after the client closed its end, before they are killed."},
			into: func(c *Config) decoder { return duration{into: &c.EOFGrace, zero: true} }},
	}
}

func resultVariables() []row {
	return []row{
		{Variable: Variable{Name: "SANDBOX_OUTPUT_LIMIT", Default: "256k", Group: GroupResults,
			Meaning: "What is returned of stdout and of stderr, each: three quarters from the beginning, one from the end."},
			into: func(c *Config) decoder { return size{into: &c.Output.Head, min: kib, max: gib} }},
		{Variable: Variable{Name: "SANDBOX_OUTPUT_KILL", Default: "128m", Group: GroupResults,
			Meaning: "A program that wrote more than this is killed."},
			into: func(c *Config) decoder { return size{into: &c.Output.Kill, min: kib, zero: true} }},
		{Variable: Variable{Name: "SANDBOX_ARTIFACT_INLINE", Default: "700k", Group: GroupResults,
			Meaning: "Pictures and files that travel in the result, all together; what is larger becomes a link. 0: links only."},
			into: func(c *Config) decoder { return size{into: &c.Artifacts.Inline, max: gib, zero: true} }},
		{Variable: Variable{Name: "SANDBOX_IMAGE_MAX_SIDE", Default: "2000", Group: GroupResults,
			Meaning: "Pixels of an image's longer side; larger images are scaled down."},
			into: func(c *Config) decoder { return count[int]{into: &c.Artifacts.Side, min: 64, max: 1 << 16} }},
		{Variable: Variable{Name: "SANDBOX_ARTIFACT_MAX_FILE", Default: "20m", Group: GroupResults,
			Meaning: "The largest file that is taken from a sandbox."},
			into: func(c *Config) decoder { return size{into: &c.Artifacts.File, min: kib, max: gib} }},
		{Variable: Variable{Name: "SANDBOX_ARTIFACT_MAX_TOTAL", Default: "64m", Group: GroupResults,
			Meaning: "All files that are taken from one call, together."},
			into: func(c *Config) decoder { return size{into: &c.Artifacts.Total, min: kib, max: gib} }},
		{Variable: Variable{Name: "SANDBOX_ARTIFACT_MAX_COUNT", Default: "50", Group: GroupResults,
			Meaning: "The number of files that are taken from one call."},
			into: func(c *Config) decoder { return count[int]{into: &c.Artifacts.Count, min: 1, max: 10000} }},
	}
}

// engineVariables are those of the reference that only container engines and clusters have a use for.
func engineVariables() []row {
	engine := func(name, value, meaning string, into func(*Config) decoder) row {
		return row{Variable: Variable{Name: name, Default: value, Meaning: meaning, Group: GroupEngines}, into: into}
	}
	rows := []row{
		engine("DOCKER_HOST", "", "Where Docker listens.",
			func(c *Config) decoder { return address{into: &c.Engines.Docker.Host} }),
		engine("DOCKER_TLS_VERIFY", "", "Whether Docker's certificate is checked.",
			func(c *Config) decoder { return text{&c.Engines.Docker.TLSVerify, "anything"} }),
		engine("DOCKER_CERT_PATH", "", "The directory of the certificates for Docker.",
			func(c *Config) decoder { return text{&c.Engines.Docker.CertPath, "a path"} }),
		engine("DOCKER_CONTEXT", "", "The context of Docker's client to use; `DOCKER_HOST` wins over it. Without either, the current one.",
			func(c *Config) decoder { return text{&c.Engines.DockerContext, "a name"} }),
		engine("DOCKER_CONFIG", "", "The directory of the files of Docker's client, instead of `~/.docker`.",
			func(c *Config) decoder { return text{&c.Engines.DockerConfig, "a path"} }),
		engine("DOCKER_API_VERSION", "", "The version of Docker's API to speak, such as 1.41. Without it, the newest that both know.",
			func(c *Config) decoder { return text{&c.Engines.DockerAPI, "a version"} }),
		engine("CONTAINER_HOST", "", "Where Podman listens; wins over `DOCKER_HOST`.",
			func(c *Config) decoder { return address{into: &c.Engines.Podman.Host} }),
		engine("CONTAINER_TLS_VERIFY", "", "Whether Podman's certificate is checked; wins over `DOCKER_TLS_VERIFY`.",
			func(c *Config) decoder { return text{&c.Engines.Podman.TLSVerify, "anything"} }),
		engine("CONTAINER_CERT_PATH", "", "The directory of the certificates for Podman; wins over `DOCKER_CERT_PATH`.",
			func(c *Config) decoder { return text{&c.Engines.Podman.CertPath, "a path"} }),
		engine("KUBECONFIG", "", "The configuration of the cluster.",
			func(c *Config) decoder { return text{&c.Engines.Kubeconfig, "a path"} }),
		engine("NAMESPACE", "default", "The namespace for pods.",
			func(c *Config) decoder { return text{&c.Engines.Namespace, "a name"} }),
		engine("COMMIT_CONTAINER", "false", "Keep what a call changed as an image.",
			func(c *Config) decoder { return flag{&c.Engines.CommitContainer} }),
		engine("KEEP_TEMPLATE", "true", "Keep images that were pulled or built.",
			func(c *Config) decoder { return flag{&c.Engines.KeepTemplate} }),
		engine("R_REPO", "https://cran.rstudio.com/", "The repository for R packages.",
			func(c *Config) decoder {
				return address{into: &c.Engines.RRepo, schemes: []string{"http", "https", "file"}}
			}),
	}
	rows = append(rows, row{
		Variable: Variable{Name: "SANDBOX_IMAGE_" + placeholder, Default: "the official image of the language", Group: GroupEngines,
			Meaning: "The container image for a language, as in `SANDBOX_IMAGE_PYTHON=python:3.13-slim`."},
		derived: true,
		into:    func(*Config) decoder { return text{new(string), "the name of an image"} },
		member: func(c *Config, instead string) decoder {
			return image{into: &c.Engines.Images, language: strings.ToLower(instead)}
		},
	})
	for i := range rows {
		// The reference takes every word that it does not know as false.
		rows[i].lenient = rows[i].Name == "COMMIT_CONTAINER" || rows[i].Name == "KEEP_TEMPLATE"
	}
	return rows
}
