// Package command is the command line of the agent where an engine starts it in a container: both what a
// driver writes and what the agent reads.
package command

import (
	"flag"
	"fmt"
	"io"
	"strconv"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/supervisor"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Name is the name of the agent's file. The server's own binary is an agent when it is started under
// that name.
const Name = "sandbox-agent"

// Options are what a driver asks of an agent.
type Options struct {
	// WorkDir is where programs start that name no directory.
	WorkDir string
	// Filter has the agent put the built-in system call filter over itself and all programs.
	Filter bool
	// Privileged lets programs gain privileges from set-user-id files, if there are any to gain.
	Privileged bool
	// OpenFiles and FileSize are limits of each process, see [backend.Limits]; 0 means none.
	OpenFiles, FileSize int64
	// Disk are the directories that are looked at when a program has failed: a full one explains it.
	Disk []string
}

// Args is the command line that makes an agent do what o asks, without the program itself.
func (o Options) Args() []string {
	args := []string{"-dir", o.WorkDir}
	if o.Filter {
		args = append(args, "-filter")
	}
	if o.Privileged {
		args = append(args, "-privileged")
	}
	if o.OpenFiles > 0 {
		args = append(args, "-open-files", strconv.FormatInt(o.OpenFiles, 10))
	}
	if o.FileSize > 0 {
		args = append(args, "-file-size", strconv.FormatInt(o.FileSize, 10))
	}
	return append(args, o.Disk...)
}

// Main is the agent: it serves standard input and output until they end, and returns the exit status.
// What keeps it from serving it writes to stderr.
func Main(args []string, stdout, stderr io.Writer) int {
	o, version, err := parse(args, stderr)
	switch {
	case err != nil:
		return 2
	case version:
		fmt.Fprintln(stdout, agent.Version)
		return 0
	}
	if err := confine(o); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", Name, err)
		return 1
	}
	return supervisor.RunStdio(supervisor.Options{WorkDir: o.WorkDir, Disk: o.Disk, Counters: true})
}

// parse reads what Args has written.
func parse(args []string, stderr io.Writer) (o Options, version bool, err error) {
	flags := flag.NewFlagSet(Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.WorkDir, "dir", backend.DefaultWorkDir, "start programs in this `directory`")
	flags.BoolVar(&o.Filter, "filter", false, "refuse the system calls that programs do not need")
	flags.BoolVar(&o.Privileged, "privileged", false, "let programs gain privileges")
	flags.Int64Var(&o.OpenFiles, "open-files", 0, "the most files that a process may have open")
	flags.Int64Var(&o.FileSize, "file-size", 0, "the largest file in `bytes` that a process may write")
	flags.BoolVar(&version, "version", false, "print the version of the protocol")
	err = flags.Parse(args)
	o.Disk = flags.Args()
	return o, version, err
}
