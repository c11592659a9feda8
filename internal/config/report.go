package config

import (
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// An Error is about one variable that cannot be used. Its text names the variable, what is accepted, and
// the value.
type Error struct {
	Variable string
	// Value is what was set, or a stand-in where that may hold a secret.
	Value string
	// Reason reads "must …" or "is …" behind the name of the variable.
	Reason string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s (it is %q)", e.Variable, e.Reason, e.Value)
}

// A Warning is about a variable that does not do what its user may expect.
type Warning struct {
	Variable string
	// Message stands behind the name of the variable.
	Message string
}

// String returns the warning as a sentence without its full stop.
func (w Warning) String() string { return w.Variable + " " + w.Message }

// A URL is an address that may hold a user name and a password. It shows neither when it is printed or
// logged; [URL.Reveal] does.
type URL string

// Reveal returns the address with its secrets.
func (u URL) Reveal() string { return string(u) }

// String returns the address without user, password and query.
func (u URL) String() string { return withoutUser(string(u)) }

// GoString keeps %#v from showing secrets.
func (u URL) GoString() string { return fmt.Sprintf("%q", u.String()) }

// LogValue implements [slog.LogValuer].
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

const (
	redacted = "[redacted]"
	// maxShown is the number of bytes of a value that an error shows.
	maxShown = 80
)

// redact returns what may be shown of a variable's value.
func redact(name, value string) string {
	name = strings.ToUpper(name)
	for _, word := range []string{"TOKEN", "KEY", "PASSWORD", "PASSWD", "SECRET", "CREDENTIAL"} {
		if name == word || strings.HasSuffix(name, "_"+word) || strings.HasSuffix(name, "_"+word+"S") {
			return redacted
		}
	}
	value = withoutUser(value)
	if len(value) > maxShown {
		value = strings.ToValidUTF8(value[:maxShown], "") + "…"
	}
	return value
}

// withoutUser hides what a URL says before the @ of its authority and behind its question mark. What
// does not parse as a URL loses everything up to its last @.
func withoutUser(value string) string {
	if !strings.ContainsAny(value, "@?") {
		return value
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme == "" || u.Host == "" {
		if i := strings.LastIndex(value, "@"); i >= 0 {
			return redacted + value[i:]
		}
		return value
	}
	shown := u.Scheme + "://"
	if u.User != nil {
		shown += redacted + "@"
	}
	shown += u.Host + u.EscapedPath()
	if u.RawQuery != "" {
		shown += "?" + redacted
	}
	return shown
}

// unknown warns of names that look like settings of this server and are none. Those that begin with
// SANDBOX_TEST_ belong to the tests.
func unknown(env map[string]string, rows []row) []Warning {
	var warnings []Warning
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, "SANDBOX_") || strings.HasPrefix(name, "SANDBOX_TEST_") {
			continue
		}
		if slices.ContainsFunc(rows, func(r row) bool { return r.Name == name }) {
			continue
		}
		message := "is not a setting of this server"
		if near := nearest(name, rows); near != "" {
			message += "; did you mean " + near + "?"
		}
		warnings = append(warnings, Warning{name, message})
	}
	return warnings
}

// nearest returns the known name with the fewest edits to name, if they are few for its length.
func nearest(name string, rows []row) string {
	const maxLength = 64 // no known name is close to a longer one
	if len(name) > maxLength {
		return ""
	}
	best, fewest := "", len(name)/4+1
	for _, row := range rows {
		if n := distance(name, row.Name); n < fewest {
			best, fewest = row.Name, n
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b.
func distance(a, b string) int {
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
