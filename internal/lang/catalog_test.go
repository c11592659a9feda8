package lang_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

func TestExamplesRun(t *testing.T) {
	t.Parallel()
	for _, name := range lang.Builtin().Names() {
		l, err := lang.Builtin().Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, example := range l.Details.Examples {
			t.Run(name+"/"+example.Title, func(t *testing.T) {
				t.Parallel()
				got := run(t, name, example.Code)
				if got.code != 0 || got.stderr != "" {
					t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
				}
				drawsOnly := name == "python" && example.Title == "Plot with matplotlib" || name == "r" && example.Title == "Plot"
				if got.stdout == "" && !drawsOnly {
					t.Error("prints nothing")
				}
			})
		}
	}
}

func TestDescribeRuns(t *testing.T) {
	t.Parallel()
	for _, name := range lang.Builtin().Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := lang.Builtin().Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, name, l.Describe())
			if got.code != 0 || got.stderr != "" {
				t.Fatalf("exit code %d, stderr %q", got.code, got.stderr)
			}
			var answer struct {
				Version   string   `json:"version"`
				Libraries []string `json:"libraries"`
			}
			if err := json.Unmarshal([]byte(got.stdout), &answer); err != nil {
				t.Fatalf("answer %q: %v", got.stdout, err)
			}
			t.Logf("%+v", answer)
			if answer.Version == "" || answer.Libraries == nil {
				t.Errorf("answer %q lacks something", got.stdout)
			}
			if name == "cpp" && !slices.Contains(answer.Libraries, "STL") {
				t.Errorf("libraries %q lack STL", answer.Libraries)
			}
		})
	}
}
