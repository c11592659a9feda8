package lang_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

func TestExamplesRun(t *testing.T) {
	t.Parallel()
	for _, name := range lang.Builtin().Names() {
		l := lookup(t, name)
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
			got := run(t, name, lookup(t, name).Describe())
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

func TestNames(t *testing.T) {
	t.Parallel()
	want := []string{"python", "java", "javascript", "cpp", "go", "ruby", "r"}
	if diff := cmp.Diff(want, lang.Builtin().Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	padded := " Py\n"
	for name, want := range map[string]string{
		padded: "python", "python": "python", "PYTHON": "python", "python3": "python",
		"javascript": "javascript", "js": "javascript", "Node": "javascript", "nodejs": "javascript",
		"java": "java", "cpp": "cpp", "c++": "cpp", "C++": "cpp", "cxx": "cpp", "cc": "cpp",
		"go": "go", "golang": "go", "ruby": "ruby", "rb": "ruby", "r": "r", "R": "r", "Rscript": "r",
	} {
		l, err := lang.Builtin().Lookup(name)
		if err != nil || l.Name != want {
			t.Errorf("%q: %+v, %v; want %s", name, l, err, want)
		}
	}
}

func TestLookupUnknown(t *testing.T) {
	t.Parallel()
	const known = "unknown; use one of python, java, javascript, cpp, go, ruby, r"
	for name, want := range map[string]string{
		"brainfuck":               `language "brainfuck": ` + known,
		"":                        `language "": ` + known,
		"pyton":                   `language "pyton": ` + known + " (did you mean python?)",
		"Javscript":               `language "Javscript": ` + known + " (did you mean javascript?)",
		"jav":                     `language "jav": ` + known + " (did you mean java?)",
		"rubby":                   `language "rubby": ` + known + " (did you mean ruby?)",
		"c":                       `language "c": ` + known,
		"rust":                    `language "rust": ` + known,
		"typescript":              `language "typescript": ` + known,
		"bash":                    `language "bash": ` + known,
		"a\x1b[2Jb":               `language "a\x1b[2Jb": ` + known,
		strings.Repeat("é", 1000): `language "` + strings.Repeat("é", 60) + `"…: ` + known,
	} {
		l, err := lang.Builtin().Lookup(name)
		var unknown *lang.UnknownError
		if l != nil || !errors.As(err, &unknown) || unknown.Name != name {
			t.Errorf("%q: %+v, %v", name, l, err)
			continue
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("text (-want +got):\n%s", diff)
		}
	}
}

// Clients of the Python project read these keys, in this order.
func TestDetails(t *testing.T) {
	t.Parallel()
	managers := map[string]string{
		"python": "pip", "javascript": "npm", "java": "Maven", "cpp": "System packages", "go": "go mod", "r": "CRAN", "ruby": "gem",
	}
	for _, name := range lang.Builtin().Names() {
		l := lookup(t, name)
		text, err := json.Marshal(l.Details)
		if err != nil {
			t.Fatal(err)
		}
		keys := regexp.MustCompile(`^\{"version":"[^"]+","package_manager":"[^"]+","preinstalled_libraries":\[.*?\],"use_cases":\[.+?\],` +
			`"visualization_support":(true|false),"examples":\[\{"title":"[^"]+","description":"[^"]+","code":".+?"\}`)
		if !keys.Match(text) {
			t.Errorf("%s: %s", name, text)
		}
		if l.Details.PackageManager != managers[name] {
			t.Errorf("%s: package manager %q, want %q", name, l.Details.PackageManager, managers[name])
		}
		if draws := name == "python" || name == "r"; l.Details.VisualizationSupport != draws {
			t.Errorf("%s: visualization support %v", name, !draws)
		}
		if l.Image == "" || len(l.Programs) == 0 {
			t.Errorf("%s: image %q, programs %q", name, l.Image, l.Programs)
		}
		for _, family := range []string{"debian", "fedora", "alpine", "arch"} {
			if l.Package[family] == "" {
				t.Errorf("%s: no package for %s", name, family)
			}
		}
	}
}
