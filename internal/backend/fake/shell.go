package fake

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// shell runs commands separated by semicolons or newlines. It knows quotes, $NAME, >FILE, >&2, exit,
// cd and kill -N $$.
func shell(ctx context.Context, c *Call, script string) backend.Exit {
	state := *c
	var exit backend.Exit
	for _, words := range split(script) {
		if ctx.Err() != nil {
			return exit
		}
		var end bool
		exit, end = command(ctx, &state, words)
		if end {
			return exit
		}
	}
	return exit
}

// command runs one command and reports whether the shell ends with it.
func command(ctx context.Context, c *Call, words []string) (exit backend.Exit, end bool) {
	var into string
	var captured bytes.Buffer
	call := *c
	call.Args = nil
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == ">&2":
			call.Stdout = c.Stderr
		case words[i] == ">" && i+1 < len(words):
			i++
			into, call.Stdout = words[i], &captured
		default:
			call.Args = append(call.Args, words[i])
		}
	}
	if len(call.Args) == 0 {
		return backend.Exit{}, false
	}
	switch call.Args[0] {
	case "exit":
		code := 0
		if len(call.Args) > 1 {
			code, _ = strconv.Atoi(call.Args[1])
		}
		return backend.Exit{Code: code}, true
	case "kill":
		if len(call.Args) == 3 && call.Args[2] == "$$" {
			signal, _ := strconv.Atoi(strings.TrimPrefix(call.Args[1], "-"))
			return backend.Exit{Outcome: backend.Signaled, Signal: signal, Code: 128 + signal}, true
		}
		return fail(&call, "only -N $$ is known"), false
	case "cd":
		if len(call.Args) > 1 {
			c.Dir = c.Path(call.Args[1])
		}
		return backend.Exit{}, false
	case "exec":
		call.Args, end = call.Args[1:], true
	}
	program, err := c.sandbox.lookUp(call.Args[0])
	if err != nil {
		_, _ = fmt.Fprintf(c.Stderr, "sh: %s: not found\n", call.Args[0])
		return backend.Exit{Code: 127}, end
	}
	for i, word := range call.Args {
		call.Args[i] = expand(word, c.Env)
	}
	exit = program(ctx, &call)
	if into != "" {
		c.Files.Write(c.Path(into), captured.Bytes())
	}
	return exit, end
}

// expand replaces a word that is a variable as a whole.
func expand(word string, env []string) string {
	name, ok := strings.CutPrefix(word, "$")
	if !ok {
		return word
	}
	i := slices.IndexFunc(env, func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
	if i < 0 {
		return ""
	}
	return strings.TrimPrefix(env[i], name+"=")
}

// split cuts a script into commands and commands into words.
func split(script string) [][]string {
	var commands [][]string
	var words []string
	var word strings.Builder
	var quote rune
	started := false
	endWord := func() {
		if started {
			words = append(words, word.String())
		}
		word.Reset()
		started = false
	}
	endCommand := func() {
		endWord()
		if len(words) > 0 {
			commands = append(commands, words)
		}
		words = nil
	}
	for _, r := range script {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			_, _ = word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, started = r, true
		case r == ' ' || r == '\t':
			endWord()
		case r == ';' || r == '\n':
			endCommand()
		case r == '>':
			endWord()
			_, _ = word.WriteRune(r)
			started = true
		case r == '#' && !started && len(words) == 0:
			quote, started = '\n', false // a comment: drop it as one quoted word
		default:
			if word.String() == ">" && r != '&' {
				endWord()
			}
			_, _ = word.WriteRune(r)
			started = true
		}
	}
	endCommand()
	return commands
}
