package cgroup

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// prefix begins the names of all trees.
const prefix = "llm-sandbox-mcp-"

// Owner returns the name that this process owns trees under: its id, its start time in clock ticks
// since boot, and its pid namespace, because another namespace has other processes with the same ids.
// What is appended with a dash tells several trees of one process apart.
func Owner() (string, error) {
	start, err := startTime(os.Getpid())
	if err != nil {
		return "", fmt.Errorf("cgroup: name owner: %w", err)
	}
	namespace, err := pidNamespace()
	if err != nil {
		return "", fmt.Errorf("cgroup: name owner: %w", err)
	}
	return fmt.Sprintf("%d-%s-%s", os.Getpid(), start, namespace), nil
}

// checkOwner refuses what Owner cannot have returned.
func checkOwner(owner string) error {
	fields := strings.SplitN(owner, "-", 4)
	isNumber := func(s string) bool { return s != "" && !strings.ContainsFunc(s, notDigit) }
	if len(fields) >= 3 && isName(owner) && isNumber(fields[0]) && isNumber(fields[1]) && isNumber(fields[2]) {
		return nil
	}
	return backend.Wrap(backend.ErrInvalid, fmt.Errorf("cgroup: owner %q: want what cgroup.Owner returns", owner))
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// isName reports whether s can be the name of a group. Dots are left to the kernel's own files.
func isName(s string) bool {
	return s != "" && len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool {
		return notDigit(r) && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
}

// dead reports whether the owner of a tree is a process of our pid namespace that is gone.
func dead(owner, namespace string) bool {
	fields := strings.SplitN(owner, "-", 4)
	if checkOwner(owner) != nil || fields[2] != namespace {
		return false
	}
	pid, err := strconv.Atoi(fields[0])
	if err != nil {
		return false
	}
	start, err := startTime(pid)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	return start != fields[1]
}

// startTime returns field 22 of /proc/PID/stat, proc(5).
func startTime(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field, a name in parentheses, can hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat: too few fields", pid)
	}
	return fields[19], nil
}

// pidNamespace returns the number of our pid namespace.
func pidNamespace() (string, error) {
	link, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]"), nil
}
