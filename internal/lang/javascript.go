package lang

import (
	_ "embed"
	"strconv"
)

// commonJS gives a module the names of CommonJS; it is loaded ahead of code that needs both.
//
//go:embed data/javascript/commonjs.cjs
var commonJS []byte

// planJavaScript runs code as what it was written as: an ES module if it imports, exports or awaits at
// the top level, else CommonJS. Models mix the two; a module that uses names of CommonJS gets them.
func planJavaScript(l *Language, in Input) (Plan, error) {
	args := []string{in.program("node")}
	if heap := in.heap(); heap > 0 {
		args = append(args, "--max-old-space-size="+strconv.FormatInt(heap, 10))
	}
	var files []File
	name := "main.js"
	if syntax := scanJavaScript(in.Code); syntax.module {
		name = "main.mjs"
		if syntax.commonJS {
			const globals = ".commonjs.cjs"
			files = append(files, File{Name: globals, Data: commonJS})
			args = append(args, "--require="+in.file(globals))
		}
	}
	return Plan{
		Files: append(files, File{Name: name, Data: []byte(in.Code)}),
		Steps: []Step{{
			Name: stepRun,
			Args: append(args, in.file(name)),
			Dir:  in.WorkDir,
			Env:  l.env(in),
		}},
	}, nil
}
