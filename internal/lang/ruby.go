package lang

import "path"

// syncRuby makes what was printed be there when the program is killed: Ruby keeps output to a pipe
// back until its buffer is full.
const syncRuby = "$stdout.sync = true\n"

// planRuby runs main.rb. Gems that the program installs go below the home directory.
func planRuby(l *Language, in Input) (Plan, error) {
	const file, sync = "main.rb", ".sync.rb"
	return Plan{
		Files: []File{
			{Name: file, Data: []byte(in.Code)},
			{Name: sync, Data: []byte(syncRuby)},
		},
		Steps: []Step{{
			Name: stepRun,
			Args: []string{in.program("ruby"), "-r" + in.file(sync), in.file(file)},
			Dir:  in.WorkDir,
			Env: l.env(in,
				"GEM_HOME="+path.Join(in.HomeDir, ".gem"),
				"GEM_SPEC_CACHE="+path.Join(in.HomeDir, ".gem/specs"),
			),
		}},
	}, nil
}
