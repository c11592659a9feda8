package backendtest

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// capabilityCases check that what Capabilities do not promise is refused or reported, never ignored,
// and those promises that are not limits.
func capabilityCases() []conformanceCase {
	return []conformanceCase{
		{name: "capabilities are constant", run: constantCapabilities},
		{name: "limit that is not enforced is refused or reported", run: unenforcedLimits},
		{name: "image", run: imageCapability},
		{name: "host network", needs: []Need{NeedPython, NeedLocal}, run: hostNetwork},
		{name: "unknown network is refused", run: unknownNetwork},
		{name: "prefix refused where not possible", run: prefixRefused},
		{name: "prefix is mounted read-only", needs: []Need{NeedPrefix, NeedKernel, NeedLocal}, run: prefixReadOnly},
		{name: "scratch lies over the prefix", needs: []Need{NeedPrefix, NeedKernel, NeedLocal}, run: scratchOverPrefix},
		{name: "prefix that is missing", needs: []Need{NeedPrefix, NeedLocal}, run: prefixMissing},
	}
}

func constantCapabilities(c *check) {
	before := c.backend.Capabilities()
	c.usable(c.sandbox())
	if after := c.backend.Capabilities(); after != before {
		c.t.Errorf("capabilities changed from %+v to %+v", before, after)
	}
	if !slices.Contains([]string{"vm", "container", "namespace", "none"}, before.Isolation) {
		c.t.Errorf("isolation is %q", before.Isolation)
	}
	if c.backend.Name() == "" {
		c.t.Error("the backend has no name")
	}
}

func unenforcedLimits(c *check) {
	caps := c.backend.Capabilities()
	for name, limits := range map[string]backend.Limits{
		"memory": {Memory: 256 * mib}, "cpu": {MilliCPUs: 500}, "processes": {Processes: 64},
		"disk": {Disk: 64 * mib}, "file size": {FileSize: 16 * mib}, "open files": {OpenFiles: 256},
	} {
		s, err := c.backend.Create(c.ctx, c.with(limits))
		reported := slices.Contains(caps.Unenforced(limits), name)
		switch {
		case err == nil:
			c.usable(s)
			if err := s.Close(c.ctx); err != nil {
				c.t.Errorf("%s: close: %v", name, err)
			}
		case reported:
			c.refused("create with "+name, err, backend.ErrUnsupported)
		default:
			c.t.Errorf("%s is promised, and create fails: %v", name, err)
		}
	}
}

func imageCapability(c *check) {
	spec := c.spec
	spec.Image = "sandbox-test.invalid/no/such-image:1"
	s, err := c.backend.Create(c.ctx, spec)
	if err == nil {
		_ = s.Close(c.ctx)
	}
	if c.backend.Capabilities().Images {
		c.refused("create with an image that does not exist", err, backend.ErrNotFound, backend.ErrUnavailable)
	} else {
		c.refused("create with an image", err, backend.ErrUnsupported, backend.ErrInvalid)
	}
}

// connect tells whether a TCP connection to the address in its argument succeeds.
const connect = `
import socket, sys
host, port = sys.argv[1].rsplit(":", 1)
try:
    socket.create_connection((host, int(port)), 2).close()
    print("connected")
except OSError:
    print("refused")
`

func (c *check) listen() string {
	c.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatalf("listen: %v", err)
	}
	c.t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func hostNetwork(c *check) {
	spec := c.spec
	spec.Network = backend.NetworkHost
	if !c.backend.Capabilities().HostNetwork {
		s, err := c.backend.Create(c.ctx, spec)
		if err == nil {
			_ = s.Close(c.ctx)
		}
		c.refused("create with the host's network", err, backend.ErrUnsupported)
		return
	}
	c.expect(c.py(c.create(spec), connect, c.listen()), 0, "connected\n")
}

func unknownNetwork(c *check) {
	spec := c.spec
	spec.Network = "no-such-network-of-sandbox-test"
	s, err := c.backend.Create(c.ctx, spec)
	if err == nil {
		if isolation := c.backend.Capabilities().Isolation; isolation != "none" {
			c.t.Error("a sandbox was made with a network that does not exist")
		}
		_ = s.Close(c.ctx)
		return
	}
	c.refused("create with an unknown network", err, backend.ErrUnsupported, backend.ErrInvalid, backend.ErrNotFound, backend.ErrUnavailable)
}

func prefixRefused(c *check) {
	if c.backend.Capabilities().Prefix {
		return // the next case
	}
	spec := c.spec
	spec.Prefix = c.t.TempDir()
	s, err := c.backend.Create(c.ctx, spec)
	if err == nil {
		_ = s.Close(c.ctx)
	}
	c.refused("create with a prefix", err, backend.ErrUnsupported)
}

// prefix makes a directory of the host with a file and a directory in lib.
func (c *check) prefix() string {
	c.t.Helper()
	// Drivers for ordinary users must be able to reach it, which TempDir alone does not promise.
	dir := c.t.TempDir()
	for _, path := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(path, 0o755); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "lib", "d"), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lib", "f"), []byte("of the prefix\n"), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return dir
}

func prefixReadOnly(c *check) {
	spec := c.spec
	spec.Prefix = c.prefix()
	s := c.create(spec)
	c.expect(c.sh(s, "cat "+backend.PrefixDir+"/lib/f"), 0, "of the prefix\n")
	for _, write := range []string{"echo x > %/g", "echo x >> %/lib/f", "rm %/lib/f", "chmod 777 %/lib", "mv %/lib %/lob", "touch %/lib/f"} {
		script := strings.ReplaceAll(write, "%", backend.PrefixDir)
		if r := c.sh(s, script); r.Code == 0 {
			c.t.Errorf("%s succeeded", script)
		}
	}
	if data, err := os.ReadFile(filepath.Join(spec.Prefix, "lib", "f")); err != nil || string(data) != "of the prefix\n" {
		c.t.Errorf("on the host the file is %q, %v", data, err)
	}
}

func scratchOverPrefix(c *check) {
	spec := c.spec
	spec.Prefix, spec.Scratch = c.prefix(), backend.PrefixDir+"/lib"
	s := c.create(spec)
	c.expect(c.sh(s, "cd "+backend.PrefixDir+"/lib; cat f; echo new > g; echo newer > d/g; mkdir e; cat g d/g"), 0, "of the prefix\nnew\nnewer\n")
	if r := c.sh(s, "echo x > "+backend.PrefixDir+"/beside"); r.Code == 0 {
		c.t.Error("the prefix can be written to beside scratch")
	}
	if entries, err := os.ReadDir(filepath.Join(spec.Prefix, "lib")); err != nil || len(entries) != 2 {
		c.t.Errorf("on the host there is %v, %v", entries, err)
	}
	c.expect(c.sh(c.create(spec), "cat "+backend.PrefixDir+"/lib/f"), 0, "of the prefix\n")
}

func prefixMissing(c *check) {
	spec := c.spec
	spec.Prefix = filepath.Join(c.t.TempDir(), "missing-"+strconv.Itoa(os.Getpid()))
	s, err := c.backend.Create(c.ctx, spec)
	if err == nil {
		_ = s.Close(c.ctx)
	}
	c.refused("create with a missing prefix", err, backend.ErrNotFound, backend.ErrInvalid, backend.ErrUnavailable)
}
