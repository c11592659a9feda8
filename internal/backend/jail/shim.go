package jail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// askTimeout bounds how long a program may take to say where it is. Version managers take about 0.1 s.
const askTimeout = 2 * time.Second

// forget is the time after which a program that could not answer is asked again.
const forget = 30 * time.Second

// A question makes a program tell where it really is: what is on the path may be the script or the
// multi-call binary of a version manager.
type question struct {
	// program to run, if it is not the one that was found but one beside it.
	program string
	args    []string
	// read turns the output into an installation whose prefixes are as the program names them.
	read func(program, output string) (installation, error)
}

// pythonLibraries are what makes a Python useful for data; /usr/bin/python3 often has them from
// packages where a version manager's has not.
const pythonLibraries = "numpy matplotlib"

func wantsLibraries(name string) bool { return name == "python3" }

// questionFor returns what to ask the program of that name, or false if it tells nothing: a compiler is
// where it was found.
func questionFor(name string) (question, bool) {
	switch name {
	case "python3":
		return question{
			args: []string{"-I", "-c", "import sys, importlib.util as u; print(sys.executable, sys.prefix, sys.base_prefix, " +
				"all(u.find_spec(m) for m in '" + pythonLibraries + "'.split()), sep='\\n')"},
			read: func(_, output string) (installation, error) {
				lines := strings.Split(output, "\n")
				if len(lines) != 4 {
					return installation{}, errShim
				}
				return installation{program: lines[0], prefixes: lines[1:3], complete: lines[3] == "True"}, nil
			},
		}, true
	case "node":
		return question{
			args: []string{"-p", "process.execPath"},
			read: func(_, output string) (installation, error) {
				return installation{program: output, prefixes: []string{parentOfBin(output)}}, nil
			},
		}, true
	case "ruby":
		return question{
			args: []string{"--disable-gems", "-rrbconfig", "-e", "puts RbConfig.ruby, RbConfig::CONFIG['prefix']"},
			read: func(_, output string) (installation, error) {
				program, prefix, _ := strings.Cut(output, "\n")
				return installation{program: program, prefixes: []string{prefix}}, nil
			},
		}, true
	case "go":
		return question{
			args: []string{"env", "GOROOT"},
			read: func(_, output string) (installation, error) {
				return installation{
					program:  filepath.Join(output, "bin", "go"),
					prefixes: []string{output},
					env:      []string{"GOROOT=" + output},
				}, nil
			},
		}, true
	case "java":
		return question{args: []string{"-XshowSettings:properties", "-version"}, read: readJavaHome}, true
	case "javac":
		return question{args: []string{"-J-XshowSettings:properties", "-version"}, read: readJavaHome}, true
	case "Rscript":
		return question{
			program: "R", args: []string{"RHOME"},
			read: func(program, output string) (installation, error) {
				resolved, err := filepath.EvalSymlinks(program)
				return installation{program: resolved, prefixes: []string{parentOfBin(resolved), output}}, err
			},
		}, true
	}
	return question{}, false
}

func readJavaHome(program, output string) (installation, error) {
	for line := range strings.Lines(output) {
		name, home, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if ok && name == "java.home" {
			return installation{
				program:  filepath.Join(home, "bin", filepath.Base(program)),
				prefixes: []string{home},
				env:      []string{"JAVA_HOME=" + home},
			}, nil
		}
	}
	return installation{}, errShim
}

// parentOfBin returns the prefix of a program PREFIX/bin/NAME; of one that is elsewhere, its directory.
func parentOfBin(program string) string {
	dir := filepath.Dir(program)
	if filepath.Base(dir) == "bin" {
		return filepath.Dir(dir)
	}
	return dir
}

// inspect finds out where a candidate really is and whether a sandbox can run it. The program is
// started for that only if it lies outside of the system's directories, is a script or a link to a
// program of another name, or libraries are asked for.
func (f *Finder) inspect(ctx context.Context, name, candidate string, libraries bool) (installation, error) {
	resolved, err := filepath.EvalSymlinks(candidate)
	if err != nil {
		return installation{}, err
	}
	q, ok := questionFor(name)
	system := f.shown(candidate, nil) && f.shown(resolved, nil)
	if system && !libraries && (!ok || !isScript(resolved) && strings.HasPrefix(filepath.Base(resolved), name)) {
		return systemInstallation(candidate, resolved), nil
	}
	in := installation{program: candidate, prefixes: []string{parentOfBin(resolved)}}
	if ok {
		if in, err = f.ask(ctx, q, candidate); err != nil {
			return installation{}, err
		}
	}
	if in.prefixes, err = f.mountable(in.prefixes); err != nil {
		return installation{}, err
	}
	if resolved, err = filepath.EvalSymlinks(in.program); err != nil {
		return installation{}, err
	}
	for _, path := range []string{in.program, resolved} {
		if !f.shown(path, in.prefixes) {
			return installation{}, fmt.Errorf("%s is outside of its own directory", path)
		}
	}
	for _, path := range []string{filepath.Dir(resolved), resolved} {
		if err := readable(path); err != nil {
			return installation{}, err
		}
	}
	if err := f.loadable(resolved, in.prefixes); err != nil {
		return installation{}, err
	}
	if ok && !f.shown(resolved, nil) {
		return f.startable(ctx, q, in)
	}
	return in, nil
}

// systemInstallation is a program that needs nothing but what every sandbox shows. A link that only
// chooses among versions (java in /etc/alternatives) is followed; one that a program is called by
// (clang++, which tells what to compile from its name) is kept.
func systemInstallation(candidate, resolved string) installation {
	in := installation{program: candidate}
	if filepath.Base(resolved) == filepath.Base(candidate) {
		in.program = resolved
	}
	if name := filepath.Base(resolved); name == "java" || name == "javac" {
		in.env = []string{"JAVA_HOME=" + parentOfBin(resolved)}
	}
	return in
}

// startable starts the real program as a sandbox will, without what a shim may have set for it. One
// that then misses its libraries gets the lib directories of its prefixes.
func (f *Finder) startable(ctx context.Context, q question, in installation) (installation, error) {
	_, err := f.ask(ctx, q, in.program)
	if err == nil {
		return in, nil
	}
	var libs []string
	for _, prefix := range in.prefixes {
		libs = append(libs, filepath.Join(prefix, "lib"))
	}
	pair := "LD_LIBRARY_PATH=" + strings.Join(libs, ":")
	if _, again := f.ask(ctx, q, in.program, pair); again != nil {
		return installation{}, err
	}
	in.env = append(in.env, pair)
	return in, nil
}

func isScript(name string) bool {
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // it was only read
	magic := make([]byte, 2)
	n, err := file.Read(magic)
	return err == nil && string(magic[:n]) == "#!"
}

// An answer is kept until the file it is about is replaced.
type answer struct {
	in   installation
	err  error
	time time.Time
	// real identifies the program that a shim led to.
	real fileID
}

// ask starts a program of the host and reads what it says about itself.
func (f *Finder) ask(ctx context.Context, q question, program string, env ...string) (installation, error) {
	id, err := identify(program)
	if err != nil {
		return installation{}, err
	}
	id.env = strings.Join(env, " ")
	f.mu.Lock()
	known, ok := f.asked[id]
	f.mu.Unlock()
	if ok && known.fresh() {
		return known.in.clone(), known.err
	}
	in, err := f.run(ctx, q, program, env)
	if ctx.Err() != nil {
		return in, err // says nothing about the program
	}
	kept := answer{in: in.clone(), err: err, time: time.Now()}
	if err == nil {
		if kept.real, err = identify(in.program); err != nil {
			return installation{}, err
		}
	}
	f.mu.Lock()
	f.asked[id] = kept
	f.mu.Unlock()
	return in, kept.err
}

func (a answer) fresh() bool {
	if a.err != nil {
		return time.Since(a.time) < forget
	}
	now, err := identify(a.in.program)
	return err == nil && now == a.real
}

func (in installation) clone() installation {
	in.prefixes, in.env = slices.Clone(in.prefixes), slices.Clone(in.env)
	return in
}

func (f *Finder) run(ctx context.Context, q question, program string, env []string) (installation, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	start := program
	if q.program != "" {
		start = filepath.Join(filepath.Dir(program), q.program)
	}
	cmd := exec.CommandContext(ctx, start, q.args...)
	cmd.Dir = "/"
	cmd.Env = append([]string{"PATH=" + f.options.Path, "LC_ALL=C", "GOTOOLCHAIN=local"}, env...)
	if f.options.Home != "" {
		cmd.Env = append(cmd.Env, "HOME="+f.options.Home)
	}
	killTree(cmd)
	cmd.WaitDelay = time.Second
	var output, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return installation{}, fmt.Errorf("it did not answer within %v", askTimeout)
		}
		return installation{}, fmt.Errorf("%s: %w%s", start, err, lastLine(stderr.String()))
	}
	text := strings.TrimSpace(output.String())
	if text == "" {
		text = strings.TrimSpace(stderr.String()) // where java puts its settings
	}
	in, err := q.read(program, text)
	if err != nil {
		return installation{}, err
	}
	if !filepath.IsAbs(in.program) || !executable(in.program) {
		return installation{}, errShim
	}
	return in, nil
}

// lastLine is the end of what a program complained about, to be put after its error.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	if s == "" {
		return ""
	}
	return ": " + s
}
