package lang

import "path"

// planR runs main.R as Rscript does: no saved workspace is read or written, and warnings go to
// standard error.
func planR(l *Language, in Input) (Plan, error) {
	const file = "main.R"
	return Plan{
		Files: []File{{Name: file, Data: []byte(in.Code)}},
		Steps: []Step{{
			Name: stepRun,
			Args: []string{in.program("Rscript"), "--no-save", "--no-restore", in.file(file)},
			Dir:  in.WorkDir,
			Env:  l.env(in, "R_LIBS_USER="+path.Join(in.HomeDir, "R/library")),
		}},
	}, nil
}
