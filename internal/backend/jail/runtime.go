// Package jail holds what the backends share whose sandboxes see the host's own programs: where the
// language runtimes are and which directories they need, the sandbox's root, and its limits.
package jail

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// SystemDirs are the directories that every sandbox shows, read-only, as they are on the host.
func SystemDirs() []string { return slices.Clone(system) }

// FinderOptions say where a [Finder] looks.
type FinderOptions struct {
	// Path and Home are PATH and HOME of the server. Version managers find their settings in Home.
	Path, Home string
	// Usual are directories that are searched after Path, as patterns of filepath.Glob. Clients with a
	// window start servers with a PATH that lacks most of them. Nil means those of the common
	// distributions.
	Usual []string
	// System are the directories that every sandbox shows; nil means [SystemDirs].
	System []string
	// OSRelease is the file that names the distribution; empty means /etc/os-release.
	OSRelease string
	// Log is told which runtime was taken and why; nil means nobody is.
	Log *slog.Logger
}

// A Finder finds the host's language runtimes. Its methods may be called concurrently.
type Finder struct {
	options FinderOptions

	mu sync.Mutex
	// asked holds what programs answered about themselves.
	asked map[fileID]answer
	// mounts holds the directories of every runtime that was handed out.
	mounts map[string][]string
}

// NewFinder returns a Finder. It looks at nothing until it is asked.
func NewFinder(o FinderOptions) *Finder {
	if o.Usual == nil {
		o.Usual = usualDirs()
	}
	if o.System == nil {
		o.System = SystemDirs()
	}
	if o.OSRelease == "" {
		o.OSRelease = "/etc/os-release"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Finder{options: o, asked: make(map[fileID]answer), mounts: make(map[string][]string)}
}

// An installation is a program that was found, with what it needs to run in a sandbox.
type installation struct {
	// program is the path to start.
	program string
	// prefixes are the directories outside of the system's that it lives in.
	prefixes []string
	// env are variables it needs.
	env []string
	// complete: it has the libraries that users of the language expect.
	complete bool
}

// Locate implements [backend.HostRuntimes]. The first usable program on the path is taken, with one
// exception: a Python without numpy and matplotlib gives way to a later one that has them. A program is
// usable when it and its libraries can be shown to a sandbox without showing a home directory or
// anything else that is not a runtime.
func (f *Finder) Locate(ctx context.Context, need backend.Need) (backend.Runtime, error) {
	found := backend.Runtime{Programs: make(map[string]string)}
	var mounts []string
	first := "" // the directory of the first program; the others come from there if they can
	for _, alternatives := range need.Programs {
		in, note, err := f.find(ctx, alternatives, first)
		if err != nil {
			return backend.Runtime{}, backend.Wrap(backend.ErrUnavailable, fmt.Errorf("%s: %w; %s", need.Language, err, f.remedy(need.Package)))
		}
		if first == "" {
			first = filepath.Dir(in.program)
		}
		if note != "" {
			found.Note = note
		}
		found.Programs[alternatives[0]] = in.program
		mounts = append(mounts, in.prefixes...)
		for _, pair := range in.env {
			if !slices.Contains(found.Env, pair) {
				found.Env = append(found.Env, pair)
			}
		}
	}
	mounts = outermost(mounts)
	found.ID = runtimeID(need.Language, found, mounts)

	f.mu.Lock()
	_, known := f.mounts[found.ID]
	f.mounts[found.ID] = mounts
	f.mu.Unlock()
	if !known {
		f.options.Log.InfoContext(ctx, "found runtime", "language", need.Language, "programs", found.Programs, "mounts", mounts, "note", found.Note)
	}
	return found, nil
}

// Mounts returns the directories that a sandbox with this runtime must show, read-only and at the same
// path, beside the system's. The runtime is one that Locate has returned.
func (f *Finder) Mounts(runtimeID string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.mounts[runtimeID])
}

// find returns the program to use for one entry of a need, and a note if it is not the first one there
// is.
func (f *Finder) find(ctx context.Context, alternatives []string, first string) (installation, string, error) {
	candidates := f.candidates(alternatives, first)
	if len(candidates) == 0 {
		return installation{}, "", fmt.Errorf("find %s: not installed", alternatives[0])
	}
	// Only where there is a choice are the libraries worth a look: it takes starting the program.
	choice := len(candidates) > 1 && wantsLibraries(alternatives[0])
	installations := make([]installation, len(candidates))
	failures := make([]error, len(candidates))
	inspect := func(i int) {
		installations[i], failures[i] = f.inspect(ctx, alternatives[0], candidates[i], choice)
	}
	if choice {
		var wg sync.WaitGroup
		for i := range candidates {
			wg.Go(func() { inspect(i) })
		}
		wg.Wait()
	}
	usable := -1
	for i, candidate := range candidates {
		if !choice {
			inspect(i)
		}
		if failures[i] != nil {
			f.options.Log.DebugContext(ctx, "runtime passed over", "program", candidate, "reason", failures[i])
			continue
		}
		if !choice || installations[i].complete {
			return installations[i], passedOver(candidates[:i], failures), nil
		}
		if usable < 0 {
			usable = i
		}
	}
	if usable >= 0 {
		return installations[usable], passedOver(candidates[:usable], failures), nil
	}
	return installation{}, "", fmt.Errorf("find %s: %s cannot be used: %w", alternatives[0], candidates[0], failures[0])
}

// passedOver says why candidates earlier on the path were not taken.
func passedOver(earlier []string, failures []error) string {
	var notes []string
	for i, candidate := range earlier {
		if failures[i] != nil {
			notes = append(notes, fmt.Sprintf("%s cannot be used: %v", candidate, failures[i]))
		} else {
			notes = append(notes, candidate+" lacks libraries that this one has")
		}
	}
	return strings.Join(notes, "; ")
}

// candidates returns the programs of these names, in the order of the path, each file once.
func (f *Finder) candidates(alternatives []string, first string) []string {
	dirs := f.searchDirs()
	if first != "" {
		dirs = append([]string{first}, dirs...)
	}
	var found []string
	seen := make(map[string]bool)
	for _, name := range alternatives {
		for _, dir := range dirs {
			candidate := filepath.Join(dir, name)
			if !executable(candidate) {
				continue
			}
			resolved, err := filepath.EvalSymlinks(candidate)
			if err != nil || seen[resolved] {
				continue
			}
			seen[resolved] = true
			found = append(found, candidate)
		}
	}
	return found
}

func executable(name string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	return info.Mode().Perm()&0o111 != 0 || runtime.GOOS == "windows"
}

func (f *Finder) searchDirs() []string {
	var dirs []string
	add := func(dir string) {
		if filepath.IsAbs(dir) && !slices.Contains(dirs, filepath.Clean(dir)) {
			dirs = append(dirs, filepath.Clean(dir))
		}
	}
	for _, dir := range filepath.SplitList(f.options.Path) {
		add(dir)
	}
	for _, pattern := range f.options.Usual {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			continue // patterns are ours, and a bad one matches nothing
		}
		// The newest version of several comes last in the alphabet, more often than not.
		slices.Reverse(matches)
		for _, dir := range matches {
			add(dir)
		}
	}
	return dirs
}

func usualDirs() []string {
	return []string{
		"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/go/bin",
		"/usr/lib/jvm/*/bin", "/usr/lib/go-*/bin", "/usr/lib/R/bin", "/opt/R/*/bin",
	}
}

// fileID tells whether a file is still the one that was looked at.
type fileID struct {
	path  string
	env   string // what was set when it was asked
	inode uint64
	size  int64
	mtime int64 // nanoseconds since 1970
}

func identify(name string) (fileID, error) {
	info, err := os.Stat(name)
	if err != nil {
		return fileID{}, err
	}
	return fileID{path: name, inode: inode(info), size: info.Size(), mtime: info.ModTime().UnixNano()}, nil
}

// runtimeID is the same for the same programs, until one of them is replaced.
func runtimeID(language string, r backend.Runtime, mounts []string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Values(r.Programs)) {
		id, err := identify(name)
		fmt.Fprintf(&text, "%q %d %d %v\n", name, id.size, id.mtime, err)
	}
	fmt.Fprintf(&text, "%q %q", mounts, r.Env)
	sum := sha256.Sum256([]byte(text.String()))
	return language + "-" + hex.EncodeToString(sum[:8])
}

// remedy says how to install a missing program on this distribution.
func (f *Finder) remedy(packages map[string]string) string {
	family, command := distribution(f.options.OSRelease)
	if name := packages[family]; name != "" {
		return fmt.Sprintf("install it with: %s %s", command, name)
	}
	return "install it and put its directory on the PATH of the server"
}

// distribution returns the family that the packages of a language are listed under, and the command
// that installs one.
func distribution(release string) (family, command string) {
	text, err := os.ReadFile(release)
	if err != nil {
		return "", ""
	}
	var ids []string
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name == "ID" || name == "ID_LIKE" {
			ids = append(ids, strings.Fields(strings.Trim(value, `"'`))...)
		}
	}
	for _, id := range ids {
		switch id {
		case "debian", "ubuntu":
			return "debian", "apt-get install"
		case "fedora", "rhel", "centos":
			return "fedora", "dnf install"
		case "alpine":
			return "alpine", "apk add"
		case "arch":
			return "arch", "pacman -S"
		}
	}
	return "", ""
}

// errShim is what a program gives that does not say where it really is.
var errShim = errors.New("it does not tell where it is installed")
