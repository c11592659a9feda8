package native

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// remedies are the ways in which hosts forbid what a sandbox needs, in the order they are looked at.
var remedies = []struct {
	file, value string // a file of the kernel and what it holds when the host is set so
	remedy      string
}{
	{"/proc/sys/kernel/unprivileged_userns_clone", "0",
		"user namespaces are switched off for ordinary users; allow them with: sudo sysctl -w kernel.unprivileged_userns_clone=1"},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		"AppArmor restricts user namespaces (Ubuntu 23.10 and later); allow them with: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or with an AppArmor profile for this program that has the rule userns"},
	{"/proc/sys/user/max_user_namespaces", "0",
		"user namespaces are switched off; allow them with: sudo sysctl -w user.max_user_namespaces=15000"},
}

// explain gives an error of the start of a sandbox its kind and what the user can do about it.
func explain(err error) error {
	remedy := ""
	switch {
	case errors.Is(err, syscall.ENOSPC):
		remedy = "the limit on namespaces is reached; raise it with: sudo sysctl -w user.max_user_namespaces=15000"
	case errors.Is(err, syscall.ENOSYS), strings.Contains(err.Error(), syscall.ENOSYS.Error()):
		remedy = "this kernel is too old or filters system calls; native needs Linux 5.12 or later"
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		remedy = "the host is out of processes or memory; run fewer sandboxes at once (SANDBOX_MAX_CONCURRENT)"
	default:
		remedy = hostRemedy()
	}
	return backend.Wrap(backend.ErrUnavailable, fmt.Errorf("native: %w; %s", err, remedy))
}

func hostRemedy() string {
	for _, r := range remedies {
		if text, err := os.ReadFile(r.file); err == nil && strings.TrimSpace(string(text)) == r.value && os.Geteuid() != 0 {
			return r.remedy
		}
	}
	for _, name := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(name); err == nil {
			return "this server runs in a container that forbids namespaces or mounts; start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined, or choose another backend"
		}
	}
	return "run llm-sandbox-mcp doctor for what this host allows, or choose another backend"
}
