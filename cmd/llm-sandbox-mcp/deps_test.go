package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//go:generate go test -run=^TestLinkedPackages$ -update .

var update = flag.Bool("update", false, "rewrite deps.txt")

const module = "github.com/llm-sandbox-mcp/llm-sandbox-mcp"

// A layer says what a package may depend on, directly or through others. Names without a dot in their
// first element are packages of this module or of the standard library; a name ending in /... stands
// for everything below it as well.
type layer struct {
	of string
	// only lists all that is allowed beside the standard library and the packages of "of" itself; nil
	// allows everything that never does not name.
	only  []string
	never []string
	why   string
}

var (
	aboveDrivers = []string{"internal/mcp/...", "internal/engine/...", "internal/lang/...", "internal/artifact/...",
		"internal/config", "github.com/modelcontextprotocol/..."}
	drivers = []string{"internal/backend/native/...", "internal/backend/jail/...", "internal/backend/docker",
		"internal/backend/container/...", "internal/backend/launch", "internal/backend/fake",
		"internal/backend/backendtest", "internal/backend/all"}
)

var layers = []layer{
	{of: "internal/backend", only: []string{},
		why: "the contract is what drivers, tests and engine agree on; it must cost nothing to import"},
	{of: "internal/lang/...", only: []string{},
		why: "languages are data and pure functions; they run in tests without a sandbox"},
	{of: "internal/artifact/...", only: []string{"golang.org/x/image/..."},
		why: "reading untrusted files must not depend on where they came from"},
	{of: "internal/config", only: []string{"github.com/kelseyhightower/envconfig"},
		why: "settings know no backend and no language, so that every package can be built without them"},
	{of: "internal/agent/...", never: append(slices.Clone(drivers), aboveDrivers...),
		why: "the agent runs inside sandboxes of every backend"},
	{of: "internal/backend/docker", never: []string{"internal/backend/native/...", "internal/backend/jail/..."},
		why: "no driver depends on another"},
	{of: "internal/backend/native/...", never: []string{"internal/backend/docker", "internal/backend/container/..."},
		why: "no driver depends on another"},
	{of: "internal/backend/container/...", only: []string{"github.com/Microsoft/go-winio/..."},
		why: "what it links is initialised in every process of the binary, see docs/adr/0009-client-for-engines.md"},
	{of: "internal/backend/...", never: aboveDrivers,
		why: "a driver starts the agent in isolation; it knows neither languages nor requests"},
	{of: "internal/engine/...", never: append(slices.Clone(drivers), "internal/mcp/...", "internal/config",
		"github.com/modelcontextprotocol/..."),
		why: "the engine runs the same on every backend and below every front end"},
	{of: "internal/mcp/...", never: append(slices.Clone(drivers), "internal/config"),
		why: "tools decide nothing about execution"},
	{of: "internal/backend/native/stage", never: []string{"encoding/json", "log/slog", "net/http", "os/exec", "regexp",
		"crypto/tls"},
		why: "it is initialised in every sandbox before anything else; each package costs start-up time"},
	{of: "cmd/llm-sandbox-mcp", never: []string{"testing", "expvar", "net/http/pprof", "internal/backend/fake",
		"internal/backend/backendtest"},
		why: "users run it"},
}

func TestLayers(t *testing.T) {
	t.Parallel()
	deps := dependencies(t)
	for _, l := range layers {
		t.Run(l.of, func(t *testing.T) {
			t.Parallel()
			for _, pkg := range slices.Sorted(maps.Keys(deps)) {
				if !matches(pkg, l.of) {
					continue
				}
				for _, dep := range deps[pkg] {
					if l.forbids(dep) {
						t.Errorf("%s depends on %s, which must not be: %s", short(pkg), short(dep), l.why)
					}
				}
			}
		})
	}
}

func (l layer) forbids(dep string) bool {
	first, _, _ := strings.Cut(dep, "/")
	standard := !strings.Contains(first, ".")
	in := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return matches(dep, p) })
	}
	if l.only != nil {
		return !standard && !matches(dep, l.of) && !in(l.only)
	}
	return in(l.never)
}

// matches reports whether a package has the name of a layer's notation.
func matches(pkg, pattern string) bool {
	pkg = short(pkg)
	tree, below := strings.CutSuffix(pattern, "/...")
	return pkg == tree || below && strings.HasPrefix(pkg, tree+"/")
}

func short(pkg string) string { return strings.TrimPrefix(pkg, module+"/") }

// dependencies returns the packages of this module with all that they link.
func dependencies(t *testing.T) map[string][]string {
	t.Helper()
	deps := map[string][]string{}
	for _, p := range list(t, "ImportPath,Deps", "../../...") {
		deps[p.ImportPath] = p.Deps
	}
	if len(deps) < 5 {
		t.Fatalf("go list knows only %d packages", len(deps))
	}
	return deps
}

// TestLinkedPackages shows in a diff of deps.txt what a change pulls into the binary.
func TestLinkedPackages(t *testing.T) {
	t.Parallel()
	var linked []string
	for _, p := range list(t, "ImportPath,Standard", "-deps", ".") {
		if !p.Standard {
			linked = append(linked, short(p.ImportPath))
		}
	}
	slices.Sort(linked)
	got := strings.Join(linked, "\n") + "\n"
	if *update {
		if err := os.WriteFile("deps.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("deps.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the binary links other packages than deps.txt lists; \"make generate\" writes it (-want +got):\n%s", diff)
	}
}

func TestPackageComments(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "ImportPath,Doc,GoFiles", "../../...") {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment: one sentence that says what it is responsible for", short(p.ImportPath))
		}
	}
}

type listed struct {
	ImportPath, Doc string
	Standard        bool
	Deps, GoFiles   []string
}

// list runs go list for the platform and the flags that releases are built with.
func list(t *testing.T, fields string, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=" + fields}, args...)...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
