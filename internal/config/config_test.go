package config_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/config"
)

// load fails the test on an error.
func load(t *testing.T, environ ...string) (*config.Config, []config.Warning) {
	t.Helper()
	c, warnings, err := config.Load(environ)
	if err != nil {
		t.Fatalf("Load(%q): %v", environ, err)
	}
	return c, warnings
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, warnings := load(t)
	if len(warnings) > 0 {
		t.Errorf("warnings about an empty environment: %v", warnings)
	}
	want := struct {
		Backend string
		Limits  config.Limits
		Output  config.Output
		Files   config.Artifacts
		Times   []time.Duration
		Calls   int
		Message int64
	}{
		"auto",
		config.Limits{Memory: 2 << 30, Processes: 512, Disk: 1 << 30, FileSize: 1 << 30, OpenFiles: 4096},
		config.Output{Head: 192 << 10, Tail: 64 << 10, Kill: 128 << 20},
		config.Artifacts{Inline: 700 << 10, Side: 2000, File: 20 << 20, Total: 64 << 20, Count: 50},
		[]time.Duration{30 * time.Second, 10 * time.Minute, time.Minute, 4 * time.Second},
		16,
		32 << 20,
	}
	got := want
	got.Backend, got.Limits, got.Output, got.Files = c.Backend, c.Limits, c.Output, c.Artifacts
	got.Times = []time.Duration{c.Timeout, c.MaxTimeout, c.QueueTimeout, c.EOFGrace}
	got.Calls, got.Message = c.MaxConcurrent, c.MaxMessage
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	isolation := config.Isolation{
		Network: "none", ReadOnly: true, CapDrop: []string{"ALL"},
		SecurityOpts: []config.SecurityOpt{{Name: "no-new-privileges", Value: "true"}},
	}
	if diff := cmp.Diff(isolation, c.Isolation); diff != "" {
		t.Errorf("isolation (-want +got):\n%s", diff)
	}
	engines := config.Engines{Namespace: "default", KeepTemplate: true, RRepo: "https://cran.rstudio.com/"}
	if diff := cmp.Diff(engines, c.Engines); diff != "" {
		t.Errorf("engines (-want +got):\n%s", diff)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	memory := func(c *config.Config) any { return c.Limits.Memory }
	cpus := func(c *config.Config) any { return c.Limits.MilliCPUs }
	timeout := func(c *config.Config) any { return c.Timeout }
	opts := func(c *config.Config) any { return c.Isolation.SecurityOpts }
	for _, test := range []struct {
		environ string
		get     func(*config.Config) any
		want    any
	}{
		{"BACKEND= Native ", func(c *config.Config) any { return c.Backend }, "native"},
		{"BACKEND=", func(c *config.Config) any { return c.Backend }, "auto"},
		{"SANDBOX_MEMORY=  ", memory, int64(2 << 30)},
		{"SANDBOX_MEMORY=0", memory, int64(0)},
		{"SANDBOX_MEMORY=67108864", memory, int64(64 << 20)},
		{"SANDBOX_MEMORY=67108864b", memory, int64(64 << 20)},
		{"SANDBOX_MEMORY=65536k", memory, int64(64 << 20)},
		{"SANDBOX_MEMORY=65536KB", memory, int64(64 << 20)},
		{"SANDBOX_MEMORY=65536KiB", memory, int64(64 << 20)},
		{"SANDBOX_MEMORY=256m", memory, int64(256 << 20)},
		{"SANDBOX_MEMORY=256mb", memory, int64(256 << 20)},
		{"SANDBOX_MEMORY=256 MiB", memory, int64(256 << 20)},
		{"SANDBOX_MEMORY=1.5g", memory, int64(1536 << 20)},
		{"SANDBOX_MEMORY=1gib", memory, int64(1 << 30)},
		{"SANDBOX_MEMORY=1T", memory, int64(1 << 40)},
		{"SANDBOX_MEM_LIMIT=1g", memory, int64(1 << 30)},
		{"SANDBOX_MEM_LIMIT=1g SANDBOX_MEMORY=2g", memory, int64(1 << 30)},
		{"SANDBOX_MEM_LIMIT=1g SANDBOX_MEMORY=lots", memory, int64(1 << 30)},
		{"SANDBOX_MEM_LIMIT= SANDBOX_MEMORY=512m", memory, int64(512 << 20)},
		{"SANDBOX_CPU_COUNT=2", cpus, int64(2000)},
		{"SANDBOX_CPU_COUNT=2.0", cpus, int64(2000)},
		{"SANDBOX_CPUS=0.5", cpus, int64(500)},
		{"SANDBOX_CPUS=0.29", cpus, int64(290)},
		{"SANDBOX_CPUS=.01", cpus, int64(10)},
		{"SANDBOX_CPUS=1e3", cpus, int64(1000000)},
		{"SANDBOX_CPU_COUNT=1 SANDBOX_CPUS=0.5", cpus, int64(1000)},
		{"SANDBOX_CPU_COUNT= SANDBOX_CPUS=0.5", cpus, int64(500)},
		{"SANDBOX_TIMEOUT=45", timeout, 45 * time.Second},
		{"SANDBOX_TIMEOUT=0.5", timeout, 500 * time.Millisecond},
		{"SANDBOX_TIMEOUT=45s", timeout, 45 * time.Second},
		{"SANDBOX_TIMEOUT=2m", timeout, 2 * time.Minute},
		{"SANDBOX_TIMEOUT=1h SANDBOX_MAX_TIMEOUT=2h", timeout, time.Hour},
		{"SANDBOX_MAX_TIMEOUT=20", timeout, 20 * time.Second},
		{"SANDBOX_QUEUE_TIMEOUT=0", func(c *config.Config) any { return c.QueueTimeout }, time.Duration(0)},
		{"SANDBOX_READ_ONLY= TRUE ", func(c *config.Config) any { return c.Isolation.ReadOnly }, true},
		{"SANDBOX_READ_ONLY=off", func(c *config.Config) any { return c.Isolation.ReadOnly }, false},
		{"SANDBOX_PRIVILEGED=Yes", func(c *config.Config) any { return c.Isolation.Privileged }, true},
		{"SANDBOX_NETWORK_MODE= bridge ", func(c *config.Config) any { return c.Isolation.Network }, "bridge"},
		{"SANDBOX_NETWORK_MODE=", func(c *config.Config) any { return c.Isolation.Network }, "none"},
		{"SANDBOX_CAP_DROP=cap_net_raw, ,CHOWN,", func(c *config.Config) any { return c.Isolation.CapDrop }, []string{"NET_RAW", "CHOWN"}},
		{"SANDBOX_SECURITY_OPT=no-new-privileges", opts, []config.SecurityOpt{{Name: "no-new-privileges"}}},
		{"SANDBOX_SECURITY_OPT=no-new-privileges:true,seccomp=unconfined", opts,
			[]config.SecurityOpt{{Name: "no-new-privileges", Value: "true"}, {Name: "seccomp", Value: "unconfined"}}},
		{"SANDBOX_SECURITY_OPT=label=type:svirt_t", opts, []config.SecurityOpt{{Name: "label", Value: "type:svirt_t"}}},
		{"SANDBOX_DISK_LIMIT=64m", func(c *config.Config) any { return c.Limits.FileSize }, int64(64 << 20)},
		{"SANDBOX_DISK_LIMIT=64m SANDBOX_FILE_SIZE_LIMIT=8m", func(c *config.Config) any { return c.Limits.FileSize }, int64(8 << 20)},
		{"SANDBOX_OUTPUT_LIMIT=4k", func(c *config.Config) any { return c.Output }, config.Output{Head: 3 << 10, Tail: 1 << 10, Kill: 128 << 20}},
		{"SANDBOX_OUTPUT_KILL=0", func(c *config.Config) any { return c.Output.Kill }, int64(0)},
		{"SANDBOX_IMAGE_PYTHON= python:3.13 SANDBOX_IMAGE_R=r-base:4 SANDBOX_IMAGE_MAX_SIDE=100",
			func(c *config.Config) any { return c.Engines.Images }, map[string]string{"python": "python:3.13", "r": "r-base:4"}},
		{"SANDBOX_IMAGE_PYTHON=", func(c *config.Config) any { return len(c.Engines.Images) }, 0},
		{"DOCKER_CONTEXT=work", func(c *config.Config) any { return c.Engines.DockerContext }, "work"},
		{"XDG_RUNTIME_DIR=/run/user/7", func(c *config.Config) any { return c.Host.RuntimeDir }, "/run/user/7"},
		{"SANDBOX_LOG_LEVEL=DEBUG", func(c *config.Config) any { return c.LogLevel }, slog.LevelDebug},
		{"SANDBOX_LOG_FORMAT=JSON", func(c *config.Config) any { return c.LogFormat }, "json"},
		{"SANDBOX_CACHE_DIR=/var/cache/x/", func(c *config.Config) any { return c.CacheDir }, "/var/cache/x"},
		{"COMMIT_CONTAINER=YES", func(c *config.Config) any { return c.Engines.CommitContainer }, true},
		{"COMMIT_CONTAINER=maybe", func(c *config.Config) any { return c.Engines.CommitContainer }, false},
		{"KEEP_TEMPLATE=maybe", func(c *config.Config) any { return c.Engines.KeepTemplate }, false},
		{"NAMESPACE=team", func(c *config.Config) any { return c.Engines.Namespace }, "team"},
		{"DOCKER_HOST=unix:///d", func(c *config.Config) any { return c.Engines.Podman.Host.Reveal() }, "unix:///d"},
		{"DOCKER_HOST=unix:///d CONTAINER_HOST=unix:///p", func(c *config.Config) any { return c.Engines.Podman.Host.Reveal() }, "unix:///p"},
		{"DOCKER_HOST=unix:///d CONTAINER_HOST=unix:///p", func(c *config.Config) any { return c.Engines.Docker.Host.Reveal() }, "unix:///d"},
	} {
		t.Run(test.environ, func(t *testing.T) {
			t.Parallel()
			c, _ := load(t, split(test.environ)...)
			if diff := cmp.Diff(test.want, test.get(c)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// split cuts a line into its assignments; values may hold blanks.
func split(line string) []string {
	var environ []string
	for word := range strings.SplitAfterSeq(line, " ") {
		if strings.Contains(word, "=") && strings.ToUpper(word[:1]) == word[:1] && word[0] != ' ' || len(environ) == 0 {
			environ = append(environ, word)
		} else {
			environ[len(environ)-1] += word
		}
	}
	return environ
}

func TestFirstOfTwoCounts(t *testing.T) {
	t.Parallel()
	c, _ := load(t, "SANDBOX_PIDS_LIMIT=64", "SANDBOX_PIDS_LIMIT=128", "no assignment", "=C:=x")
	if c.Limits.Processes != 64 {
		t.Errorf("processes = %d, want 64", c.Limits.Processes)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	words := "must be one of: true, false, 1, 0, yes, no, on, off"
	for _, test := range []struct{ environ, want string }{
		{"SANDBOX_READ_ONLY=maybe", "SANDBOX_READ_ONLY " + words + ` (it is "maybe")`},
		{"SANDBOX_PRIVILEGED=2", "SANDBOX_PRIVILEGED " + words},
		{"SANDBOX_CPU_COUNT=2.5", "SANDBOX_CPU_COUNT must be a whole number when mapped to cpu_period/cpu_quota"},
		{"SANDBOX_CPU_COUNT=0", "SANDBOX_CPU_COUNT must be greater than 0"},
		{"SANDBOX_CPU_COUNT=abc", "SANDBOX_CPU_COUNT must be a positive number"},
		{"SANDBOX_CPUS=-1", "SANDBOX_CPUS must be greater than 0"},
		{"SANDBOX_CPUS=NaN", "SANDBOX_CPUS must be a positive number"},
		{"SANDBOX_CPUS=Infinity", "SANDBOX_CPUS must be a positive number"},
		{"SANDBOX_CPUS=inf", "SANDBOX_CPUS must be a positive number"},
		{"SANDBOX_CPUS=0x10", "SANDBOX_CPUS must be a positive number"},
		{"SANDBOX_CPUS=0.000001", "SANDBOX_CPUS is too small to translate into cpu_quota"},
		{"SANDBOX_CPUS=0.009", "SANDBOX_CPUS is too small to translate into cpu_quota"},
		{"SANDBOX_CPUS=1e300", "SANDBOX_CPUS must be at most 1e+06"},
		{"SANDBOX_CPUS=1e999", "SANDBOX_CPUS must be a positive number"},
		{"SANDBOX_MEMORY=lots", `(b, k, m, g, t), such as 512m, 1.5g or 64KiB, at least 6m, or 0 (it is "lots")`},
		{"SANDBOX_MEM_LIMIT=6x", "SANDBOX_MEM_LIMIT must be a size"},
		{"SANDBOX_MEMORY=-1", "SANDBOX_MEMORY must be a size"},
		{"SANDBOX_MEMORY=5m", "at least 6m"},
		{"SANDBOX_MEMORY=1ib", "SANDBOX_MEMORY must be a size"},
		{"SANDBOX_MEMORY=g", "SANDBOX_MEMORY must be a size"},
		{"SANDBOX_MEMORY=1bb", "SANDBOX_MEMORY must be a size"},
		{"SANDBOX_MEMORY=NaN", "SANDBOX_MEMORY must be a size"},
		{"SANDBOX_MEMORY=99999999t", "SANDBOX_MEMORY must be a size"},
		{"SANDBOX_PIDS_LIMIT=3", "SANDBOX_PIDS_LIMIT must be a whole number from 8 to 4194304, or 0 for no limit"},
		{"SANDBOX_OPEN_FILES=0", "SANDBOX_OPEN_FILES must be a whole number from 64"},
		{"SANDBOX_MAX_CONCURRENT=0", "SANDBOX_MAX_CONCURRENT must be a whole number from 1 to 4096"},
		{"SANDBOX_MAX_CONCURRENT=99999999999999999999", "SANDBOX_MAX_CONCURRENT must be a whole number"},
		{"SANDBOX_TIMEOUT=0", "SANDBOX_TIMEOUT must be seconds, or a duration such as 1500ms, 30s or 2m, above 0"},
		{"SANDBOX_TIMEOUT=soon", "SANDBOX_TIMEOUT must be seconds"},
		{"SANDBOX_TIMEOUT=-5s", "SANDBOX_TIMEOUT must be seconds"},
		{"SANDBOX_MAX_TIMEOUT=1e30", "SANDBOX_MAX_TIMEOUT must be at most a week"},
		{"SANDBOX_TIMEOUT=900", `SANDBOX_TIMEOUT must be at most SANDBOX_MAX_TIMEOUT, which is 10m0s (it is "900")`},
		{"SANDBOX_EOF_GRACE=-1", "SANDBOX_EOF_GRACE must be seconds, or a duration such as 1500ms, 30s or 2m; 0 for none"},
		{"SANDBOX_MAX_MESSAGE=1k", "SANDBOX_MAX_MESSAGE must be a size"},
		{"SANDBOX_LOG_LEVEL=loud", "SANDBOX_LOG_LEVEL must be one of: debug, info, warn, error"},
		{"SANDBOX_LOG_FORMAT=xml", "SANDBOX_LOG_FORMAT must be one of: text, json"},
		{"SANDBOX_CACHE_DIR=cache", "SANDBOX_CACHE_DIR must be an absolute path"},
		{"R_REPO=cran", "R_REPO must be a URL that begins with http, https, file"},
	} {
		t.Run(test.environ, func(t *testing.T) {
			t.Parallel()
			c, _, err := config.Load([]string{test.environ})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("Load(%q) = %v, want an error with %q", test.environ, err, test.want)
			}
			name, _, _ := strings.Cut(test.environ, "=")
			problem, ok := errors.AsType[*config.Error](err)
			if !ok || problem.Variable != name {
				t.Errorf("error %v is no Error about %s", err, name)
			}
			if strings.Count(err.Error(), "\n") > 0 {
				t.Errorf("one wrong variable gave several problems: %v", err)
			}
			defaults, _ := load(t)
			if name == "SANDBOX_TIMEOUT" && c.Timeout > c.MaxTimeout || c.Limits != defaults.Limits || c.Isolation.ReadOnly != defaults.Isolation.ReadOnly {
				t.Errorf("the wrong value is in use: %+v", c.Limits)
			}
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, _, err := config.Load([]string{"SANDBOX_READ_ONLY=maybe", "SANDBOX_CPUS=-1", "SANDBOX_MEMORY=lots"})
	for _, name := range []string{"SANDBOX_READ_ONLY", "SANDBOX_CPUS", "SANDBOX_MEMORY"} {
		if err == nil || !strings.Contains(err.Error(), name+" ") {
			t.Errorf("%s is not in the error %v", name, err)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		environ string
		want    []string
	}{
		{"SANDBOX_MEMROY=1g", []string{"SANDBOX_MEMROY is not a setting of this server; did you mean SANDBOX_MEMORY?"}},
		{"SANDBOX_TIMEOUTS=1", []string{"SANDBOX_TIMEOUTS is not a setting of this server; did you mean SANDBOX_TIMEOUT?"}},
		{"SANDBOX_ENTIRELY_DIFFERENT=1", []string{"SANDBOX_ENTIRELY_DIFFERENT is not a setting of this server"}},
		{"SANDBOX_TEST_REQUIRE=native", nil},
		{"OTHER=1", nil},
		{"SANDBOX_FOO=", nil},
		{"SANDBOX_MEM_LIMIT=1g SANDBOX_MEMORY=2g", []string{"SANDBOX_MEMORY has no effect: SANDBOX_MEM_LIMIT is set too and wins"}},
		{"SANDBOX_CPU_COUNT=1 SANDBOX_CPUS=2", []string{"SANDBOX_CPUS has no effect: SANDBOX_CPU_COUNT is set too and wins"}},
		{"COMMIT_CONTAINER=maybe", []string{"COMMIT_CONTAINER must be one of: true, false, 1, 0, yes, no, on, off; taken as false"}},
		{"SANDBOX_PIDS_LIMIT=0", []string{"SANDBOX_PIDS_LIMIT is 0: programs run without this limit"}},
		{"SANDBOX_MEM_LIMIT=0", []string{"SANDBOX_MEMORY is 0: programs run without this limit"}},
	} {
		t.Run(test.environ, func(t *testing.T) {
			t.Parallel()
			_, warnings := load(t, split(test.environ)...)
			var got []string
			for _, w := range warnings {
				got = append(got, w.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecretsStayHidden(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	environ := []string{
		"DOCKER_HOST=tcp://user:" + secret + "@engine:2376",
		"CONTAINER_HOST=user:" + secret + "@engine",
		"R_REPO=https://user:" + secret + "@cran.example/?token=" + secret,
		"SANDBOX_NETWORK_MODE=https://" + secret + "@x",
		"SANDBOX_API_KEY=" + secret,
	}
	c, warnings := load(t, environ...)
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logger.Info("settings", "config", c, "host", c.Engines.Docker.Host)
	shown := log.String() + fmt.Sprintf("%v %+v %#v %s", c.Engines, c.Engines, c.Engines, warnings)
	if strings.Contains(shown, secret) {
		t.Errorf("a secret is shown:\n%s", shown)
	}
	if !strings.Contains(log.String(), "engine:2376") {
		t.Errorf("the address is gone altogether:\n%s", log.String())
	}
	if got, want := c.Engines.Docker.Host.Reveal(), "tcp://user:"+secret+"@engine:2376"; got != want {
		t.Errorf("Reveal() = %q, want %q", got, want)
	}
	for _, wrong := range []string{"R_REPO=ftp://me:" + secret + "@cran", "R_REPO=http://me:" + secret + "@%zz", "SANDBOX_LOG_FORMAT=x://" + secret + "@y"} {
		if _, _, err := config.Load([]string{wrong}); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("Load(%q) = %v, want an error without the secret", wrong, err)
		}
	}
}

func TestLongValuesAreCut(t *testing.T) {
	t.Parallel()
	_, _, err := config.Load([]string{"SANDBOX_MEMORY=" + strings.Repeat("ä", 5000)})
	if err == nil || len(err.Error()) > 500 {
		t.Errorf("error of %d bytes", len(fmt.Sprint(err)))
	}
}

func TestSetIn(t *testing.T) {
	t.Parallel()
	c, _ := load(t, "KUBECONFIG=/k", "DOCKER_HOST=unix:///d", "NAMESPACE= ", "SANDBOX_CPUS=1")
	if diff := cmp.Diff([]string{"DOCKER_HOST", "KUBECONFIG"}, c.SetIn(config.GroupEngines)); diff != "" {
		t.Errorf("SetIn (-want +got):\n%s", diff)
	}
	if c.IsSet("SANDBOX_MEMORY") || !c.IsSet("SANDBOX_CPUS") {
		t.Error("IsSet confuses defaults with what was set")
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("BACKEND=foo\nSANDBOX_MEMORY=1.5g\nSANDBOX_CPUS=1e3")
	f.Add("SANDBOX_TIMEOUT=1h\nSANDBOX_SECURITY_OPT=a:b=c,,\nSANDBOX_X=1")
	f.Add("DOCKER_HOST=tcp://u:p@h\nR_REPO=\nSANDBOX_MEM_LIMIT=1e3k")
	for _, v := range config.Variables() {
		f.Add(v.Name + "=-1")
		f.Add(v.Name + "=9e99")
	}
	f.Fuzz(func(t *testing.T, lines string) {
		c, _, err := config.Load(strings.Split(lines, "\n"))
		if c == nil {
			t.Fatal("no Config")
		}
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if name, _, _ := strings.Cut(line, " "); !strings.Contains(lines, name+"=") {
					t.Errorf("the error blames %s, which is not set", name)
				}
			}
		}
		l := c.Limits
		if l.Memory < 0 || l.MilliCPUs < 0 || l.Processes < 0 || l.Disk < 0 || l.FileSize < 0 || l.OpenFiles < 64 {
			t.Errorf("limits out of range: %+v", l)
		}
		if c.Timeout <= 0 || c.Timeout > c.MaxTimeout || c.MaxConcurrent < 1 || c.Output.Head < c.Output.Tail {
			t.Errorf("settings out of range: %v of %v, %d, %+v", c.Timeout, c.MaxTimeout, c.MaxConcurrent, c.Output)
		}
		_ = c.LogValue()
	})
}

// TestImagesAreSettings: a variable for a language is one of its group, is logged, and is no unknown name.
func TestImagesAreSettings(t *testing.T) {
	t.Parallel()
	c, warnings := load(t, "SANDBOX_IMAGE_RUBY=ruby:3", "SANDBOX_IMAGE_=x")
	if len(warnings) != 1 || warnings[0].Variable != "SANDBOX_IMAGE_" {
		t.Errorf("warnings %v, want one about the name without a language", warnings)
	}
	if diff := cmp.Diff([]string{"SANDBOX_IMAGE_RUBY"}, c.SetIn(config.GroupEngines)); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
	if shown := c.LogValue().String(); !strings.Contains(shown, "SANDBOX_IMAGE_RUBY=ruby:3") {
		t.Errorf("logged %s", shown)
	}
	if _, _, err := config.Load([]string{"SANDBOX_IMAGE_GO=two words"}); err == nil || !strings.Contains(err.Error(), "SANDBOX_IMAGE_GO must be the name of an image") {
		t.Errorf("two words: %v", err)
	}
}
