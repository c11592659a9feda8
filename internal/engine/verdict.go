package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// judge turns the end of the last step into the status of a response and a message for the model: what
// happened, and what to do about it.
func judge(r *result, timeout, longest time.Duration, limits backend.Limits, output backend.OutputLimit) (status, message string) {
	switch r.exit.Outcome {
	case backend.Exited:
		status = StatusOK
		if r.exit.Code != 0 {
			status = StatusError
		}
		return status, join(failedStep(r), noted(r.reached, limits))
	case backend.Signaled:
		return StatusError, join("The program was ended by signal "+signal(r.exit.Signal)+".", noted(r.reached, limits))
	case backend.TimedOut:
		return string(backend.TimedOut), timedOut(r.compiling, timeout, longest)
	case backend.OutOfMemory:
		return string(backend.OutOfMemory), sentence(memory(limits), "Use less memory, or raise SANDBOX_MEMORY in the server's environment.")
	case backend.OutOfProcesses:
		return string(backend.OutOfProcesses), sentence(processes(limits), "Start fewer processes and threads, or raise SANDBOX_PIDS_LIMIT in the server's environment.")
	case backend.OutOfDisk:
		return string(backend.OutOfDisk), sentence(disk(limits), "Write less, or raise SANDBOX_DISK_LIMIT (or SANDBOX_FILE_SIZE_LIMIT for a single file) in the server's environment.")
	case backend.OutputLimited:
		return string(backend.OutputLimited), sentence("The program was ended because it wrote more than "+size(output.Kill)+" of output",
			"Print less, write to a file, or raise SANDBOX_OUTPUT_KILL in the server's environment.")
	case backend.Denied:
		return string(backend.Denied), "The program was ended because it used a system call that the sandbox forbids. Do without it: no setting allows it."
	default:
		return string(r.exit.Outcome), "The program was ended before it was done."
	}
}

// failedStep says which step failed if that is not obvious.
func failedStep(r *result) string {
	if r.compiling && r.exit.Code != 0 {
		return "Compiling failed; the program was not run."
	}
	return ""
}

func timedOut(compiling bool, timeout, longest time.Duration) string {
	what := "The program timed out after "
	if compiling {
		what = "Compiling timed out after "
	}
	advice := fmt.Sprintf("Make it faster, or give a larger timeout (at most %s).", seconds(longest))
	if timeout >= longest {
		advice = "Make it faster, or raise SANDBOX_MAX_TIMEOUT in the server's environment."
	}
	return what + seconds(timeout) + "; the limit covers compiling and running. " + advice
}

// noted says which limits were hit although the program coped, or failed for another reason.
func noted(reached []string, limits backend.Limits) string {
	var notes []string
	for _, limit := range []struct{ name, text, variable string }{
		{"memory", memory(limits), "SANDBOX_MEMORY"},
		{"processes", processes(limits), "SANDBOX_PIDS_LIMIT"},
		{"disk", disk(limits), "SANDBOX_DISK_LIMIT"},
	} {
		if slices.Contains(reached, limit.name) {
			notes = append(notes, limit.text+" ("+limit.variable+").")
		}
	}
	return strings.Join(notes, " ")
}

func memory(l backend.Limits) string { return reachedLimit("memory", size(l.Memory), l.Memory) }
func processes(l backend.Limits) string {
	return reachedLimit("process", grouped(l.Processes), l.Processes)
}

// disk names the tighter of the two limits on files: the counters do not tell them apart.
func disk(l backend.Limits) string {
	if l.FileSize > 0 && (l.Disk == 0 || l.FileSize < l.Disk) {
		if l.Disk == 0 {
			return reachedLimit("file size", size(l.FileSize), l.FileSize)
		}
		return fmt.Sprintf("The disk limit of %s, or that of %s for one file, was reached", size(l.Disk), size(l.FileSize))
	}
	return reachedLimit("disk", size(l.Disk), l.Disk)
}

func reachedLimit(name, value string, n int64) string {
	if n == 0 {
		return "A " + name + " limit was reached"
	}
	return "The " + name + " limit of " + value + " was reached"
}

func sentence(what, advice string) string { return what + ". " + advice }

func join(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

// seconds writes a duration the way callers give it.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}

// size writes a number of bytes in the largest unit that leaves no fraction.
func size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; n >= 1024 && n%1024 == 0 && i < len(units)-1; i++ {
		n /= 1024
	}
	return grouped(n) + " " + units[i]
}

// signal names the signals of Linux that end programs, whatever system this server runs on.
func signal(n int) string {
	names := map[int]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL, illegal instruction", 5: "SIGTRAP",
		6: "SIGABRT, aborted", 7: "SIGBUS, bus error", 8: "SIGFPE, arithmetic error", 9: "SIGKILL",
		11: "SIGSEGV, invalid memory access", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
		24: "SIGXCPU", 25: "SIGXFSZ, file too large", 31: "SIGSYS, bad system call",
	}
	if name, ok := names[n]; ok {
		return fmt.Sprintf("%d (%s)", n, name)
	}
	return strconv.Itoa(n)
}
