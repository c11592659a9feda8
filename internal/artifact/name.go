package artifact

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the longest name handed over, in bytes.
const maxName = 120

// safeName makes a file name safe to show: valid UTF-8 without slashes, control characters and
// characters that change the direction of text, and not too long. The ending is kept.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r == '/' || r == '\\' || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, name)
	name = strings.TrimSpace(name)
	if ext := path.Ext(name); len(name) > maxName && len(ext) < maxName/2 {
		return cut(strings.TrimSuffix(name, ext), maxName-len(ext)) + ext
	}
	if name = cut(name, maxName); strings.Trim(name, ".") == "" {
		return "file"
	}
	return name
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// names hands out names, each once.
type names map[string]bool

// unique returns name, or name with the first free number before its ending.
func (taken names) unique(name string) string {
	stem, ext := strings.TrimSuffix(name, path.Ext(name)), path.Ext(name)
	free := name
	for n := 2; taken[strings.ToLower(free)]; n++ {
		free = fmt.Sprintf("%s-%d%s", cut(stem, maxName-len(ext)-6), n, ext)
	}
	taken[strings.ToLower(free)] = true
	return free
}
