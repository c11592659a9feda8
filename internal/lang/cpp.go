package lang

// planCPP compiles main.cpp and runs the program, whose exit code is the result's.
//
// -O1 costs no time to speak of beside the headers (measured with GCC 12: iostream 0.29 s and
// bits/stdc++.h 1.6 s at -O0, -O1 and -O2 alike) and keeps the ways in which wrong programs fail: at
// -O2 an endless recursion becomes an endless loop and a division by zero SIGILL.
func planCPP(l *Language, in Input) (Plan, error) {
	const file = "main.cpp"
	env := l.env(in)
	return Plan{
		Files: []File{{Name: file, Data: []byte(in.Code)}},
		Steps: []Step{
			{
				Name: stepCompile,
				Args: []string{in.program("g++"), "-std=c++20", "-O1", "-pthread", "-pipe",
					"-fdiagnostics-color=never", "-o", binary, file},
				Dir:     in.WorkDir,
				Env:     env,
				Compile: true,
			},
			{Name: stepRun, Args: []string{in.file(binary)}, Dir: in.WorkDir, Env: env},
		},
	}, nil
}
