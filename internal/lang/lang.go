// Package lang describes the languages as data and computes, purely, the files and commands that run
// a piece of code.
package lang

// A Language is one language as its description file has it.
type Language struct {
	// Name is the canonical name, Aliases are other names that Lookup accepts.
	Name    string
	Aliases []string
	// Details is what get_language_details answers.
	Details Details
	// Image is the container image used when no other is configured.
	Image string
	// Programs are the program names that the plan's steps start with, each with its alternatives,
	// best first. Package maps a family of distributions to the package that brings them.
	Programs [][]string
	Package  map[string]string
	// Path are directories where images of the language keep programs, searched after the usual ones.
	Path []string

	describe string
	rules    rules
}

// Describe returns a program in the language itself that prints one line of JSON: the "version" of the
// runtime and the "libraries" that a program can use, out of those worth telling a client about. It
// looks them up without loading them.
func (l *Language) Describe() string { return l.describe }

// Details is what a client is told of a language. The keys and their order are those of the Python
// project llm-sandbox, whose clients this server serves.
type Details struct {
	Version               string    `json:"version"`
	PackageManager        string    `json:"package_manager"`
	PreinstalledLibraries []string  `json:"preinstalled_libraries"`
	UseCases              []string  `json:"use_cases"`
	VisualizationSupport  bool      `json:"visualization_support"`
	Examples              []Example `json:"examples"`
}

// An Example is a program that a client may show.
type Example struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Code        string `json:"code"`
}

// Input is what a plan is made from.
type Input struct {
	Code string
	// WorkDir, HomeDir and PrefixDir are absolute paths in the sandbox. PrefixDir is empty when the
	// sandbox has no environment.
	WorkDir, HomeDir, PrefixDir string
	// Programs maps the first alternative of each of the language's Programs to the path to start;
	// names that are not in it are looked up in the sandbox's PATH.
	Programs map[string]string
	// Env are NAME=value pairs that the runtime or the artifact hooks need; they come after the
	// language's own and win.
	Env []string
	// CPUs is the number of processors the sandbox may use, rounded up; Memory its limit in bytes.
	// Zero means unknown.
	CPUs   int
	Memory int64
}

// A Plan is everything needed to run a piece of code.
type Plan struct {
	// Files are put into the working directory before the first step.
	Files []File
	// Steps run in order; the first that does not exit with 0 ends the run.
	Steps []Step
}

// A File is a file of a plan. Name is relative to the working directory and uses slashes.
type File struct {
	Name string
	Data []byte
	// Executable sets the execute bits.
	Executable bool
}

// A Step is one command of a plan. Its output is the program's own only if Compile is false; what a
// compiler writes goes to stderr.
type Step struct {
	// Name is what results call the step: "compile" or "run".
	Name string
	// Args is the program and its arguments, Env the whole environment, Dir the working directory.
	Args []string
	Env  []string
	Dir  string
	// Compile marks a step whose standard output belongs to the compiler.
	Compile bool
}
