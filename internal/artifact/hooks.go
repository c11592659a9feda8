package artifact

import (
	"embed"
	"path"
	"slices"
)

//go:embed hooks
var hooks embed.FS

// Where the sandbox keeps the hooks and what they capture. Both equal the directories of the same
// purpose in package backend, which this package does not import.
const (
	hookDir    = "/run/sandbox/hooks"
	captureDir = "/run/sandbox/artifacts"
)

// captureEnv tells the hooks where to write. Child processes inherit it and capture as well.
const captureEnv = "SANDBOX_ARTIFACTS=" + captureDir

// Hooks returns what captures the figures of a program: files to put below the sandbox's hook
// directory, by their path relative to it, and NAME=value pairs for the program's environment.
// Languages whose figures are files anyway have neither.
//
// What is shown or saved is on disk before the call that did it returns. A program that is killed loses
// figures that it had neither shown nor saved, and of R what the expression at top level that was
// running had drawn on its last page. With SANDBOX_DEBUG in the program's environment, the Python hooks
// tell on standard error what went wrong in them.
func Hooks(language string) (files map[string][]byte, env []string) {
	switch language {
	case "python":
		env = []string{
			captureEnv,
			"PYTHONPATH=" + hookDir + "/python",
			"MPLBACKEND=Agg",
		}
	case "r":
		env = []string{
			captureEnv,
			"R_PROFILE_USER=" + hookDir + "/r/profile.R",
		}
	default:
		return nil, nil
	}
	return hookFiles(language), env
}

// hookFiles reads the embedded hooks of a language, which cannot fail.
func hookFiles(language string) map[string][]byte {
	files := make(map[string][]byte)
	add := func(from, to string) {
		entries, _ := hooks.ReadDir(from)
		for _, entry := range entries {
			files[path.Join(to, entry.Name())], _ = hooks.ReadFile(path.Join(from, entry.Name()))
		}
	}
	add("hooks/"+language, language)
	if language == "python" {
		// Compiling sitecustomize.py would take 1.5 ms of every start. Other versions of Python than
		// those here do it all the same.
		add("hooks/bytecode", "python/__pycache__")
	}
	return files
}

// extensions are the endings of files that are collected from the working directory. JSON, text and
// Markdown are left out on purpose: projects keep their own settings and notes in them.
var extensions = [...]string{
	".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".svg", ".pdf", ".html", ".htm", ".csv", ".tsv",
}

// Extensions returns the endings, lower case and with the dot, of the files that are collected from
// the working directory.
func Extensions() []string { return slices.Clone(extensions[:]) }
