package artifact_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
)

// An outcome is what became of a program that ran with the hooks.
type outcome struct {
	stdout, stderr string
	code           int
	set            artifact.Set
	// workdir is where it ran.
	workdir string
}

// files lists name, type and size of what was handed over.
func (o outcome) files() []string {
	files := []string{}
	for _, a := range o.set.Artifacts {
		files = append(files, describe(a))
	}
	return files
}

func describe(a artifact.Artifact) string {
	if a.Width == 0 {
		return fmt.Sprintf("%s %s", a.Name, a.MIME)
	}
	return fmt.Sprintf("%s %s %dx%d", a.Name, a.MIME, a.Width, a.Height)
}

// A host runs programs of one language on this machine, with the hooks in directories of the test.
type host struct {
	language string
	args     []string
	file     string
	env      []string
}

// run runs a program in a directory of its own. One that takes longer than limit is killed.
func (h host) run(t *testing.T, code string, limit time.Duration) outcome {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"work", "artifacts"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	o := outcome{workdir: filepath.Join(root, "work")}
	file := filepath.Join(o.workdir, h.file)
	if err := os.WriteFile(file, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), h.args[0], append(slices.Clone(h.args[1:]), file)...)
	cmd.Dir = o.workdir
	cmd.Env = append(slices.Clone(h.env), h.hooks(t, root)...)
	cmd.Env = append(cmd.Env, "TMPDIR="+t.TempDir())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(limit, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	o.stdout, o.stderr, o.code = stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
	o.set, err = artifact.Collect(
		pack(t, filepath.Join(root, "artifacts"), nil),
		pack(t, o.workdir, artifact.Extensions()),
		artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// hooks puts the hooks below root and returns their environment, with the sandbox's directories
// replaced by those below root.
func (h host) hooks(t *testing.T, root string) []string {
	t.Helper()
	files, env := artifact.Hooks(h.language)
	for name, data := range files {
		file := filepath.Join(root, "hooks", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	moved := []string{}
	for _, pair := range env {
		moved = append(moved, strings.ReplaceAll(pair, "/run/sandbox", root))
	}
	return moved
}

// pack makes an archive of the files below dir with one of the extensions, or of all, as the agent does.
func pack(t *testing.T, dir string, extensions []string) *bytes.Buffer {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if extensions != nil && !slices.Contains(extensions, strings.ToLower(filepath.Ext(name))) {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		header := &tar.Header{
			Name: filepath.ToSlash(relative), Size: int64(len(data)), Mode: 0o644,
			ModTime: info.ModTime(), Format: tar.FormatPAX,
		}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return &archive
}

// missing skips a test, or fails it where SANDBOX_TEST_REQUIRE names what it needs.
func missing(t *testing.T, need, why string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("SANDBOX_TEST_REQUIRE"), ","), need) {
		t.Fatalf("SANDBOX_TEST_REQUIRE names %s: %s", need, why)
	}
	t.Skip(why)
}

// installed remembers which modules and packages this machine has.
var installed sync.Map

// works says whether a command succeeds, and asks once.
func works(args ...string) bool {
	once, _ := installed.LoadOrStore(strings.Join(args, "\x00"), sync.OnceValue(func() bool {
		return exec.Command(args[0], args[1:]...).Run() == nil
	}))
	return once.(func() bool)()
}

// cacheHome is a home directory that the tests share: building matplotlib's list of fonts in each
// would take seconds.
var cacheHome = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(os.TempDir(), "llm-sandbox-mcp-test-home")
	return dir, os.MkdirAll(dir, 0o755)
})

func home(t *testing.T) string {
	t.Helper()
	dir, err := cacheHome()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
