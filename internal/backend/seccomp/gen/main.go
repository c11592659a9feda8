//go:build linux && cgo && libseccomp

// Command gen compiles profile.json with libseccomp into the filters that package seccomp embeds. Run
// it with `go generate`; it needs a C compiler, pkg-config and libseccomp's headers.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	libseccomp "github.com/seccomp/libseccomp-golang"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/seccomp/profile"
)

func main() {
	dir := flag.String("dir", ".", "directory that receives filter_<arch>.bpf")
	flag.Parse()
	for goarch, arch := range map[string]libseccomp.ScmpArch{
		"amd64": libseccomp.ArchAMD64,
		"arm64": libseccomp.ArchARM64,
	} {
		if err := compile(profile.Default(), goarch, arch, filepath.Join(*dir, "filter_"+goarch+".bpf")); err != nil {
			fmt.Fprintf(os.Stderr, "seccomp: compile profile for %s: %v\n", goarch, err)
			os.Exit(1)
		}
	}
}

// compile writes the program for one architecture to a file.
func compile(p *profile.Profile, goarch string, arch libseccomp.ScmpArch, file string) error {
	fallback := action(p.DefaultAction, p.DefaultErrno)
	filter, err := libseccomp.NewFilter(fallback)
	if err != nil {
		return err
	}
	defer filter.Release()
	if err := only(filter, arch); err != nil {
		return err
	}
	// A call with another architecture's number in it, or with the x32 bit of amd64, is unknown too.
	if err := filter.SetBadArchAction(fallback); err != nil {
		return err
	}
	// 2 sorts the calls into a binary tree; the order of priorities would be a list.
	if err := filter.SetOptimize(2); err != nil {
		return err
	}
	earlier := map[string][]profile.Rule{}
	for _, rule := range p.For(goarch) {
		for _, name := range rule.Names {
			if err := add(filter, arch, name, rule, earlier[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			earlier[name] = append(earlier[name], rule)
		}
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close() //nolint:errcheck // closed below, where it matters
	if err := filter.ExportBPF(out); err != nil {
		return err
	}
	return out.Close()
}

// only makes filter one for arch alone.
func only(filter *libseccomp.ScmpFilter, arch libseccomp.ScmpArch) error {
	native, err := libseccomp.GetNativeArch()
	if err != nil || native == arch {
		return err
	}
	if err := filter.AddArch(arch); err != nil {
		return err
	}
	return filter.RemoveArch(native)
}

// add adds one rule for one call, after the earlier ones of that call.
func add(filter *libseccomp.ScmpFilter, arch libseccomp.ScmpArch, name string, rule profile.Rule, earlier []profile.Rule) error {
	if number, err := libseccomp.GetSyscallFromNameByArch(name, arch); err != nil || number < 0 {
		return fmt.Errorf("there is no such call (number %d, %w)", number, err)
	}
	call, err := libseccomp.GetSyscallFromName(name)
	if err != nil {
		return err
	}
	fallback, err := filter.GetDefaultAction()
	if err != nil {
		return err
	}
	conditions, err := conditions(rule, earlier)
	if err != nil {
		return err
	}
	act := action(rule.Action, rule.Errno)
	switch {
	case len(conditions) > 0:
		return filter.AddRuleConditionalExact(call, act, conditions)
	case act == fallback:
		return nil // libseccomp refuses rules that say what happens anyway
	default:
		return filter.AddRuleExact(call, act)
	}
}

// conditions translates those of a rule.
//
// libseccomp knows no order among the rules of one call: a rule swallows those that are narrower. It
// does look at arguments from the last to the first, though. A rule that follows a narrower one gets a
// condition more, always true, on the first argument that it does not look at, and so comes last in
// the program too. The tests of package seccomp prove that the program means what the profile says.
func conditions(rule profile.Rule, earlier []profile.Rule) ([]libseccomp.ScmpCondition, error) {
	var list []libseccomp.ScmpCondition
	for _, arg := range rule.Args {
		if arg.Operator != profile.MaskedEqual {
			return nil, fmt.Errorf("operator %s is unknown", arg.Operator)
		}
		condition, err := libseccomp.MakeCondition(arg.Index, libseccomp.CompareMaskedEqual, arg.Value, arg.ValueTwo)
		if err != nil {
			return nil, err
		}
		list = append(list, condition)
	}
	if slices.ContainsFunc(earlier, func(e profile.Rule) bool { return narrower(e, rule) }) {
		free := uint(0)
		for slices.ContainsFunc(rule.Args, func(c profile.Condition) bool { return c.Index == free }) {
			free++
		}
		condition, err := libseccomp.MakeCondition(free, libseccomp.CompareGreaterEqual, 0)
		if err != nil {
			return nil, err
		}
		list = append(list, condition)
	}
	return list, nil
}

// narrower reports whether a has all conditions of b, and more.
func narrower(a, b profile.Rule) bool {
	return len(a.Args) > len(b.Args) &&
		!slices.ContainsFunc(b.Args, func(c profile.Condition) bool { return !slices.Contains(a.Args, c) })
}

func action(a profile.Action, errno uint16) libseccomp.ScmpAction {
	if a == profile.Allow {
		return libseccomp.ActAllow
	}
	return libseccomp.ActErrno.SetReturnCode(int16(errno)) //nolint:gosec // errnos are small
}
