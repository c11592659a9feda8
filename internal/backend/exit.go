package backend

import "time"

// Outcome is what became of a program.
type Outcome string

// The outcomes. All but Exited and Signaled say who ended the program and why.
const (
	// Exited: the program ended by itself; Code is its exit status.
	Exited Outcome = "exited"
	// Signaled: a signal ended it that no limit of ours explains.
	Signaled Outcome = "signaled"
	// TimedOut: [Command.Timeout] had passed.
	TimedOut Outcome = "timeout"
	// OutOfMemory: it failed and the sandbox had reached [Limits.Memory].
	OutOfMemory Outcome = "memory_limit"
	// OutputLimited: it wrote more than [OutputLimit.Kill].
	OutputLimited Outcome = "output_limit"
	// OutOfProcesses: it failed and the sandbox had reached [Limits.Processes].
	OutOfProcesses Outcome = "process_limit"
	// OutOfDisk: it failed and the sandbox had reached [Limits.Disk] or [Limits.FileSize].
	OutOfDisk Outcome = "disk_limit"
	// Denied: it was killed for a system call that the sandbox forbids.
	Denied Outcome = "denied"
	// Cancelled: the context of Start ended.
	Cancelled Outcome = "cancelled"
)

// CodeTimedOut is the exit code of a program that was killed at its deadline, as with timeout(1).
const CodeTimedOut = 124

// An Exit is the end of a program.
type Exit struct {
	Outcome Outcome
	// Code is the exit status, 128+Signal after a signal, [CodeTimedOut] after a timeout.
	Code int
	// Signal is the number of the signal that ended the program, or 0.
	Signal int
	// Usage is what the program and its descendants used.
	Usage Usage
	// Stdout and Stderr say what was dropped of each stream.
	Stdout, Stderr Cut
	// Reached names the limits that were hit, also when the program coped: "memory", "processes",
	// "disk".
	Reached []string
}

// Usage is what a program used.
type Usage struct {
	// Wall is the time from its start to its end.
	Wall time.Duration
	// CPU is user and system time of all its processes.
	CPU time.Duration
	// PeakMemory in bytes; 0 if unknown.
	PeakMemory int64
}

// A Cut says what [OutputLimit] dropped of a stream: Omitted bytes at Offset. No cut is the zero Cut.
type Cut struct{ Offset, Omitted int64 }
