// Command sandbox-agent is the supervisor that runs inside a container: it serves the connection on its
// standard input and output.
package main

import (
	"os"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
