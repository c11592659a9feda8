package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

func printHead(w io.Writer, d *diagnosis) {
	fmt.Fprintf(w, "llm-sandbox-mcp %s on %s\n", d.Version, d.Platform)
	if len(d.Settings) > 0 {
		fmt.Fprint(w, "\nSettings\n")
	}
	for _, s := range d.Settings {
		fmt.Fprintf(w, "  %s\n", indent(s))
	}
}

func printBackend(w io.Writer, d backendDiagnosis, whole *diagnosis) {
	fmt.Fprintf(w, "\nBackend %s: ", d.Name)
	switch {
	case d.Problem != "":
		fmt.Fprintf(w, "does not work\n  %s\n", indent(d.Problem))
		return
	case d.Name == whole.Backend:
		fmt.Fprint(w, "works, and runs the programs\n")
	case whole.wanted == "":
		fmt.Fprint(w, "works, but runs nothing before the settings are right\n")
	default:
		fmt.Fprint(w, "works, but BACKEND names another\n")
	}
	limits := strings.Join(d.Enforced, ", ")
	if d.Cgroups != "" {
		limits += "; control groups: " + d.Cgroups
	}
	printRow(w, "isolation", d.Isolation)
	printRow(w, "limits held", limits)
	printRow(w, "limits not held", strings.Join(d.Unenforced, ", "))
	printRow(w, "why not", d.Why)
	printRow(w, "in a sandbox", strings.Join(d.Inside, ", "))
}

func printRow(w io.Writer, name, value string) {
	if value != "" {
		fmt.Fprintf(w, "  %-16s %s\n", name, value)
	}
}

func printLanguagesHead(w io.Writer, backend string) {
	fmt.Fprintf(w, "\nLanguages on %s\n", backend)
}

func printLanguageName(w io.Writer, name string) { fmt.Fprintf(w, "  %-11s ", name) }

func printLanguage(w io.Writer, d languageDiagnosis) {
	if d.Missing != "" {
		fmt.Fprintf(w, "not downloaded yet: %s; the first call does that\n", d.Missing)
		return
	}
	if d.Problem != "" {
		fmt.Fprintf(w, "does not work: %s\n", indent(d.Problem))
		return
	}
	fmt.Fprintf(w, "%-16s %6.2f s  %s\n", d.Version, d.Seconds, strings.Join(d.Programs, " "))
	if d.Note != "" {
		fmt.Fprintf(w, "  %-11s %s\n", "", indent(d.Note))
	}
}

func printCache(w io.Writer, d cacheDiagnosis) {
	fmt.Fprintf(w, "\nCache %s: ", cmp.Or(d.Dir, "none"))
	if d.Problem != "" {
		fmt.Fprintf(w, "cannot be used\n  %s\n", indent(d.Problem))
		return
	}
	fmt.Fprintf(w, "%.1f MiB in environments that were built once (%d)\n", float64(d.Bytes)/(1<<20), d.Environments)
}

// indent keeps further lines of a text in its column.
func indent(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") }
