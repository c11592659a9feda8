package backend

import (
	"slices"
	"time"
)

// Counters are what the kernel has counted of a sandbox as a whole so far. What it does not count is 0.
type Counters struct {
	// OOMKills is the number of processes that were killed for lack of memory.
	OOMKills int64
	// ProcessHits is how often a process could not be made because of [Limits.Processes].
	ProcessHits int64
	// CPU is the processor time of all processes that there ever were.
	CPU time.Duration
	// PeakMemory in bytes, caches and temporary files included.
	PeakMemory int64
}

// Count adds to the end of a program what the counters say happened while it ran.
func (e *Exit) Count(before, after Counters) {
	failed := e.Code != 0 && (e.Outcome == Exited || e.Outcome == Signaled)
	for _, limit := range []struct {
		hit     bool
		name    string
		outcome Outcome
	}{
		{after.OOMKills > before.OOMKills, "memory", OutOfMemory},
		{after.ProcessHits > before.ProcessHits, "processes", OutOfProcesses},
	} {
		if !limit.hit {
			continue
		}
		if !slices.Contains(e.Reached, limit.name) {
			e.Reached = append(e.Reached, limit.name)
		}
		if failed {
			e.Outcome, failed = limit.outcome, false
		}
	}
	if after.CPU > before.CPU {
		e.Usage.CPU = after.CPU - before.CPU
	}
	if after.PeakMemory > 0 {
		e.Usage.PeakMemory = after.PeakMemory
	}
}
