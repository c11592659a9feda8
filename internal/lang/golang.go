package lang

import (
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"
)

// goCache is the build cache's directory in the prefix.
const goCache = "gocache"

// planGo builds the module in the working directory and runs the program: `go run` would turn every
// failure of the program into exit code 1. Code is one file, or several in the txtar form that the Go
// playground uses.
//
// The go.mod that is written has no go line: the go command then adds the one of its own version, so
// that code means what it means to the installed toolchain.
func planGo(l *Language, in Input) (Plan, error) {
	files, err := splitGo(in.Code)
	if err != nil {
		return Plan{}, err
	}
	target, clause := mainPackage(files)
	if !has(files, "go.mod") {
		files = append(files, File{Name: "go.mod", Data: []byte("module sandbox\n")})
	}
	cache := path.Join(in.HomeDir, ".cache/go-build")
	if in.PrefixDir != "" {
		cache = path.Join(in.PrefixDir, goCache)
	}
	env := l.env(in, goEnv(in, cache)...)
	compile := Step{
		Name:    stepCompile,
		Args:    append([]string{in.program("go"), "build"}, append(goFlags(), "-o", binary, target)...),
		Dir:     in.WorkDir,
		Env:     env,
		Compile: true,
	}
	if clause != "" && clause != "main" {
		// `go build` of a library succeeds and leaves something that is no program. `go run` says
		// that it is not a main package, and runs nothing.
		compile.Args = append([]string{in.program("go"), "run"}, append(goFlags(), target)...)
	}
	return Plan{
		Files: files,
		Steps: []Step{compile, {Name: stepRun, Args: []string{in.file(binary)}, Dir: in.WorkDir, Env: env}},
	}, nil
}

// baseGo builds the standard library into a build cache. The go command finds what is in it under any
// path, by any user, as long as its flags and environment are the same.
func baseGo(l *Language, in Input) *Base {
	in.Memory = 0 // the limit of calls is not that of the build
	return &Base{
		Dir: goCache,
		Steps: []Step{{
			Name:    stepCompile,
			Args:    append([]string{in.program("go"), "build"}, append(goFlags(), "std")...),
			Dir:     in.WorkDir,
			Env:     l.env(in, goEnv(in, in.file(goCache))...),
			Compile: true,
		}},
		Files:      []File{{Name: "go.mod", Data: []byte("module sandbox\n")}},
		Scratch:    true,
		FutureTime: true,
		Stamp:      "trim.txt",
	}
}

// goFlags are the flags of every build. Without debugging tables (-w), which traces of panics do not need,
// linking takes 0.22 s instead of 0.28 s for a program with net/http.
func goFlags() []string {
	return []string{"-mod=mod", "-buildvcs=false", "-ldflags=-w"}
}

// goEnv keeps the go command away from the network, from other toolchains and from C compilers.
func goEnv(in Input, cache string) []string {
	home := path.Join(in.HomeDir, "go")
	env := []string{
		"GOCACHE=" + cache,
		"GOPATH=" + home,
		"GOMODCACHE=" + path.Join(home, "pkg/mod"),
		"GOENV=off",
		"GOFLAGS=",
		"GOWORK=off",
		"GOPROXY=off",
		"GOSUMDB=off",
		"GOTOOLCHAIN=local",
		"CGO_ENABLED=0",
	}
	if in.Memory > 0 {
		// The collector works harder near the limit instead of running into it.
		env = append(env, "GOMEMLIMIT="+strconv.FormatInt(in.Memory/10*9, 10))
	}
	return env
}

func has(files []File, name string) bool {
	for _, f := range files {
		if f.Name == name {
			return true
		}
	}
	return false
}

// mainPackage finds the directory of the package to build, as the go command wants it, and the name in
// its package clause, which is empty when there is none.
func mainPackage(files []File) (target, clause string) {
	target = "."
	for _, f := range files {
		if !strings.HasSuffix(f.Name, ".go") || strings.HasSuffix(f.Name, "_test.go") {
			continue
		}
		name, dir := packageClause(f.Data), path.Dir(f.Name)
		switch {
		case dir == ".":
			return ".", name
		case name == "main" && clause != "main":
			target, clause = "./"+dir, name
		}
	}
	return target, clause
}

// packageClause returns the package's name, or nothing if the file does not begin with a clause.
func packageClause(src []byte) string {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", fset.Base(), len(src)), src, func(token.Position, string) {}, 0)
	if _, tok, _ := s.Scan(); tok != token.PACKAGE {
		return ""
	}
	_, _, name := s.Scan()
	return name
}

// splitGo takes code apart at lines of the form "-- name --". Code before the first such line, or
// without any, is main.go. Such a line in a raw string or in a comment is part of the code.
func splitGo(code string) ([]File, error) {
	var files []File
	name, start := "main.go", 0
	add := func(end int) error {
		text := code[start:end]
		if name == "main.go" && start == 0 && end < len(code) && strings.TrimSpace(text) == "" {
			return nil
		}
		if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, `\:`) || strings.ContainsFunc(name, unicode.IsControl) {
			return fmt.Errorf("file %s: not a relative path with slashes", quote(name))
		}
		if has(files, name) {
			return fmt.Errorf("file %s: given twice; put every file below its own -- name -- line", quote(name))
		}
		if len(files) == maxGoFiles {
			return errors.New("more than " + strconv.Itoa(maxGoFiles) + " files")
		}
		files = append(files, File{Name: name, Data: []byte(text)})
		return nil
	}
	var state goState
	offset := 0
	for line := range strings.Lines(code) {
		if next, ok := marker(line); ok && state == goCode {
			if err := add(offset); err != nil {
				return nil, err
			}
			name, start = next, offset+len(line)
		} else if path.Ext(name) == ".go" {
			state = state.after(line)
		}
		offset += len(line)
	}
	if err := add(len(code)); err != nil {
		return nil, err
	}
	return files, nil
}

// maxGoFiles is far above what anyone writes into one argument.
const maxGoFiles = 500

// marker returns the name in a line "-- name --".
func marker(line string) (string, bool) {
	name, ok := strings.CutPrefix(strings.TrimRight(line, " \t\n"), "-- ")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, " --")
	return name, ok && name != "" && !strings.ContainsAny(name, " \t")
}

// goState is what the beginning of a line is part of.
type goState int

const (
	goCode goState = iota
	goRawString
	goComment
)

// after returns the state at the end of a line.
func (s goState) after(line string) goState {
	for i := 0; i < len(line); i++ {
		switch rest := line[i:]; s {
		case goRawString:
			if rest[0] == '`' {
				s = goCode
			}
		case goComment:
			if strings.HasPrefix(rest, "*/") {
				s = goCode
				i++
			}
		default:
			switch {
			case rest[0] == '`':
				s = goRawString
			case strings.HasPrefix(rest, "/*"):
				s = goComment
				i++
			case strings.HasPrefix(rest, "//"):
				return s
			case rest[0] == '"' || rest[0] == '\'':
				i += quoted(rest)
			}
		}
	}
	return s
}

// quoted returns how many bytes after its first a literal in quotes has. It ends at its closing quote,
// or before the end of the line.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i
		case '\n':
			return i - 1
		}
	}
	return len(s) - 1
}
