package config_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/config"
)

var update = flag.Bool("update", false, "rewrite the tables in the documentation")

// The tables stand between these lines.
const (
	begin = "<!-- settings: written by make generate -->\n"
	end   = "<!-- end of settings -->\n"
)

func TestTables(t *testing.T) {
	t.Parallel()
	for file, table := range map[string]string{
		"../../README.md": config.Table("###", config.GroupGeneral, config.GroupLimits, config.GroupIsolation,
			config.GroupCalls, config.GroupResults),
		"../../docs/configuration.md": config.Table("##", config.GroupEngines),
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, ok := strings.Cut(string(data), begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Errorf("%s has no lines %q and %q", file, begin, end)
			continue
		}
		want := before + begin + "\n" + table + "\n" + end + after
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(want, string(data)); diff != "" {
			t.Errorf("%s: the settings are not current; \"make generate\" writes them (-want +got):\n%s", file, diff)
		}
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, v := range config.Variables() {
		if seen[v.Name] {
			t.Errorf("%s is listed twice", v.Name)
		}
		seen[v.Name] = true
		if v.Accepts == "" || !strings.HasSuffix(v.Meaning, ".") || v.Group == "" {
			t.Errorf("%s: accepts %q, meaning %q, group %q", v.Name, v.Accepts, v.Meaning, v.Group)
		}
		if strings.ContainsAny(v.Accepts+v.Meaning+v.Default, "|\n") {
			t.Errorf("%s does not fit into a table", v.Name)
		}
	}
}
