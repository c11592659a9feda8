// Package backendtest is the conformance suite that every driver passes: the same cases against the
// real engine, so that what is above the boundary need not know which driver it has.
package backendtest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// A Suite is the cases for one driver.
type Suite struct {
	// Open returns the driver's backend. The suite closes it.
	Open func(t *testing.T) backend.Backend
	// Spec is what sandboxes are made from. Cases set limits and network themselves. The sandboxes
	// need /bin/sh with the usual small commands, and Python 3. Nil means the zero Spec.
	Spec func(t *testing.T) backend.Spec
	// Python is the interpreter inside the sandbox. Empty means: ask the backend, which must then
	// implement [backend.HostRuntimes].
	Python string
	// Lacks gives the reason why cases with a need are never run on this driver. A need that is missing
	// for another reason, such as a limit that Capabilities deny here, skips a case too, but fails it
	// where SANDBOX_TEST_REQUIRE names the backend.
	Lacks map[Need]string
	// Remote says that the sandboxes do not run on this machine, so that looking for leftovers in its
	// process table proves nothing.
	Remote bool
}

// A Need is something that a case cannot do without.
type Need string

// The needs of the cases.
const (
	// NeedPython is a Python 3 interpreter in the sandbox.
	NeedPython Need = "python"
	// NeedKernel is a sandbox that a kernel runs, as opposed to a simulated one.
	NeedKernel Need = "kernel"
	// NeedIsolation is that the driver promises to separate sandboxes from the host at all.
	NeedIsolation Need = "isolation"
	// NeedJail is that a seccomp filter guards the host's own kernel.
	NeedJail Need = "jail"
	// NeedLocal is that sandboxes are processes of this machine.
	NeedLocal Need = "local"

	// These are what Capabilities say.
	NeedMemory    Need = "memory limit"
	NeedCPU       Need = "cpu limit"
	NeedProcesses Need = "process limit"
	NeedDisk      Need = "disk limit"
	NeedFileSize  Need = "file size limit"
	NeedOpenFiles Need = "open files limit"
	NeedPrefix    Need = "prefix"
)

// A conformanceCase is one case. Needs come on top of a working backend.
type conformanceCase struct {
	name  string
	needs []Need
	run   func(c *check)
}

// Run runs every case as a subtest. Where the backend cannot run at all the test is skipped, or fails
// if SANDBOX_TEST_REQUIRE, a comma-separated list, names the backend.
func (s Suite) Run(t *testing.T) {
	t.Helper()
	b := s.Open(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Errorf("close backend: %v", err)
		}
	})
	if err := b.Probe(t.Context()); err != nil {
		if required(b.Name()) {
			t.Fatalf("%s is required but cannot run here: %v", b.Name(), err)
		}
		t.Skipf("%s cannot run here: %v", b.Name(), err)
	}
	for _, one := range slices.Concat(
		execCases(), streamCases(), killCases(), lifecycleCases(), fileCases(), selectionCases(),
		limitCases(), capabilityCases(), isolationCases(), privilegeCases(), leakCases(),
	) {
		t.Run(one.name, func(t *testing.T) {
			s.runCase(t, b, one)
		})
	}
}

// runCase gives a case its own context, which bounds it.
func (s Suite) runCase(t *testing.T, b backend.Backend, one conformanceCase) {
	t.Helper()
	for _, need := range one.needs {
		if why, lacks := s.Lacks[need]; lacks {
			t.Skipf("needs %s: %s", need, why)
		}
		if why := s.missing(b, need); why != "" {
			if required(b.Name()) {
				t.Fatalf("needs %s: %s; %s is required, and the suite does not say that it lacks this", need, why, b.Name())
			}
			t.Skipf("needs %s: %s", need, why)
		}
	}
	c := newCheck(t, b, 2*time.Minute)
	if s.Spec != nil {
		c.spec = s.Spec(t)
	}
	c.python = s.Python
	if slices.Contains(one.needs, NeedPython) && c.python == "" {
		c.locatePython()
	}
	one.run(c)
}

// missing says why the driver does not have what a case needs, or nothing if it does.
func (s Suite) missing(b backend.Backend, need Need) string {
	caps := b.Capabilities()
	switch need {
	case NeedIsolation:
		return unless(caps.Isolation != "none", "the driver isolates nothing")
	case NeedJail:
		return unless(caps.Isolation == "namespace" || caps.Isolation == "container", "isolation is "+caps.Isolation)
	case NeedLocal:
		return unless(!s.Remote, "the sandboxes are on another machine")
	case NeedMemory:
		return unless(caps.Memory, "the driver does not enforce it")
	case NeedCPU:
		return unless(caps.CPU, "the driver does not enforce it")
	case NeedProcesses:
		return unless(caps.Processes, "the driver does not enforce it")
	case NeedDisk:
		return unless(caps.Disk, "the driver does not enforce it")
	case NeedFileSize:
		return unless(caps.FileSize, "the driver does not enforce it")
	case NeedOpenFiles:
		return unless(caps.OpenFiles, "the driver does not enforce it")
	case NeedPrefix:
		return unless(caps.Prefix, "the driver does not have it")
	}
	return ""
}

func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}

// required reports whether this machine must be able to run the named backend.
func required(name string) bool {
	list := os.Getenv("SANDBOX_TEST_REQUIRE") //nolint:forbidigo // a switch of the tests, not of the product
	return slices.ContainsFunc(strings.Split(list, ","), func(item string) bool { return strings.TrimSpace(item) == name })
}

// locatePython asks a backend that uses the runtimes of the host.
func (c *check) locatePython() {
	c.t.Helper()
	host, ok := c.backend.(backend.HostRuntimes)
	if !ok {
		c.t.Fatalf("the suite does not say where Python is, and %s does not look for runtimes", c.backend.Name())
	}
	found, err := host.Locate(c.ctx, backend.Need{
		Language: "python",
		Programs: [][]string{{"python3", "python"}},
		Package:  map[string]string{"debian": "python3"},
	})
	if err != nil {
		c.t.Fatalf("locate python: %v", err)
	}
	c.spec.Runtime = found.ID
	c.python = found.Programs["python3"]
	c.pythonEnv = found.Env
	if c.python == "" {
		c.t.Fatal(fmt.Errorf("locate python: no path for python3 in %v", found.Programs))
	}
}
