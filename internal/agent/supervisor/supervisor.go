// Package supervisor is the agent's side inside the sandbox: it starts programs, passes their streams
// on, holds them to their limits, kills and reaps whatever they leave, and packs and unpacks files.
//
// The native backend starts it once per call as a part of the server's binary, so it imports little.
package supervisor

// Options configure a supervisor.
type Options struct {
	// WorkDir is where programs start that name no directory.
	WorkDir string
	// Disk are directories whose file systems are looked at when a program has failed: a full one
	// explains the failure.
	Disk []string
	// Data bounds the private writable memory of each process, in bytes; 0 means no limit. It is for
	// hosts on which nothing bounds the memory of a sandbox as a whole, and holds from the moment after
	// the start of a program.
	Data uint64
	// Counters has the supervisor read the control groups that it is in, and add to the end of each
	// program what they counted. It is for sandboxes that nobody else can look into.
	Counters bool
}

// Threads is about how many threads a supervisor has. A limit of processes counts them as well.
const Threads = 14
