// Package cgroup gives each sandbox a control group: what limits its memory, processor time and number
// of processes as a whole, counts what it used, and kills all of it at once.
//
// It works with cgroup v1, v2 and both at the same time, as root and with what was delegated to an
// ordinary user, and says what is missing where neither is there.
package cgroup

// Controllers says which limits this process can enforce with control groups.
type Controllers struct {
	// Memory, CPU and Processes are the limits of the same name in backend.Limits.
	Memory, CPU, Processes bool
	// Version is "v1", "v2", "v1 and v2", or "none".
	Version string
	// Why says what is missing, for what reason, and what the user can do; empty if nothing is.
	Why string
}

// Events counts how often a group ran into its limits.
type Events struct {
	// OOMKills are processes that the kernel killed because the group was out of memory.
	OOMKills int64
	// MemoryHits is how often the group reached its memory limit. The kernel then drops caches first,
	// so hits alone do not mean that something failed.
	MemoryHits int64
	// ProcessHits is how often a process or thread could not be made for the limit on them.
	ProcessHits int64
}
