// Command llm-sandbox-mcp is an MCP server that runs code in a sandbox. Without arguments it serves the
// client that started it over standard input and output.
package main

import (
	_ "github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/native/stage" // first: it takes over when the binary is started as a sandbox

	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/command"
)

// A subcommand is what the first argument selects.
type subcommand struct {
	name, help string
	// run returns the exit status. args does not hold the command's name.
	run func(ctx context.Context, args []string, std streams) int
}

// commands are all there are. The first is the one that needs no name.
func commands() []subcommand {
	return []subcommand{
		{"serve", "serve an MCP client over standard input and output (the default)", serve},
		{"run", "run a program in a sandbox", run},
		{"doctor", "say what works on this machine, and how to get what does not", doctor},
		{"version", "print the version", printVersion},
		{"help", "print this text", help},
	}
}

func main() {
	if filepath.Base(os.Args[0]) == command.Name { // in a container, as the file that an engine was given
		os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(dispatch(context.Background(), os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

func dispatch(ctx context.Context, args []string, std streams) int {
	all := commands()
	if len(args) == 0 {
		return all[0].run(ctx, nil, std)
	}
	name := args[0]
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-v", "-version", "--version":
		name = "version"
	}
	for _, c := range all {
		if c.name == name {
			return c.run(ctx, args[1:], std)
		}
	}
	return usageError(std, "unknown command %q", name)
}

// help is the command help.
func help(_ context.Context, _ []string, std streams) int {
	usage(std.out)
	return 0
}

// usageError reports a wrong command line and returns its exit status.
func usageError(std streams, format string, args ...any) int {
	fmt.Fprintf(std.err, "llm-sandbox-mcp: %s\n\n", fmt.Sprintf(format, args...))
	usage(std.err)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Usage: llm-sandbox-mcp [command]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.help)
	}
}
