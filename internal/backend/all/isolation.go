package all

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Isolation is what a user asks of sandboxes beyond limits. A backend that cannot honour a setting
// refuses it; being stricter than asked for is no reason to refuse.
type Isolation struct {
	Network    backend.Network
	ReadOnly   bool
	Privileged bool
	// CapDrop are capabilities without CAP_, or "ALL".
	CapDrop []string
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

// containerSecurity is what becomes of SANDBOX_SECURITY_OPT where there is an engine.
type containerSecurity struct {
	// engine are the options in the engine's notation.
	engine []string
	// filter says that programs get the built-in system call filter.
	filter bool
}

// containerOpts translates for an engine, which does not see the files of this machine: a seccomp profile
// is handed over as text. One that the user chose takes the place of the built-in filter.
func containerOpts(name string, i Isolation) (containerSecurity, error) {
	s := containerSecurity{filter: true}
	for _, opt := range i.SecurityOpts {
		value := opt.Value
		if opt.Name == "seccomp" {
			switch value {
			case "builtin", "default":
				continue // the engine's own and ours are on unless something else is asked for
			case "unconfined":
			default:
				profile, err := os.ReadFile(value)
				if err == nil && !json.Valid(profile) {
					err = fmt.Errorf("%s is not JSON", value)
				}
				if err != nil {
					return s, backend.Wrap(backend.ErrInvalid, fmt.Errorf("%s: SANDBOX_SECURITY_OPT=seccomp=%s: read profile: %w; name a file of this machine, or unconfined", name, value, err))
				}
				value = string(profile)
			}
			s.filter = false
		}
		s.engine = append(s.engine, strings.TrimSuffix(opt.Name+"="+value, "="))
	}
	return s, nil
}
