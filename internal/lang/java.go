package lang

import (
	"slices"
	"strconv"
	"strings"
)

// javaClasses is where the compiler writes.
const javaClasses = ".classes"

// planJava compiles the code and runs the class that has a main method. The launcher for single source
// files is not faster (measured with JDK 17: 0.46 s against 0.30 s and 0.05 s), starts the first class
// whatever the others are, and limits the program's own compiler along with its own.
func planJava(l *Language, in Input) (Plan, error) {
	src := scanJava(in.Code)
	files := javaFiles(src, in.Code)
	env := l.env(in)

	compile := []string{in.program("javac"),
		// The compiler runs too short for the optimizing compiler to pay.
		"-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-J-XX:-UsePerfData"}
	run := []string{in.program("java"), "-XX:+UseSerialGC", "-XX:-UsePerfData"}
	if in.CPUs > 0 {
		cpus := "-XX:ActiveProcessorCount=" + strconv.Itoa(in.CPUs)
		compile = append(compile, "-J"+cpus)
		run = append(run, cpus)
	}
	if heap := in.heap(); heap > 0 {
		limit := "-Xmx" + strconv.FormatInt(heap, 10) + "m"
		compile = append(compile, "-J"+limit)
		run = append(run, limit)
	}
	// suppressNotes: "uses unchecked operations" is no part of what a program says.
	compile = append(compile, "-encoding", "UTF-8", "-proc:none", "-XDsuppressNotes", "-d", javaClasses)
	for _, f := range files {
		compile = append(compile, f.Name)
	}
	run = append(run, "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-Dstderr.encoding=UTF-8",
		"-Djava.io.tmpdir=/tmp", "-cp", in.file(javaClasses), src.mainClass())

	return Plan{
		Files: files,
		Steps: []Step{
			{Name: stepCompile, Args: compile, Dir: in.WorkDir, Env: env, Compile: true},
			{Name: stepRun, Args: run, Dir: in.WorkDir, Env: env},
		},
	}, nil
}

// mainClass returns the class to start: of those with a main method a public one, one called Main, or
// the first. Where there is none the java command says so about the first class.
func (s javaSource) mainClass() string {
	name := "Main"
	if t, ok := s.mainType(); ok && !s.compact {
		name = t.name
	}
	if s.pkg != "" {
		name = s.pkg + "." + name
	}
	return name
}

func (s javaSource) mainType() (javaType, bool) {
	if len(s.types) == 0 {
		return javaType{}, false
	}
	rank := func(t javaType) int {
		r := int(t.main) * 8
		if t.depth == 0 {
			r += 4
		}
		if t.public {
			r += 2
		}
		if t.name == "Main" {
			r++
		}
		return r
	}
	return slices.MaxFunc(s.types, func(a, b javaType) int { return rank(a) - rank(b) }), true
}

// javaFiles returns the code as the files that the compiler accepts: a public type must be in a file
// of its name. Code with several public types becomes as many files; each has the others blanked out,
// so that lines and columns in messages are those of the code.
func javaFiles(src javaSource, code string) []File {
	var public, top []javaType
	for _, t := range src.types {
		if t.depth > 0 {
			continue
		}
		top = append(top, t)
		if t.public {
			public = append(public, t)
		}
	}
	sameName := func(a, b javaType) bool { return a.name == b.name }
	sorted := slices.SortedFunc(slices.Values(public), func(a, b javaType) int { return strings.Compare(a.name, b.name) })
	distinct := len(slices.CompactFunc(sorted, sameName)) == len(public)
	if len(public) < 2 || len(public)*len(code) > largestJavaSplit || src.compact || !distinct {
		return []File{{Name: javaFileName(src, public), Data: []byte(code)}}
	}
	var files []File
	for i, own := range public {
		text := []byte(code)
		for _, t := range top {
			if t.name != own.name && (i > 0 || t.public) {
				blank(text[t.start:t.end])
			}
		}
		files = append(files, File{Name: own.name + ".java", Data: text})
	}
	return files
}

// javaFileName names the only file after its public type, else after the class that is run.
func javaFileName(src javaSource, public []javaType) string {
	name := "Main"
	if t, ok := src.mainType(); ok && !src.compact {
		name = t.name
		if t.depth > 0 {
			name, _, _ = strings.Cut(name, "$")
		}
	}
	if len(public) > 0 && !src.compact {
		name = public[0].name
	}
	const longest = 200 // bytes; file systems allow 255
	if name == "" || len(name) > longest {
		name = "Main"
	}
	return name + ".java"
}

// largestJavaSplit bounds the bytes of all files that code is split into.
const largestJavaSplit = 16 << 20

// blank replaces everything but line ends and tabs by spaces.
func blank(b []byte) {
	for i, c := range b {
		if c != '\n' && c != '\t' {
			b[i] = ' '
		}
	}
}
