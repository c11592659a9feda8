package lang

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Names of the steps.
const (
	stepCompile = "compile"
	stepRun     = "run"
)

// binary is the file in the working directory that compilers write the program to. It is hidden so
// that it is in no one's way.
const binary = ".main"

// Plan computes what runs the code of in. It reads nothing but its arguments. An error says what is
// wrong with the code; most mistakes in it are left to the language's own tools to report.
func (l *Language) Plan(in Input) (Plan, error) {
	in.Code = normalize(in.Code)
	plan, err := l.rules.plan(l, in)
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", l.Name, err)
	}
	return plan, nil
}

// program returns the path of one of the language's programs, or its name when the path is not known.
func (in Input) program(name string) string {
	if p := in.Programs[name]; p != "" {
		return p
	}
	return name
}

// file returns the absolute path of a file of the plan.
func (in Input) file(name string) string { return path.Join(in.WorkDir, name) }

// heap is the number of MiB that a garbage-collected heap may take of the sandbox's memory, or 0 if
// that is not known. The rest, a quarter but at least 192 MiB, is for stacks, code, buffers and what
// else the runtime needs; the heap never gets less than a quarter.
func (in Input) heap() int64 {
	mib := in.Memory >> 20
	return max(mib-max(192, mib/4), mib/4)
}

// usualPath is where programs are looked for on every system.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// env returns the whole environment of a step. Nothing of the host's environment is in it. Of pairs
// with the same name the last one counts: the language's own win over the common ones, and those of
// the input over both.
func (l *Language) env(in Input, own ...string) []string {
	common := []string{
		"PATH=" + l.searchPath(in),
		"HOME=" + in.HomeDir,
		"USER=sandbox",
		"LOGNAME=sandbox",
		"TMPDIR=/tmp",
		"LANG=C.UTF-8",
		"LC_ALL=C.UTF-8",
		"TZ=UTC",
		"XDG_CACHE_HOME=" + path.Join(in.HomeDir, ".cache"),
		"XDG_CONFIG_HOME=" + path.Join(in.HomeDir, ".config"),
		"XDG_DATA_HOME=" + path.Join(in.HomeDir, ".local/share"),
	}
	return merge(common, threads(in.CPUs), own, in.Env)
}

// searchPath puts the directories of the programs that were found first, so that code which starts its
// own language by name gets the same one.
func (l *Language) searchPath(in Input) string {
	var dirs []string
	for _, alternatives := range l.Programs {
		if p := in.Programs[alternatives[0]]; path.IsAbs(p) {
			dirs = append(dirs, path.Dir(p))
		}
	}
	dirs = append(dirs, strings.Split(usualPath, ":")...)
	dirs = append(dirs, l.Path...)
	var unique []string
	for _, dir := range dirs {
		if !slices.Contains(unique, dir) {
			unique = append(unique, dir)
		}
	}
	return strings.Join(unique, ":")
}

// threads tells libraries that would start a thread for every processor of the host how many the
// sandbox has.
func threads(cpus int) []string {
	if cpus <= 0 {
		return nil
	}
	n := strconv.Itoa(cpus)
	var env []string
	for _, name := range []string{
		"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", // linear algebra
		"NUMEXPR_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS", // data frames
		"PYTHON_CPU_COUNT", "GOMAXPROCS", "MC_CORES", // Python 3.13 and later, Go, R
	} {
		env = append(env, name+"="+n)
	}
	// The pool of libuv waits for files and names rather than computes: it never gets smaller than
	// its default, 4.
	return append(env, "UV_THREADPOOL_SIZE="+strconv.Itoa(max(cpus, 4)))
}

// merge joins lists of NAME=value pairs. A later pair takes the place of an earlier one of its name.
func merge(lists ...[]string) []string {
	var env []string
	place := make(map[string]int)
	for _, pair := range slices.Concat(lists...) {
		name, _, _ := strings.Cut(pair, "=")
		if i, ok := place[name]; ok {
			env[i] = pair
			continue
		}
		place[name] = len(env)
		env = append(env, pair)
	}
	return env
}
