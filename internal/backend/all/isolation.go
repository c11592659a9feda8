package all

import (
	"fmt"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Isolation is what a user asks of sandboxes beyond limits. A backend that cannot honour a setting
// refuses it; being stricter than asked for is no reason to refuse.
type Isolation struct {
	Network    backend.Network
	Privileged bool
	// SecurityOpts are options of container engines, such as "seccomp=unconfined".
	SecurityOpts []SecurityOpt
}

// A SecurityOpt is one option of SANDBOX_SECURITY_OPT.
type SecurityOpt struct{ Name, Value string }

// checkJail holds for backends that build the sandbox themselves: there is no container engine that
// the settings could be handed to.
func checkJail(name string, i Isolation) error {
	refuse := func(setting, why string) error {
		return backend.Wrap(backend.ErrUnsupported, fmt.Errorf("%s: %s: %s", name, setting, why))
	}
	if i.Network != "" && i.Network != backend.NetworkNone {
		return refuse("SANDBOX_NETWORK_MODE="+string(i.Network), "sandboxes of this backend have no network but loopback; set it to none")
	}
	if i.Privileged {
		return refuse("SANDBOX_PRIVILEGED=true", "programs of this backend never have privileges; set it to false")
	}
	for _, opt := range i.SecurityOpts {
		setting := "SANDBOX_SECURITY_OPT=" + strings.TrimSuffix(opt.Name+"="+opt.Value, "=")
		switch {
		case opt.Name == "no-new-privileges" && opt.Value != "false":
			// It is always on.
		case opt.Name == "seccomp" && (opt.Value == "default" || opt.Value == "builtin"):
			// The built-in filter is always on.
		default:
			return refuse(setting, "this backend has its own system call filter and no_new_privs, which cannot be changed; leave it out")
		}
	}
	return nil
}
