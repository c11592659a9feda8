package artifact_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

func TestHooks(t *testing.T) {
	t.Parallel()
	for language, want := range map[string][]string{
		"python": {
			"SANDBOX_ARTIFACTS=" + backend.ArtifactDir, "PYTHONPATH=" + backend.HookDir + "/python", "MPLBACKEND=Agg",
		},
		"r":          {"SANDBOX_ARTIFACTS=" + backend.ArtifactDir, "R_PROFILE_USER=" + backend.HookDir + "/r/profile.R"},
		"javascript": nil,
		"":           nil,
	} {
		files, env := artifact.Hooks(language)
		if diff := cmp.Diff(want, env); diff != "" {
			t.Errorf("%s: environment (-want +got):\n%s", language, diff)
		}
		if (files == nil) != (want == nil) {
			t.Errorf("%s: %d files", language, len(files))
		}
		for _, name := range slices.Collect(maps.Keys(files)) {
			if !strings.HasPrefix(name, language+"/") || len(files[name]) == 0 {
				t.Errorf("%s: file %s of %d bytes", language, name, len(files[name]))
			}
		}
	}
	files, _ := artifact.Hooks("python")
	for _, name := range []string{"python/sitecustomize.py", "python/__pycache__/sitecustomize.cpython-311.pyc"} {
		if files[name] == nil {
			t.Errorf("no file %s", name)
		}
	}
}
