package cgroup

import (
	"errors"
	"os"
	"strconv"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Processor time is given out per period, in microseconds: the kernel's default period, and the least
// quota that it accepts.
const (
	period   = 100_000
	minQuota = 1_000
)

// limit sets the limits whose controller is in this hierarchy.
func (h hierarchy) limit(l backend.Limits) error {
	if h.memory && l.Memory > 0 {
		if err := h.limitMemory(strconv.FormatInt(l.Memory, 10)); err != nil {
			return err
		}
	}
	if h.cpu && l.MilliCPUs > 0 {
		quota := strconv.FormatInt(max(l.MilliCPUs*period/1000, minQuota), 10)
		file := "cpu.cfs_quota_us" // its cpu.cfs_period_us is 100 ms unless changed
		if h.v2 {
			file, quota = "cpu.max", quota+" "+strconv.Itoa(period)
		}
		if err := write(h.dir, file, quota); err != nil {
			return err
		}
	}
	if h.pids && l.Processes > 0 {
		return write(h.dir, "pids.max", strconv.FormatInt(l.Processes, 10))
	}
	return nil
}

// limitMemory bounds memory, and lets none of it go to swap: a sandbox that swaps is slow for
// everyone. Kernels can be built or booted without counting swap; then these files are missing.
func (h hierarchy) limitMemory(bytes string) error {
	limit, swap, noSwap := "memory.max", "memory.swap.max", "0"
	if !h.v2 {
		limit, swap, noSwap = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes
	}
	if err := write(h.dir, limit, bytes); err != nil {
		return err
	}
	if err := write(h.dir, swap, noSwap); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
