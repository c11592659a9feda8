// Package backend says what a sandbox is: the contract every driver implements, in interfaces and
// values that need the standard library alone.
package backend

import (
	"context"
	"io"
	"time"
)

// Where things are inside a sandbox, on every backend.
const (
	// DefaultWorkDir is where the user's code lives and starts.
	DefaultWorkDir = "/sandbox"
	// HomeDir is $HOME of the programs, writable and empty at first.
	HomeDir = "/home/sandbox"
	// HookDir receives the artifact hooks of the call's language.
	HookDir = "/run/sandbox/hooks"
	// ArtifactDir is where the hooks write what they captured.
	ArtifactDir = "/run/sandbox/artifacts"
	// PrefixDir is where the environment named by [Spec.Prefix] is mounted, read-only.
	PrefixDir = "/opt/sandbox"
	// UID and GID are the identity of the programs inside. They are never 0.
	UID, GID = 1000, 1000
)

// A Backend makes sandboxes on one kind of engine.
type Backend interface {
	// Name is the word that BACKEND selects this backend with.
	Name() string
	// Capabilities is constant for the backend's life. What it promises is enforced by the kernel or
	// the engine; what it does not promise, Create refuses or reports, never ignores.
	Capabilities() Capabilities
	// Probe reports whether a sandbox can be made here and now. Its error wraps [ErrUnavailable] and
	// ends in what to install, start or set.
	Probe(ctx context.Context) error
	// Create returns a running sandbox in which no program runs yet. The caller closes it, also after
	// ctx has ended.
	Create(ctx context.Context, spec Spec) (Sandbox, error)
	// Close removes every sandbox the backend still knows of. It may be called more than once.
	Close(ctx context.Context) error
}

// A Sandbox is one isolated place that runs programs. Its methods may be called concurrently.
type Sandbox interface {
	// ID is unique among all sandboxes of all servers on the machine.
	ID() string
	// Start starts a program. When ctx ends, the whole tree of its processes is killed and Wait
	// reports [Cancelled]. Processes that outlive the program are killed before Wait returns.
	Start(ctx context.Context, cmd Command) (Process, error)
	// CopyIn unpacks a tar archive below dir, which is made if missing. Names that leave dir, links
	// that point out of it and anything but files, directories and symbolic links are refused.
	CopyIn(ctx context.Context, dir string, archive io.Reader) error
	// CopyOut packs what sel selects into a tar archive; names are relative to its Dir. A missing
	// directory gives an empty archive. The caller closes the reader; closing early is fine.
	CopyOut(ctx context.Context, sel Selection) (io.ReadCloser, error)
	// Close kills everything inside and removes the sandbox. Closing twice is fine. It returns when
	// nothing of the sandbox is left, or says what is.
	Close(ctx context.Context) error
}

// A Process is a program that was started.
type Process interface {
	// Wait returns when the program and everything it started are gone and all output is written.
	// Its error is about the sandbox, never about the program.
	Wait() (Exit, error)
}

// HostRuntimes is implemented by backends whose sandboxes see the language runtimes of the host
// instead of those of an image.
type HostRuntimes interface {
	// Locate finds the programs that a language needs. It looks behind the shims of version managers.
	// A program that is missing gives an error that wraps [ErrUnavailable] and names its package.
	Locate(ctx context.Context, need Need) (Runtime, error)
}

// ImageStore is implemented by backends whose sandboxes are made from images.
type ImageStore interface {
	// HasImage reports whether an image is there, so that a sandbox can be made without a download.
	HasImage(ctx context.Context, name string) (bool, error)
}

// Need names what a language must find to run.
type Need struct {
	// Language is the name errors use.
	Language string
	// Programs are the program names looked for; each entry lists alternatives, best first.
	Programs [][]string
	// Package maps a family of distributions ("debian", "fedora", "alpine", "arch") to the package
	// that brings the programs.
	Package map[string]string
}

// A Runtime is where a language's programs were found.
type Runtime struct {
	// ID goes into [Spec.Runtime]; equal IDs see equal runtimes.
	ID string
	// Programs maps the first alternative of each entry of [Need.Programs] to the absolute path of the
	// real program inside the sandbox.
	Programs map[string]string
	// Env are NAME=value pairs the runtime needs to find its own parts.
	Env []string
	// Note says why programs earlier on the PATH were not taken; empty when there are none.
	Note string
}

// A Spec describes a sandbox. It is comparable: equal specs are interchangeable, which is what lets a
// pool share sandboxes.
type Spec struct {
	// Image names a container image. Backends without images require it to be empty.
	Image string
	// Runtime is a [Runtime.ID], for backends that implement [HostRuntimes].
	Runtime string
	// Prefix is a directory of the host that is mounted read-only at [PrefixDir]; empty for none.
	Prefix string
	// Scratch is a directory below [PrefixDir] where programs may add files; what they add lies over
	// the prefix, costs disk of this sandbox only, and is gone with it. Files of the prefix stay as they
	// are. Empty for none.
	Scratch string
	// WorkDir is the programs' working directory; empty means [DefaultWorkDir].
	WorkDir string
	// Network is what the sandbox can reach.
	Network Network
	// Limits bound the sandbox as a whole.
	Limits Limits
}

// Network is what a sandbox can reach.
type Network string

// The networks every backend knows; others are names of the engine's own networks.
const (
	// NetworkNone gives loopback and nothing else. It is also what the empty Network means.
	NetworkNone Network = "none"
	// NetworkHost shares the host's network. It is never a default.
	NetworkHost Network = "host"
)

// Limits bound a sandbox. Zero means: no limit of this kind.
type Limits struct {
	// Memory in bytes, swap and temporary files included.
	Memory int64
	// MilliCPUs is processor time in thousandths of one processor.
	MilliCPUs int64
	// Processes counts processes and threads.
	Processes int64
	// Disk is the number of bytes all writable directories can hold together.
	Disk int64
	// FileSize is the largest file that can be written, in bytes.
	FileSize int64
	// OpenFiles is per process.
	OpenFiles int64
}

// A Command is a program to start, shaped like exec.Cmd: no shell, and Env is the whole environment.
type Command struct {
	// Args is the program and its arguments. A name without a slash is looked up in PATH of Env.
	Args []string
	// Env are NAME=value pairs.
	Env []string
	// Dir is the absolute working directory; empty means the spec's.
	Dir string
	// Stdin is copied to the program; nil means empty.
	Stdin io.Reader
	// Stdout and Stderr receive what the program wrote, within Output; nil discards. Writes to one of
	// them never overlap.
	Stdout, Stderr io.Writer
	// Timeout bounds the program's wall time from its start, in the sandbox; 0 means none.
	Timeout time.Duration
	// Output bounds what is passed on of Stdout and of Stderr, each.
	Output OutputLimit
}

// OutputLimit keeps the beginning and the end of a stream. What lies between is read and dropped, so
// that the program never blocks on its own output.
type OutputLimit struct {
	// Head and Tail are the bytes kept at each end; both 0 means everything. The cut never splits a
	// UTF-8 sequence, so a few bytes fewer may be kept.
	Head, Tail int64
	// Kill is the number of bytes, of both streams together, after which the program is killed with
	// [OutputLimited]; 0 means never.
	Kill int64
}

// A Selection says what CopyOut packs.
type Selection struct {
	// Dir is the absolute directory that names are relative to.
	Dir string
	// Extensions limits the archive to regular files with one of these endings (lower case, with the
	// dot; compared without case). Empty takes directories, files and symbolic links as they are.
	Extensions []string
	// Skip are names of directories, at any depth, that are not entered.
	Skip []string
	// SkipHidden leaves out everything below Dir whose name begins with a dot.
	SkipHidden bool
	// MaxFile is the largest file taken, in bytes. A larger one is in the archive as an empty file
	// with the record [RecordSize]; 0 means no limit.
	MaxFile int64
	// MaxFiles ends the archive after that many files; 0 means no limit. The global record
	// [RecordMore] at the end then holds the number of files left out.
	MaxFiles int
}

// Records in the PAX headers that CopyOut writes.
const (
	// RecordSize holds the true size of a file that was too large to take.
	RecordSize = "SANDBOX.size"
	// RecordMore holds the number of selected files that the archive leaves out.
	RecordMore = "SANDBOX.more"
)

// Capabilities are facts about a backend, tested both ways: what is set works, what is not returns
// [ErrUnsupported] or is listed by [Unenforced].
type Capabilities struct {
	// Isolation is what separates a sandbox from the host: "vm", "container", "namespace" or "none".
	Isolation string
	// Images says that [Spec.Image] chooses what is in the sandbox.
	Images bool
	// HostNetwork says that [NetworkHost] is possible.
	HostNetwork bool
	// Memory, CPU, Processes, Disk, FileSize and OpenFiles say which limits are enforced for the
	// sandbox as a whole.
	Memory, CPU, Processes, Disk, FileSize, OpenFiles bool
	// Prefix says that [Spec.Prefix] and [Spec.Scratch] are possible.
	Prefix bool
}

// Unenforced names the limits that l asks for and c does not enforce, for the log, for doctor and for
// every result.
func (c Capabilities) Unenforced(l Limits) []string {
	var names []string
	for _, limit := range []struct {
		name     string
		asked    int64
		enforced bool
	}{
		{"memory", l.Memory, c.Memory},
		{"cpu", l.MilliCPUs, c.CPU},
		{"processes", l.Processes, c.Processes},
		{"disk", l.Disk, c.Disk},
		{"file size", l.FileSize, c.FileSize},
		{"open files", l.OpenFiles, c.OpenFiles},
	} {
		if limit.asked > 0 && !limit.enforced {
			names = append(names, limit.name)
		}
	}
	return names
}
