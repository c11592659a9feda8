package lang

import (
	"errors"
	"slices"
	"strings"
	"unicode"
)

// longestLibrary bounds an entry of the library list, in bytes.
const longestLibrary = 512

// CheckLibraries checks every entry against the grammar of the language's packages. What passes is a
// name, with a version where the language has them: never an option, a path, a URL or anything that a
// shell would act on. Space around an entry does not count. The error is a [*LibraryError] about the
// first entry that does not pass.
func (l *Language) CheckLibraries(names []string) error {
	for _, name := range names {
		if err := checkLibrary(strings.TrimSpace(name), l.rules.library); err != nil {
			return &LibraryError{Language: l.Name, Name: name, Reason: err}
		}
	}
	return nil
}

func checkLibrary(name string, grammar func(string) error) error {
	switch {
	case name == "":
		return errors.New("it is empty")
	case len(name) > longestLibrary:
		return errors.New("it is longer than 512 bytes")
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("it holds a control character")
	case name[0] == '-':
		return errors.New("options are not accepted")
	case strings.Contains(name, "://"):
		return errors.New("URLs are not accepted; give the name of a package in the registry")
	case name[0] == '/' || name[0] == '.' || name[0] == '~':
		return errors.New("paths are not accepted; give the name of a package in the registry")
	}
	return grammar(name)
}

// checkPyPI accepts what PEP 508 calls a requirement, without URLs and environment markers:
// name[extra,…] and version clauses, as in "requests[socks]>=2.31, <3" or "pandas==2.*".
func checkPyPI(name string) error {
	wrong := errors.New(`use a name as on PyPI, with extras and versions if need be: "requests[socks]>=2.31,<3"`)
	s := stream{name}
	if !s.pyName() {
		return wrong
	}
	s.space()
	if s.eat("[") {
		for {
			s.space()
			if !s.pyName() {
				return wrong
			}
			s.space()
			if s.eat("]") {
				break
			}
			if !s.eat(",") {
				return wrong
			}
		}
		s.space()
	}
	if s.rest == "" {
		return nil
	}
	for {
		s.space()
		if !s.eatAny("===", "==", "~=", "!=", "<=", ">=", "<", ">") {
			return wrong
		}
		s.space()
		if !s.version() {
			return wrong
		}
		s.space()
		if s.rest == "" {
			return nil
		}
		if !s.eat(",") {
			return wrong
		}
	}
}

// checkNPM accepts [@scope/]name[@version], the version being a version, a range without spaces or a
// tag: "lodash", "@types/node@^20.1.0", "react@latest".
func checkNPM(name string) error {
	wrong := errors.New(`use a name as on npm, with a version, range or tag if need be: "@scope/name@^1.2.0"`)
	s := stream{name}
	part := func() bool {
		// Old packages have upper case; no name begins with a dot or an underscore.
		return s.first(alnum) && s.many(alnum, "-._~")
	}
	if s.eat("@") && (!part() || !s.eat("/")) {
		return wrong
	}
	if !part() {
		return wrong
	}
	if s.rest == "" {
		return nil
	}
	if !s.eat("@") {
		return wrong
	}
	s.eatAny("^", "~", ">=", "<=", ">", "<", "=")
	if s.rest == "*" || s.first(alnum) && s.many(alnum, "-._+") && s.rest == "" {
		return nil
	}
	return wrong
}

// checkMaven accepts coordinates: group:artifact[:version].
func checkMaven(name string) error {
	wrong := errors.New(`use Maven coordinates: "com.google.code.gson:gson:2.10.1"`)
	parts := strings.Split(name, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return wrong
	}
	for _, part := range parts {
		s := stream{part}
		if !s.first(alnum) || !s.many(alnum, "-._+") || s.rest != "" || strings.Contains(part, "..") {
			return wrong
		}
	}
	return nil
}

// checkGoModule accepts the path of a module or of a package in it, with an optional @version:
// "github.com/google/uuid@v1.6.0", "golang.org/x/text@latest".
func checkGoModule(name string) error {
	wrong := errors.New(`use a module path, with a version if need be: "github.com/google/uuid@v1.6.0"`)
	modulePath, version, versioned := strings.Cut(name, "@")
	for i, element := range strings.Split(modulePath, "/") {
		s := stream{element}
		if !s.first(alnum) || !s.many(alnum, "-._~") || s.rest != "" || strings.HasSuffix(element, ".") {
			return wrong
		}
		// The first element of a path that can be fetched is a host name.
		if i == 0 && !strings.Contains(element, ".") {
			return errors.New("packages of the standard library need no installing, and the path of a module begins with a host name")
		}
	}
	if versioned {
		s := stream{version}
		if !s.first(alnum) || !s.many(alnum, "-._+") || s.rest != "" {
			return wrong
		}
	}
	return nil
}

// checkCRAN accepts the name of a package on CRAN or Bioconductor, which holds letters, digits and
// dots: "data.table".
func checkCRAN(name string) error {
	s := stream{name}
	if len(name) < 2 || !s.first(letter) || !s.many(alnum, ".") || s.rest != "" || strings.HasSuffix(name, ".") {
		return errors.New(`use a name as on CRAN or Bioconductor, without a version: "data.table"`)
	}
	return nil
}

// checkGem accepts name[:version] and what people write for the same: "rails:7.1.0", "rails -v 7.1.0",
// "rails@7.1.0".
func checkGem(name string) error {
	wrong := errors.New(`use a name as on rubygems.org, with a version if need be: "nokogiri:1.16.0"`)
	s := stream{name}
	if !s.first(alnum) || !s.many(alnum, "-._") {
		return wrong
	}
	if s.rest == "" {
		return nil
	}
	if !s.eatAny(":", "@", " -v ", " --version ") {
		return wrong
	}
	s.eatAny("~>", ">=", "<=", ">", "<", "=")
	s.space()
	if !s.first(digit) || !s.many(alnum, ".-") || s.rest != "" {
		return wrong
	}
	return nil
}

// checkDebian accepts the name of a Debian package, which is lower case: "libeigen3-dev". apt-get takes
// a sign at the end of a name for an order to install or remove, so none may come last.
func checkDebian(name string) error {
	s := stream{name}
	lower := func(c byte) bool { return digit(c) || c >= 'a' && c <= 'z' }
	if len(name) < 2 || !s.first(lower) || !s.many(lower, "-.+") || s.rest != "" ||
		strings.HasSuffix(name, "-") || strings.HasSuffix(name, "+") {
		return errors.New(`use the name of a Debian package: "libeigen3-dev"`)
	}
	return nil
}

// A stream is what is left of an entry while it is read. Its methods take what they name off the front.
type stream struct{ rest string }

func (s *stream) eat(prefix string) bool {
	rest, ok := strings.CutPrefix(s.rest, prefix)
	s.rest = rest
	return ok
}

// eatAny takes the first of the prefixes that fits.
func (s *stream) eatAny(prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, s.eat)
}

// first takes one character of a class.
func (s *stream) first(class func(byte) bool) bool {
	if s.rest == "" || !class(s.rest[0]) {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// many takes any number of characters of a class or out of extra. It is true, so that it can stand in
// a chain of conditions.
func (s *stream) many(class func(byte) bool, extra string) bool {
	s.rest = strings.TrimLeftFunc(s.rest, func(r rune) bool {
		return r <= unicode.MaxASCII && class(byte(r&unicode.MaxASCII)) || strings.ContainsRune(extra, r)
	})
	return true
}

func (s *stream) space() { s.rest = strings.TrimLeft(s.rest, " ") }

// pyName takes a name that begins and ends with a letter or digit (PEP 508).
func (s *stream) pyName() bool {
	before := s.rest
	if !s.first(alnum) {
		return false
	}
	s.many(alnum, "-._")
	taken := before[:len(before)-len(s.rest)]
	return alnum(taken[len(taken)-1])
}

// version takes a version of PEP 440, loosely: it begins with a digit, or with v before one, and may
// end in ".*".
func (s *stream) version() bool {
	s.eat("v")
	if !s.first(digit) {
		return false
	}
	s.many(alnum, "-._+!")
	s.eat("*")
	return true
}

func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func alnum(c byte) bool  { return digit(c) || letter(c) }
