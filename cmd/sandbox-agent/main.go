// Command sandbox-agent is the supervisor that runs inside a sandbox: it serves the connection on its
// standard input and output, or on the descriptor that -fd names.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/supervisor"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	flags := flag.NewFlagSet("sandbox-agent", flag.ContinueOnError)
	fd := flags.Int("fd", -1, "serve this descriptor, a socket, instead of standard input and output")
	dir := flags.String("dir", "", "start programs in this directory")
	version := flags.Bool("version", false, "print the version of the protocol")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	options := supervisor.Options{WorkDir: *dir, Disk: []string{"/tmp"}}
	switch {
	case *version:
		fmt.Fprintln(os.Stdout, agent.Version)
		return 0
	case *fd >= 0:
		return supervisor.Run(*fd, options)
	}
	return supervisor.RunStdio(options)
}
