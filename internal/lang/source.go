package lang

import "strings"

// normalize takes off what a transport or a chat put around code and no language wants: a byte order
// mark, CR before LF, and a Markdown fence.
func normalize(code string) string {
	code = strings.TrimPrefix(code, "\ufeff")
	code = strings.ReplaceAll(code, "\r\n", "\n")
	return unfence(code)
}

// unfence returns the inside of a Markdown fence if the code is one fenced block and nothing else.
// Where there is text around the block, or a second block, it is not for us to say what is meant, and
// the language reports its own syntax error.
func unfence(code string) string {
	block := strings.TrimSpace(code)
	first, rest, found := strings.Cut(block, "\n")
	if !found {
		return code
	}
	info := strings.TrimLeft(first, "`~")
	fence := first[:len(first)-len(info)]
	if len(fence) < 3 || strings.Trim(fence, fence[:1]) != "" || strings.ContainsAny(info, "`") || len(strings.Fields(info)) > 1 {
		return code
	}
	body, ok := strings.CutSuffix("\n"+rest, "\n"+fence)
	if !ok || strings.Contains(body, "\n"+fence) {
		return code
	}
	return strings.TrimPrefix(body, "\n") + "\n"
}

// dedent takes the indentation off that all lines with something on them share. Python rejects code
// whose first line is indented, so no program that works is changed.
func dedent(code string) string {
	var margin string
	first := true
	for line := range strings.Lines(code) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if first {
			margin, first = indent, false
		}
		for !strings.HasPrefix(indent, margin) {
			margin = margin[:len(margin)-1]
		}
		if margin == "" {
			return code
		}
	}
	var out strings.Builder
	for line := range strings.Lines(code) {
		out.WriteString(strings.TrimPrefix(line, margin))
	}
	return out.String()
}
