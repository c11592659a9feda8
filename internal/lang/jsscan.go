package lang

import (
	"strings"
	"unicode/utf8"
)

// jsSyntax is what the code uses that decides how Node must load it.
type jsSyntax struct {
	// module: import or export declarations, import.meta, or await outside of functions.
	module bool
	// commonJS: require, module, exports, __filename or __dirname.
	commonJS bool
}

// scanJavaScript finds out by following tokens and brackets, so that strings, templates, regular
// expressions and comments are not taken for code. Where the grammar is ambiguous without a full
// parser, it decides as code is commonly written.
func scanJavaScript(src string) jsSyntax {
	s := jsScanner{src: src}
	if strings.HasPrefix(src, "#!") {
		s.pos = until(src, "\n", 2)
	}
	for s.next() {
		s.closeArrows()
		s.step()
		s.prev = s.tok
	}
	return s.out
}

type jsKind int

const (
	jsNone jsKind = iota
	jsWord
	jsLiteral // number, string, template, regular expression
	jsSign
)

type jsToken struct {
	kind jsKind
	text string // of words and signs; a back quote for a template
	// newline: a line ended between this token and the one before.
	newline bool
	// value: the token ends an expression, so that a slash after it divides.
	value bool
}

// jsScope is an open bracket, or the expression that is an arrow function's body.
type jsScope struct {
	kind jsScopeKind
	// head is the word before an opening parenthesis.
	head string
}

type jsScopeKind int

const (
	jsBlock jsScopeKind = iota
	jsObject
	jsFunction
	jsClass
	jsParen
	jsBracket
	jsTemplate
	jsArrow
)

type jsScanner struct {
	src    string
	pos    int
	prev   jsToken
	tok    jsToken
	scopes []jsScope
	// functions is the number of open scopes in which await is not at the top level.
	functions int
	// closedHead is the word before the parentheses that prev closed.
	closedHead string
	// class: a class head was read and its brace is yet to come.
	class bool
	// noRegexp is the offset before which no slash begins a regular expression, because one did not
	// end in that line.
	noRegexp int
	out      jsSyntax
}

func (s *jsScanner) top() (jsScope, bool) {
	if len(s.scopes) == 0 {
		return jsScope{}, false
	}
	return s.scopes[len(s.scopes)-1], true
}

func (s *jsScanner) push(kind jsScopeKind, head string) {
	s.scopes = append(s.scopes, jsScope{kind: kind, head: head})
	if kind.hidesAwait() {
		s.functions++
	}
}

func (s *jsScanner) pop() jsScope {
	scope, ok := s.top()
	if ok {
		s.scopes = s.scopes[:len(s.scopes)-1]
		if scope.kind.hidesAwait() {
			s.functions--
		}
	}
	return scope
}

func (k jsScopeKind) hidesAwait() bool { return k == jsFunction || k == jsClass || k == jsArrow }

// closeArrows ends arrow functions without braces whose body cannot go on with the current token, and
// begins one where the token is its first.
func (s *jsScanner) closeArrows() {
	if s.prev.is("=>") && !s.tok.is("{") {
		s.push(jsArrow, "")
		return
	}
	ends := s.tok.is(",") || s.tok.is(";") || s.tok.is(")") || s.tok.is("]") || s.tok.is("}")
	if s.tok.newline && s.prev.value && (s.tok.kind == jsWord && s.tok.text != "in" && s.tok.text != "instanceof" || s.tok.is("{")) {
		ends = true // a semicolon is inserted
	}
	for ends {
		if scope, ok := s.top(); !ok || scope.kind != jsArrow {
			return
		}
		s.pop()
	}
}

func (t jsToken) is(sign string) bool { return t.kind == jsSign && t.text == sign }

func (s *jsScanner) step() {
	switch s.tok.kind {
	case jsWord:
		s.word()
	case jsSign:
		s.sign()
	case jsLiteral:
		if s.tok.text == "`" {
			s.template()
		}
	}
}

// word looks for the words that decide. After a dot and before a colon they are names of properties.
func (s *jsScanner) word() {
	if s.prev.is(".") || s.prev.is("?.") || s.prev.is("#") {
		s.tok.value = true
		return
	}
	following := s.peek()
	if following == ':' && !s.prev.is("?") {
		return
	}
	scope, nested := s.top()
	switch s.tok.text {
	case "import":
		if following == '.' || !nested && following != '(' && following != '=' {
			s.out.module = true
		}
	case "export":
		if !nested && !strings.ContainsRune("=.,;()", rune(following)) {
			s.out.module = true
		}
	case "await":
		name := strings.ContainsRune("\x00=,;).]}:&|?", rune(following)) || nested && scope.kind == jsObject && !s.prev.is(":")
		if s.functions == 0 && !name {
			s.out.module = true
		}
	case "require", "module", "exports", "__filename", "__dirname":
		s.out.commonJS = true
	case "class":
		s.class = true
	}
}

func (s *jsScanner) sign() {
	switch s.tok.text {
	case "(":
		head := ""
		if s.prev.kind == jsWord {
			head = s.prev.text
		}
		s.push(jsParen, head)
	case "[":
		s.push(jsBracket, "")
	case "{":
		s.push(s.brace(), "")
	case ")", "]":
		s.closedHead = s.pop().head
		s.tok.value = !s.tok.is(")") || !isJSHead(s.closedHead)
	case "}":
		switch s.pop().kind {
		case jsTemplate:
			s.template()
			s.tok = jsToken{kind: jsLiteral, value: true}
		case jsObject:
			s.tok.value = true
		}
	}
}

// brace tells what an opening brace begins, from what stands before it.
func (s *jsScanner) brace() jsScopeKind {
	scope, nested := s.top()
	switch {
	case s.class:
		s.class = false
		return jsClass
	case s.prev.is("=>"):
		return jsFunction
	case s.prev.is(")"):
		if isJSHead(s.closedHead) {
			return jsBlock
		}
		return jsFunction
	case s.prev.kind == jsWord:
		switch s.prev.text {
		case "static":
			if nested && scope.kind == jsClass {
				return jsFunction
			}
		case "return", "typeof", "new", "in", "of", "void", "throw", "delete", "await", "yield", "default", "import", "export", "case":
			return jsObject
		}
		return jsBlock
	case s.prev.is(":"):
		if nested && scope.kind != jsBlock && scope.kind != jsFunction {
			return jsObject
		}
		return jsBlock
	case s.prev.kind == jsSign && !s.prev.is(";") && !s.prev.is("{") && !s.prev.is("}"):
		return jsObject
	}
	return jsBlock
}

// isJSHead reports whether parentheses after the word are followed by a statement.
func isJSHead(word string) bool {
	switch word {
	case "if", "for", "while", "with", "switch", "catch", "await": // for await (…)
		return true
	}
	return false
}

// next reads a token. White space and comments are passed over.
func (s *jsScanner) next() bool {
	s.tok = jsToken{newline: s.skip()}
	if s.pos >= len(s.src) {
		return false
	}
	rest := s.src[s.pos:]
	c := rest[0]
	switch {
	case isJSLetter(c):
		n := 1
		for n < len(rest) && isJSLetter(rest[n]) {
			n++
		}
		s.pos += n
		if c >= '0' && c <= '9' {
			s.tok.kind, s.tok.value = jsLiteral, true
			return true
		}
		s.tok.kind, s.tok.text = jsWord, rest[:n]
		s.tok.value = !isJSOperatorWord(rest[:n])
	case c == '"' || c == '\'':
		s.pos += 1 + quoted(rest)
		s.tok.kind, s.tok.value = jsLiteral, true
	case c == '`':
		s.pos++
		s.tok.kind, s.tok.text, s.tok.value = jsLiteral, "`", true
	case c == '/' && !s.prev.value && s.pos >= s.noRegexp:
		if n := jsRegexp(rest); n > 0 {
			s.pos += n
			s.tok.kind, s.tok.value = jsLiteral, true
			return true
		}
		s.noRegexp = s.pos + until(rest, "\n", 1)
		fallthrough
	default:
		s.tok.kind = jsSign
		s.tok.text = rest[:1]
		for _, long := range []string{"=>", "?.", "++", "--"} {
			if strings.HasPrefix(rest, long) {
				s.tok.text = long
				// `x++ / 2` divides; what a prefix operator stands before is no regular expression.
				s.tok.value = long == "++" || long == "--"
			}
		}
		s.pos += len(s.tok.text)
	}
	return true
}

// template passes over the text of a template literal. At a substitution it opens a scope, whose end
// goes on with the text.
func (s *jsScanner) template() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case '\\':
			s.pos++
		case '`':
			s.pos++
			return
		case '$':
			if strings.HasPrefix(s.src[s.pos:], "${") {
				s.pos += 2
				s.push(jsTemplate, "")
				s.tok = jsToken{kind: jsSign, text: "${"}
				return
			}
		}
		s.pos++
	}
	s.pos = len(s.src)
}

// skip passes over white space and comments and reports whether a line ended.
func (s *jsScanner) skip() bool {
	newline := false
	for s.pos < len(s.src) {
		rest := s.src[s.pos:]
		n := 1
		switch {
		case rest[0] == '\n' || rest[0] == '\r':
			newline = true
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\v' || rest[0] == '\f':
		case strings.HasPrefix(rest, "\u00a0"), strings.HasPrefix(rest, "\ufeff"):
			_, n = utf8.DecodeRuneInString(rest)
		case strings.HasPrefix(rest, "\u2028"), strings.HasPrefix(rest, "\u2029"):
			_, n = utf8.DecodeRuneInString(rest)
			newline = true
		case strings.HasPrefix(rest, "//"):
			n = until(rest, "\n", 2)
			newline = true
		case strings.HasPrefix(rest, "/*"):
			n = until(rest, "*/", 2)
			newline = newline || strings.Contains(rest[:n], "\n")
		default:
			return newline
		}
		s.pos += n
	}
	return newline
}

// peek returns the first byte after the current token and white space, or 0 at the end.
func (s *jsScanner) peek() byte {
	ahead := *s
	ahead.skip()
	if ahead.pos < len(ahead.src) {
		return ahead.src[ahead.pos]
	}
	return 0
}

// jsRegexp returns the length of the regular expression that s begins with, or 0 if the line ends
// before it does.
func jsRegexp(s string) int {
	class := false
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\n':
			return 0
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if class {
				continue
			}
			for i++; i < len(s) && isJSLetter(s[i]); i++ {
			}
			return i
		}
	}
	return 0
}

func isJSLetter(c byte) bool {
	return c == '_' || c == '$' || c == '\\' || c >= utf8.RuneSelf ||
		c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// isJSOperatorWord reports whether an expression is still to come after the word.
func isJSOperatorWord(word string) bool {
	switch word {
	case "return", "typeof", "instanceof", "in", "of", "new", "delete", "void", "throw", "case", "do",
		"else", "yield", "await", "default", "extends":
		return true
	}
	return false
}
