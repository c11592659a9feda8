package lang

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// javaSource is what the outline of a Java file says: which types it declares and which can be started.
type javaSource struct {
	pkg   string
	types []javaType // in order, nested types after the one they are in
	// compact: a main method stands outside of any type (Java 25 and later).
	compact bool
}

// javaType is a class, record, enum or interface.
type javaType struct {
	name   string // as the java command wants it: Outer$Inner, without the package
	depth  int    // 0 for a top-level type
	public bool
	main   mainKind
	// start and end are the byte offsets of the declaration, with what stands between it and the
	// one before.
	start, end int
}

// mainKind says how a type can be started: 0 not at all; a higher one is preferred.
type mainKind int

const (
	// instanceMain: what Java 25 starts and older versions do not, such as `void main()`.
	instanceMain mainKind = iota + 1
	// classicMain: public static void main(String[]).
	classicMain
)

// scanJava reads the outline of src. Source that is wrong gives an outline of some kind; the compiler
// reports the mistake.
func scanJava(src string) javaSource {
	p := javaParser{lexer: javaLexer{src: src}}
	for p.next() {
		p.step()
	}
	return p.out
}

// javaParser follows braces. Within each pair it looks at one declaration at a time: what stands
// between two of the characters ; { }.
type javaParser struct {
	lexer  javaLexer
	tok    string
	out    javaSource
	frames []javaFrame
	parens int
	// decl are the tokens of the current declaration outside of parentheses, declStart its offset, and
	// modifiers those of its tokens that matter.
	decl      []string
	declStart int
	modifiers javaModifiers
	// pending is the index of a type whose opening brace is yet to come, or -1 through hasPending.
	pending    int
	hasPending bool
	// params are the tokens in the first parentheses after `void main`; inMain while they are read.
	params []string
	inMain bool
}

type javaModifiers struct{ public, private, static bool }

// deepestJavaType is the nesting down to which types are looked at.
const deepestJavaType = 8

// javaFrame is an open brace: the body of a type, or something else.
type javaFrame struct {
	typ int // index in out.types, or -1
}

func (p *javaParser) next() bool {
	p.tok = p.lexer.next()
	return p.tok != ""
}

func (p *javaParser) step() {
	switch p.tok {
	case "(":
		if p.parens == 0 {
			p.inMain = p.at("void", "main")
			p.params = nil
		}
		p.parens++
		return
	case ")":
		p.parens = max(p.parens-1, 0)
		if p.parens == 0 && p.inMain {
			p.inMain = false
			p.foundMain()
		}
		return
	}
	if p.parens > 0 {
		if p.inMain {
			p.params = append(p.params, p.tok)
		}
		// A brace in parentheses is an array or a lambda in an annotation or an argument. It is
		// balanced within them, or the source is wrong.
		return
	}
	switch p.tok {
	case ";":
		p.endDeclaration()
	case "{":
		typ := -1
		if p.hasPending {
			typ, p.hasPending = p.pending, false
		}
		p.frames = append(p.frames, javaFrame{typ: typ})
		p.reset()
	case "}":
		if n := len(p.frames); n > 0 {
			if typ := p.frames[n-1].typ; typ >= 0 {
				p.out.types[typ].end = p.lexer.pos
			}
			p.frames = p.frames[:n-1]
		}
		p.reset()
		if len(p.frames) == 0 {
			p.declStart = p.lexer.pos
		}
	default:
		p.word()
	}
}

// at reports whether the current declaration ends in these tokens.
func (p *javaParser) at(tokens ...string) bool {
	n := len(p.decl) - len(tokens)
	if n < 0 {
		return false
	}
	for i, t := range tokens {
		if p.decl[n+i] != t {
			return false
		}
	}
	return true
}

func (p *javaParser) endDeclaration() {
	if len(p.frames) == 0 {
		for i, t := range p.decl {
			if t == "package" {
				p.out.pkg = strings.Join(p.decl[i+1:], "")
				p.declStart = p.lexer.pos
			}
		}
		if len(p.decl) > 0 && p.decl[0] == "import" && len(p.out.types) == 0 {
			p.declStart = p.lexer.pos
		}
	}
	p.reset()
	p.hasPending = false
}

func (p *javaParser) reset() {
	p.decl, p.modifiers = nil, javaModifiers{}
}

// word takes a token that is neither bracket nor semicolon. A type begins where a keyword is followed
// by a name, in the body of a type or outside of all braces.
func (p *javaParser) word() {
	if outer, ok := p.enclosing(); ok && !p.hasPending && isJavaName(p.tok) && p.typeKeyword() {
		// Until its closing brace is seen, a type goes on to the end.
		t := javaType{name: p.tok, start: p.declStart, end: len(p.lexer.src), public: p.modifiers.public}
		if outer >= 0 {
			t.name = p.out.types[outer].name + "$" + p.tok
			t.depth = p.out.types[outer].depth + 1
		}
		p.out.types = append(p.out.types, t)
		p.pending, p.hasPending = len(p.out.types)-1, true
	}
	switch p.tok {
	case "public":
		p.modifiers.public = true
	case "private":
		p.modifiers.private = true
	case "static":
		p.modifiers.static = true
	}
	p.decl = append(p.decl, p.tok)
}

// typeKeyword reports whether the last token of the declaration introduces a type. "record" is a plain
// name elsewhere, as in `record = next`; in `record Point(` the name after it is not.
func (p *javaParser) typeKeyword() bool {
	n := len(p.decl)
	if n == 0 || n > 1 && p.decl[n-2] == "." {
		return false
	}
	switch p.decl[n-1] {
	case "class", "interface", "enum":
		return true
	case "record":
		following := p.lexer.peek()
		return following == '(' || following == '<'
	}
	return false
}

// enclosing returns the type whose body the parser is directly in, or -1 outside of all braces; ok is
// false in the body of a method.
func (p *javaParser) enclosing() (typ int, ok bool) {
	if len(p.frames) == 0 {
		return -1, true
	}
	typ = p.frames[len(p.frames)-1].typ
	return typ, typ >= 0 && p.out.types[typ].depth < deepestJavaType
}

func (p *javaParser) foundMain() {
	typ, ok := p.enclosing()
	if !ok || p.modifiers.private {
		return
	}
	takesArguments := slices.Contains(p.params, "String")
	if !takesArguments && len(p.params) > 0 {
		return
	}
	if typ < 0 {
		p.out.compact = true
		return
	}
	kind := instanceMain
	// The methods of an interface are public without saying so; where `public` is missing in a class,
	// Java before 25 says so itself.
	if takesArguments && p.modifiers.static {
		kind = classicMain
	}
	p.out.types[typ].main = max(p.out.types[typ].main, kind)
}

// javaLexer splits source into names, single characters and nothing else: comments, literals and white
// space are passed over.
type javaLexer struct {
	src string
	pos int // after the last token
}

// next returns the next token, or an empty string at the end.
func (l *javaLexer) next() string {
	l.skip()
	if l.pos >= len(l.src) {
		return ""
	}
	start := l.pos
	for l.pos < len(l.src) {
		r, size := utf8.DecodeRuneInString(l.src[l.pos:])
		if !isJavaLetter(r) {
			break
		}
		l.pos += size
	}
	if l.pos == start {
		_, size := utf8.DecodeRuneInString(l.src[l.pos:])
		l.pos += size
	}
	return l.src[start:l.pos]
}

// peek returns the first byte of the next token without taking it.
func (l *javaLexer) peek() byte {
	ahead := *l
	if t := ahead.next(); t != "" {
		return t[0]
	}
	return 0
}

func (l *javaLexer) skip() {
	for l.pos < len(l.src) {
		rest := l.src[l.pos:]
		switch {
		case strings.HasPrefix(rest, "//"):
			l.pos += until(rest, "\n", 2)
		case strings.HasPrefix(rest, "/*"):
			l.pos += until(rest, "*/", 2)
		case strings.HasPrefix(rest, `"""`):
			l.pos += textBlock(rest)
		case rest[0] == '"' || rest[0] == '\'':
			l.pos += 1 + quoted(rest)
		default:
			r, size := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(r) {
				return
			}
			l.pos += size
		}
	}
}

// until returns the length of s up to and with the first end at or after from, or the length of s.
func until(s, end string, from int) int {
	if i := strings.Index(s[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(s)
}

func textBlock(s string) int {
	for i := 3; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		} else if strings.HasPrefix(s[i:], `"""`) {
			return i + 3
		}
	}
	return len(s)
}

func isJavaLetter(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// isJavaName reports whether a token is a name rather than a number or a sign.
func isJavaName(tok string) bool {
	r, _ := utf8.DecodeRuneInString(tok)
	return isJavaLetter(r) && !unicode.IsDigit(r)
}
