package lang

// planPython runs main.py: no module of the standard library has that name. Its path is absolute, so
// that __file__ stays true when the program changes its directory.
func planPython(l *Language, in Input) (Plan, error) {
	const file = "main.py"
	return Plan{
		Files: []File{{Name: file, Data: []byte(dedent(in.Code))}},
		Steps: []Step{{
			Name: stepRun,
			Args: []string{in.program("python3"), in.file(file)},
			Dir:  in.WorkDir,
			Env: l.env(in,
				"PYTHONUNBUFFERED=1", // what was printed is there when the program is killed
				"PYTHONIOENCODING=utf-8",
				"PYTHONDONTWRITEBYTECODE=1",
			),
		}},
	}, nil
}
