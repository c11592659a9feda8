package seccomp_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// libraryVersion is the version of libseccomp that made the embedded filters: Debian 12's. Others may
// arrange the same decisions differently.
const libraryVersion = "2.5.4"

// The embedded filters are what libseccomp makes of the profile as it is now.
func TestFiltersAreUpToDate(t *testing.T) {
	t.Parallel()
	version, err := exec.Command("pkg-config", "--modversion", "libseccomp").CombinedOutput()
	if err != nil {
		missing(t, "libseccomp", "install pkg-config and libseccomp-dev: "+string(version))
	}
	dir := t.TempDir()
	cmd := exec.Command("go", "run", "-tags", "libseccomp", "./gen", "-dir", dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		missing(t, "libseccomp", "a C compiler: "+string(out))
	}
	exact := strings.TrimSpace(string(version)) == libraryVersion
	for _, m := range machines(t) {
		file := "filter_" + m.goarch + ".bpf"
		made, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		embedded, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if exact && !bytes.Equal(made, embedded) {
			t.Errorf("%s: run go generate ./internal/backend/seccomp", file)
		}
		if !exact {
			m.vm = load(t, filepath.Join(dir, file))
			meansProfile(t, m)
		}
	}
}
