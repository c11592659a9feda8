package lang

import (
	"fmt"
	"strings"
)

// An UnknownError says that there is no language of that name.
type UnknownError struct {
	// Name is what was asked for.
	Name string
	// Known are the canonical names of the languages that there are.
	Known []string
	// Nearest is the one that may have been meant, or empty.
	Nearest string
}

// Error implements error.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("language %s: unknown; use one of %s", quote(e.Name), strings.Join(e.Known, ", "))
	if e.Nearest != "" {
		text += fmt.Sprintf(" (did you mean %s?)", e.Nearest)
	}
	return text
}

// A LibraryError says that an entry of the library list is not a name of a library.
type LibraryError struct {
	// Language is the canonical name of the language.
	Language string
	// Name is the entry as it was given.
	Name string
	// Reason says what is wrong and what a right entry looks like.
	Reason error
}

// Error implements error.
func (e *LibraryError) Error() string {
	return fmt.Sprintf("libraries: %s is not a valid %s package: %v", quote(e.Name), e.Language, e.Reason)
}

// Unwrap returns the reason.
func (e *LibraryError) Unwrap() error { return e.Reason }

// quote makes text of a client safe to print in one line: escaped, and cut to 60 runes.
func quote(s string) string {
	const longest = 60
	runes := 0
	for i := range s {
		if runes == longest {
			return fmt.Sprintf("%q…", s[:i])
		}
		runes++
	}
	return fmt.Sprintf("%q", s)
}
