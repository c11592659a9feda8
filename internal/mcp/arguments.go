package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// executeArguments are the arguments of execute_code as understood.
type executeArguments struct {
	code, language, stdin string
	libraries             []string
	// timeout is 0 if none was given.
	timeout time.Duration
	// notes are remarks for the result.
	notes []string
}

// decodeExecute reads the arguments of execute_code. Models and clients get types slightly wrong, so
// it takes numbers in strings, integers with a fraction of zero, arrays in strings, and null for what
// has a default. What it does not take is an error that names the argument and what is accepted.
func decodeExecute(raw json.RawMessage, maxTimeout time.Duration) (executeArguments, error) {
	a := executeArguments{language: "python"}
	given, err := members(raw)
	if err != nil {
		return a, err
	}
	if _, ok := given["code"]; !ok {
		return a, invalid("code: missing; give the program as a string")
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		null := string(value) == "null"
		switch {
		case name == "code":
			a.code, err = text(name, value)
		case name == "language" && !null:
			a.language, err = text(name, value)
		case name == "stdin" && !null:
			a.stdin, err = text(name, value)
		case name == "libraries" && !null:
			a.libraries, err = list(name, value)
		case name == "timeout" && !null:
			err = a.setTimeout(value, maxTimeout)
		}
		if err != nil {
			return a, err
		}
	}
	if unknown := unknownNames(given, "code", "language", "libraries", "timeout", "stdin"); unknown != "" {
		a.notes = append(a.notes, "Ignored arguments that execute_code does not have: "+unknown+".")
	}
	return a, nil
}

func (a *executeArguments) setTimeout(value json.RawMessage, most time.Duration) error {
	seconds, err := integer("timeout", value)
	switch {
	case err != nil:
		return err
	case seconds < 1:
		return invalid("timeout: must be at least 1 second, not %s", shown(value))
	case seconds > most.Seconds():
		a.timeout = most
		a.notes = append(a.notes, fmt.Sprintf("timeout %s s is above the maximum: %v s was used (SANDBOX_MAX_TIMEOUT sets it).",
			shown(value), most.Seconds()))
	default:
		a.timeout = time.Duration(seconds) * time.Second
	}
	return nil
}

// decodeLanguage reads the arguments of get_language_details.
func decodeLanguage(raw json.RawMessage) (string, error) {
	given, err := members(raw)
	if err != nil {
		return "", err
	}
	value, ok := given["language"]
	if !ok {
		return "", invalid("language: missing; give a name from get_supported_languages")
	}
	return text("language", value)
}

// members splits arguments into their values. An object that comes as a string is taken for what it
// holds.
func members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	raw = unquoted(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, invalid("arguments: must be an object such as {\"code\": \"print(1)\"}, not %s", shown(raw))
	}
	return given, nil
}

// unquoted returns the JSON that a JSON string holds, or value itself if it is something else.
func unquoted(value json.RawMessage) json.RawMessage {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value[0] != '"' {
		return value
	}
	var s string
	if json.Unmarshal(value, &s) != nil || !json.Valid([]byte(s)) {
		return value
	}
	return bytes.TrimSpace([]byte(s))
}

func text(name string, value json.RawMessage) (string, error) {
	var s *string
	if json.Unmarshal(value, &s) != nil || s == nil {
		return "", invalid("%s: must be a string, not %s", name, shown(value))
	}
	return *s, nil
}

func list(name string, value json.RawMessage) ([]string, error) {
	var items []*string
	if json.Unmarshal(unquoted(value), &items) != nil || slices.Contains(items, nil) {
		return nil, invalid("%s: must be an array of strings such as [\"numpy\"], not %s", name, shown(value))
	}
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = *item
	}
	return all, nil
}

// integer reads a whole number, which may have a fraction of zero and may stand in a string.
func integer(name string, value json.RawMessage) (float64, error) {
	var number json.Number
	if s, err := text(name, value); err == nil {
		number = json.Number(strings.TrimSpace(s))
	} else if json.Unmarshal(value, &number) != nil {
		number = ""
	}
	n, err := strconv.ParseFloat(number.String(), 64)
	// ParseFloat also takes words, hexadecimal digits and underscores.
	if err != nil || n != math.Trunc(n) || math.IsInf(n, 0) || strings.ContainsAny(number.String(), "xX_pPnN") {
		return 0, invalid("%s: must be a whole number of seconds such as 30, not %s", name, shown(value))
	}
	return n, nil
}

// unknownNames lists the members of given that are not among known; a few of them if there are many.
func unknownNames(given map[string]json.RawMessage, known ...string) string {
	const most = 5
	var names []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			names = append(names, cut(name, 40))
		}
	}
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}

// shown returns a value for an error message, cut if it is long.
func shown(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return cut(string(value), 60)
	}
	return cut(b.String(), 60)
}

// cut returns the first n characters of s in one line.
func cut(s string, n int) string {
	runes := 0
	for i := range s {
		if runes == n {
			s = s[:i] + "…"
			break
		}
		runes++
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

func invalid(format string, args ...any) error {
	return backend.Wrap(backend.ErrInvalid, fmt.Errorf(format, args...))
}
