package config

import (
	"fmt"
	"strings"
)

//go:generate go test -run=^TestTables$ -update .

// Table returns the variables of the groups as Markdown, one table with a heading for each group that
// level, such as "##", begins.
func Table(level string, groups ...Group) string {
	var b strings.Builder
	for i, group := range groups {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s %s\n\n| variable | default | accepts | meaning |\n|---|---|---|---|\n", level, group)
		for _, v := range Variables() {
			if v.Group != group {
				continue
			}
			value := v.Default
			if value != "" && !strings.Contains(value, " ") {
				value = "`" + value + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.Name, value, v.Accepts, v.Meaning)
		}
	}
	return b.String()
}
