package jail_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

func needOf(t *testing.T, language string) backend.Need {
	t.Helper()
	l, err := lang.Builtin().Lookup(language)
	if err != nil {
		t.Fatal(err)
	}
	return backend.Need{Language: l.Name, Programs: l.Programs, Package: l.Package}
}

// script writes an executable shell script and returns its path.
func script(t *testing.T, path, body string) string {
	t.Helper()
	write(t, path, "#!/bin/sh\n"+body+"\n", 0o755)
	return path
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// none is a list of usual directories in which nothing is found.
var none = []string{"/nonexistent"}

// home is a 0700 home directory in which fake version managers live.
func home(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "u")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fakePython writes an interpreter PREFIX/bin/python3 that answers as Python would, and a shim for it.
func fakePython(t *testing.T, prefix, shim, libraries string) (program string) {
	t.Helper()
	program = filepath.Join(prefix, "bin", "python3")
	script(t, program, `printf '%s\n' `+program+" "+prefix+" "+prefix+" "+libraries)
	script(t, shim, `exec `+program+` "$@"`)
	return program
}

func linuxOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("sandboxes see the host's runtimes on Linux only")
	}
	t.Parallel()
}

func TestLocateOnThisHost(t *testing.T) {
	linuxOnly(t)
	required := strings.Split(os.Getenv("SANDBOX_TEST_REQUIRE"), ",")
	for _, name := range lang.Builtin().Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need := needOf(t, name)
			// What a client with a window gives; Go is then found in its usual place.
			finder := jail.NewFinder(jail.FinderOptions{Path: "/usr/bin:/bin"})
			found, err := finder.Locate(t.Context(), need)
			if errors.Is(err, backend.ErrUnavailable) && !slices.Contains(required, name) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", found)
			for _, alternatives := range need.Programs {
				program := found.Programs[alternatives[0]]
				if !strings.HasPrefix(program, "/usr/") {
					t.Errorf("%s is %q, which no sandbox shows", alternatives[0], program)
				}
			}
			if mounts := finder.Mounts(found.ID); len(mounts) > 0 {
				t.Errorf("mounts %q for a runtime of the system", mounts)
			}
		})
	}
}

// The real version manager of this machine, if it has one.
func TestLocateBehindPyenv(t *testing.T) {
	linuxOnly(t)
	userHome, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	shims := filepath.Join(userHome, ".pyenv", "shims")
	if _, err := os.Stat(filepath.Join(shims, "python3")); err != nil {
		t.Skip("no pyenv here")
	}
	finder := jail.NewFinder(jail.FinderOptions{Path: shims + ":/bin", Home: userHome, Usual: none, System: []string{"/lib", "/lib64"}})
	found, err := finder.Locate(t.Context(), needOf(t, "python"))
	if err != nil {
		t.Fatal(err)
	}
	program := found.Programs["python3"]
	mounts := finder.Mounts(found.ID)
	if len(mounts) != 1 || !strings.HasPrefix(mounts[0], filepath.Join(userHome, ".pyenv", "versions")) || !strings.HasPrefix(program, mounts[0]) {
		t.Fatalf("program %q, mounts %q: want one version's directory", program, mounts)
	}
	out, err := exec.CommandContext(t.Context(), program, "-c", "print(1)").Output()
	if string(out) != "1\n" || err != nil {
		t.Errorf("%s: %q, %v", program, out, err)
	}
}

func TestLocateTakesPythonWithLibraries(t *testing.T) {
	linuxOnly(t)
	dir := home(t)
	bare := fakePython(t, filepath.Join(dir, "bare"), filepath.Join(dir, "shims", "python3"), "False")
	full := fakePython(t, filepath.Join(dir, "full"), filepath.Join(dir, "second", "python3"), "True")
	shims, second := filepath.Join(dir, "shims"), filepath.Join(dir, "second")

	for _, test := range []struct {
		name, path string
		want       string
		note       string
	}{
		{"the one with numpy and matplotlib wins", shims + ":" + second, full, filepath.Join(shims, "python3") + " lacks libraries that this one has"},
		{"also when it is first", second + ":" + shims, full, ""},
		{"without a choice the libraries do not matter", shims, bare, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			finder := jail.NewFinder(jail.FinderOptions{Path: test.path, Home: dir, Usual: none})
			found, err := finder.Locate(t.Context(), needOf(t, "python"))
			if err != nil {
				t.Fatal(err)
			}
			if got := found.Programs["python3"]; got != test.want || found.Note != test.note {
				t.Errorf("got %q, note %q", got, found.Note)
			}
			want := []string{filepath.Dir(filepath.Dir(test.want))}
			if diff := cmp.Diff(want, finder.Mounts(found.ID)); diff != "" {
				t.Errorf("mounts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLocatePassesOver(t *testing.T) {
	linuxOnly(t)
	for _, test := range []struct {
		name string
		// make puts python3 into the directory that is first on the path.
		make   func(t *testing.T, home, shims string)
		reason string
	}{
		{
			"an interpreter right in a home directory",
			func(t *testing.T, home, shims string) {
				t.Helper()
				fakePython(t, home, filepath.Join(shims, "python3"), "True")
			},
			"is or holds a home directory",
		},
		{
			"a prefix that programs keep secrets in",
			func(t *testing.T, home, shims string) {
				t.Helper()
				fakePython(t, filepath.Join(home, ".local"), filepath.Join(shims, "python3"), "True")
			},
			"holds more than a runtime",
		},
		{
			"a program that only its owner can start, for root",
			func(t *testing.T, home, shims string) {
				t.Helper()
				program := fakePython(t, filepath.Join(home, "python"), filepath.Join(shims, "python3"), "True")
				if os.Geteuid() != 0 {
					t.Skip("another user's sandbox runs as that user")
				}
				if err := os.Chmod(program, 0o700); err != nil {
					t.Fatal(err)
				}
			},
			"can be used by its owner only",
		},
		{
			"a shim whose version is not installed",
			func(t *testing.T, _, shims string) {
				t.Helper()
				script(t, filepath.Join(shims, "python3"), "echo 'pyenv: version 3.9 is not installed' >&2; exit 127")
			},
			"version 3.9 is not installed",
		},
		{
			"a program that hangs, with a child",
			func(t *testing.T, _, shims string) {
				t.Helper()
				script(t, filepath.Join(shims, "python3"), "/bin/sleep 60; echo late")
			},
			"did not answer within 2s",
		},
		{
			"a program that answers something else",
			func(t *testing.T, _, shims string) {
				t.Helper()
				script(t, filepath.Join(shims, "python3"), "echo hello")
			},
			"does not tell where it is installed",
		},
		{
			"a name of a program that is not there",
			func(t *testing.T, home, shims string) {
				t.Helper()
				script(t, filepath.Join(shims, "python3"), `printf '%s\n' /nonexistent/python3 `+home+`/x `+home+`/x True`)
			},
			"does not tell where it is installed",
		},
		{
			"an empty file",
			func(t *testing.T, _, shims string) {
				t.Helper()
				write(t, filepath.Join(shims, "python3"), "", 0o755)
			},
			"",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := home(t)
			shims := filepath.Join(dir, "shims")
			test.make(t, dir, shims)
			next := fakePython(t, filepath.Join(dir, "next"), filepath.Join(dir, "later", "python3"), "False")

			finder := jail.NewFinder(jail.FinderOptions{Path: shims + ":" + filepath.Join(dir, "later"), Home: dir, Usual: none})
			found, err := finder.Locate(t.Context(), needOf(t, "python"))
			if err != nil {
				t.Fatal(err)
			}
			if got := found.Programs["python3"]; got != next || !strings.Contains(found.Note, test.reason) {
				t.Errorf("got %q, note %q; want %q because the first %s", got, found.Note, next, test.reason)
			}

			alone := jail.NewFinder(jail.FinderOptions{Path: shims, Home: dir, Usual: none})
			_, err = alone.Locate(t.Context(), needOf(t, "python"))
			if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), filepath.Join(shims, "python3")) || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("alone: error %v does not say that the first %s", err, test.reason)
			}
		})
	}
}

func TestLocateMissing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ release, language, want string }{
		{"ID=debian\n", "r", "r: find Rscript: not installed; install it with: apt-get install r-base-core"},
		{"NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "ruby", "ruby: find ruby: not installed; install it with: apt-get install ruby"},
		{"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "java", "java: find javac: not installed; install it with: dnf install java-latest-openjdk-devel"},
		{"ID=alpine\n", "cpp", "cpp: find g++: not installed; install it with: apk add g++"},
		{"ID=arch\n", "python", "python: find python3: not installed; install it with: pacman -S python"},
		{"ID=plan9\n", "go", "go: find go: not installed; install it and put its directory on the PATH of the server"},
		{"", "javascript", "javascript: find node: not installed; install it and put its directory on the PATH of the server"},
	} {
		t.Run(test.language, func(t *testing.T) {
			t.Parallel()
			release := filepath.Join(t.TempDir(), "os-release")
			write(t, release, test.release, 0o644)
			finder := jail.NewFinder(jail.FinderOptions{Path: "/nonexistent:relative:", Usual: none, OSRelease: release})
			_, err := finder.Locate(t.Context(), needOf(t, test.language))
			if !errors.Is(err, backend.ErrUnavailable) {
				t.Errorf("error %v is not ErrUnavailable", err)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// A virtual environment needs its own directory and the one of the Python it was made from.
func TestLocateVirtualEnvironment(t *testing.T) {
	linuxOnly(t)
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("no /usr/bin/python3")
	}
	dir := home(t)
	venv := filepath.Join(dir, "project", ".venv")
	if out, err := exec.CommandContext(t.Context(), "/usr/bin/python3", "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Skipf("python3 -m venv: %v: %s", err, out)
	}
	finder := jail.NewFinder(jail.FinderOptions{Path: filepath.Join(venv, "bin"), Home: dir, Usual: none})
	found, err := finder.Locate(t.Context(), needOf(t, "python"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := found.Programs["python3"], filepath.Join(venv, "bin", "python3"); got != want {
		t.Errorf("program %q, want %q: the path is what tells Python of its environment", got, want)
	}
	if diff := cmp.Diff([]string{venv}, finder.Mounts(found.ID)); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
}

// compileNode builds a program that answers as node would and needs a library in LIB. With rpath it
// finds it by itself.
func compileNode(t *testing.T, program, lib string, rpath bool) {
	t.Helper()
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("g++ is not installed")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "lib.cpp"), "extern \"C\" int answer() { return 1; }\n", 0o644)
	write(t, filepath.Join(dir, "node.cpp"), `#include <cstdio>
#include <unistd.h>
extern "C" int answer();
int main() {
	char name[4096] = {};
	if (answer() && readlink("/proc/self/exe", name, sizeof name - 1) > 0) std::puts(name);
}
`, 0o644)
	for _, d := range []string{filepath.Dir(program), lib} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := []string{"-o", program, filepath.Join(dir, "node.cpp"), "-L" + lib, "-lanswer"}
	if rpath {
		link = append(link, "-Wl,-rpath,"+lib)
	}
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-o", filepath.Join(lib, "libanswer.so"), filepath.Join(dir, "lib.cpp")},
		link,
	} {
		if out, err := exec.CommandContext(t.Context(), compiler, args...).CombinedOutput(); err != nil {
			t.Fatalf("g++: %v\n%s", err, out)
		}
	}
}

// The shim sets LD_LIBRARY_PATH, without which the program does not start.
func TestLocateProgramWithOwnLibraries(t *testing.T) {
	linuxOnly(t)
	dir := home(t)
	prefix := filepath.Join(dir, ".nodenv", "versions", "20")
	program := filepath.Join(prefix, "bin", "node")
	compileNode(t, program, filepath.Join(prefix, "lib"), false)
	shims := filepath.Join(dir, ".nodenv", "shims")
	script(t, filepath.Join(shims, "node"), "LD_LIBRARY_PATH="+prefix+"/lib exec "+program+` "$@"`)

	finder := jail.NewFinder(jail.FinderOptions{Path: shims, Home: dir, Usual: none})
	found, err := finder.Locate(t.Context(), needOf(t, "javascript"))
	if err != nil {
		t.Fatal(err)
	}
	want := backend.Runtime{
		ID:       found.ID,
		Programs: map[string]string{"node": program},
		Env:      []string{"LD_LIBRARY_PATH=" + prefix + "/lib"},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("runtime (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{prefix}, finder.Mounts(found.ID)); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
}

func TestLocateProgramWithLibrariesElsewhere(t *testing.T) {
	linuxOnly(t)
	dir := home(t)
	prefix := filepath.Join(dir, "node20")
	compileNode(t, filepath.Join(prefix, "bin", "node"), filepath.Join(dir, "private", "lib"), true)
	finder := jail.NewFinder(jail.FinderOptions{Path: filepath.Join(prefix, "bin"), Home: dir, Usual: none})
	_, err := finder.Locate(t.Context(), needOf(t, "javascript"))
	if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "libanswer.so is in "+filepath.Join(dir, "private", "lib")) {
		t.Errorf("error %v does not name the library", err)
	}
}

// The directory that a version manager links to is shown under all names.
func TestLocateLinkedPrefix(t *testing.T) {
	linuxOnly(t)
	dir := home(t)
	jdk := filepath.Join(dir, "data", "jdk-21")
	latest := filepath.Join(dir, "data", "latest")
	current := filepath.Join(dir, ".sdkman", "current")
	for _, name := range []string{"java", "javac"} {
		script(t, filepath.Join(jdk, "bin", name), "echo '    java.home = "+current+"' >&2")
	}
	if err := os.MkdirAll(filepath.Dir(current), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{current: latest, latest: "jdk-21"} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	finder := jail.NewFinder(jail.FinderOptions{Path: filepath.Join(current, "bin"), Home: dir, Usual: none})
	found, err := finder.Locate(t.Context(), needOf(t, "java"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"java": current + "/bin/java", "javac": current + "/bin/javac"}
	if diff := cmp.Diff(want, found.Programs); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"JAVA_HOME=" + current}, found.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{current, latest, jdk}, finder.Mounts(found.ID), cmp.Transformer("sort", sorted)); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
}

// One link for every name, as mise and volta have it: the link says nothing about the program.
func TestLocateMultiCallShim(t *testing.T) {
	linuxOnly(t)
	dir := home(t)
	prefix := filepath.Join(dir, "tools", "ruby-3.4")
	ruby := script(t, filepath.Join(prefix, "bin", "ruby"), `printf '%s\n' `+prefix+"/bin/ruby "+prefix)
	manager := filepath.Join(dir, "system", "mise")
	script(t, manager, `case "$0" in */ruby) exec `+ruby+`;; esac; exit 1`)
	shim := filepath.Join(dir, "system", "shims", "ruby")
	if err := os.MkdirAll(filepath.Dir(shim), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(manager, shim); err != nil {
		t.Fatal(err)
	}
	finder := jail.NewFinder(jail.FinderOptions{
		Path: filepath.Dir(shim), Home: dir, Usual: none,
		System: append(jail.SystemDirs(), filepath.Join(dir, "system")),
	})
	found, err := finder.Locate(t.Context(), needOf(t, "ruby"))
	if err != nil {
		t.Fatal(err)
	}
	if got := found.Programs["ruby"]; got != ruby {
		t.Errorf("program %q, want %q", got, ruby)
	}
}

func TestLocateAsksOnce(t *testing.T) {
	linuxOnly(t)
	dir := home(t)
	prefix := filepath.Join(dir, "python")
	shim := filepath.Join(dir, "shims", "python3")
	fakePython(t, prefix, shim, "True")
	asked := filepath.Join(dir, "asked")
	count := func() int {
		text, err := os.ReadFile(asked)
		if err != nil {
			t.Fatal(err)
		}
		return len(text)
	}
	script(t, shim, "printf x >> "+asked+"; exec "+prefix+`/bin/python3 "$@"`)

	finder := jail.NewFinder(jail.FinderOptions{Path: filepath.Dir(shim), Home: dir, Usual: none})
	first, err := finder.Locate(t.Context(), needOf(t, "python"))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			again, err := finder.Locate(t.Context(), needOf(t, "python"))
			if diff := cmp.Diff(first, again); diff != "" || err != nil {
				t.Errorf("second answer: %v (-first +second):\n%s", err, diff)
			}
		})
	}
	wg.Wait()
	if n := count(); n != 1 {
		t.Errorf("the shim ran %d times, want once", n)
	}

	// Another version behind the same path is another runtime.
	script(t, filepath.Join(prefix, "bin", "python3"), `# newer
printf '%s\n' `+prefix+"/bin/python3 "+prefix+" "+prefix+" True")
	changed, err := finder.Locate(t.Context(), needOf(t, "python"))
	if err != nil {
		t.Fatal(err)
	}
	if changed.ID == first.ID {
		t.Errorf("ID %q is that of the replaced program", changed.ID)
	}
	if n := count(); n != 2 {
		t.Errorf("the shim ran %d times, want twice", n)
	}
}

func TestMountsOfUnknownRuntime(t *testing.T) {
	t.Parallel()
	if got := jail.NewFinder(jail.FinderOptions{}).Mounts("python-0"); len(got) != 0 {
		t.Errorf("mounts %q", got)
	}
}

func sorted(s []string) map[string]bool {
	set := make(map[string]bool)
	for _, x := range s {
		set[x] = true
	}
	return set
}
