package seccomp_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/seccomp/profile"
)

// Values of struct seccomp_data.arch, from linux/audit.h.
const (
	auditAMD64 = 0xc000003e
	auditARM64 = 0xc00000b7
	auditI386  = 0x40000003
	auditARM   = 0x40000028
)

// What a filter returns, from linux/seccomp.h.
const (
	retAllow = 0x7fff0000
	retErrno = 0x00050000
)

// enosys is Linux's "function not implemented", also for tests that run elsewhere.
const enosys = 38

// newest is the last call that the profile names. Later ones do not exist as far as programs can see.
const newest = "futex_requeue"

// internal are entries of the tables that no program calls: two are made by code of the kernel, one is
// where numbers of the architecture begin.
var internal = []string{"uretprobe", "uprobe", "arch_specific_syscall"}

// A machine is an architecture with its compiled filter.
type machine struct {
	goarch string
	audit  uint32
	calls  map[string]uint32
	vm     *bpf.VM
}

func machines(t *testing.T) []machine {
	t.Helper()
	list := []machine{{goarch: "amd64", audit: auditAMD64}, {goarch: "arm64", audit: auditARM64}}
	for i := range list {
		m := &list[i]
		m.calls = callNumbers(t, m.goarch)
		m.vm = load(t, "filter_"+m.goarch+".bpf")
	}
	return list
}

// load reads a compiled filter.
func load(t *testing.T, file string) *bpf.VM {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var program []bpf.RawInstruction
	for ; len(raw) >= 8; raw = raw[8:] {
		program = append(program, bpf.RawInstruction{
			Op: binary.LittleEndian.Uint16(raw), Jt: raw[2], Jf: raw[3], K: binary.LittleEndian.Uint32(raw[4:]),
		})
	}
	instructions, all := bpf.Disassemble(program)
	if !all {
		t.Fatalf("%s: not all instructions are known", file)
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return vm
}

// ask returns what the filter says about a call. The VM reads words in network order, the kernel in
// its own, so the words of struct seccomp_data are put down in network order.
func (m machine) ask(t *testing.T, audit, number uint32, args [6]uint64) uint32 {
	t.Helper()
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[0:], number)
	binary.BigEndian.PutUint32(data[4:], audit)
	for i, arg := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(arg))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(arg>>32))
	}
	ret, err := m.vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(ret)
}

// callNumbers reads the numbers of an architecture from golang.org/x/sys, which has them from the
// kernel's own headers and not from libseccomp.
func callNumbers(t *testing.T, goarch string) map[string]uint32 {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatalf("find golang.org/x/sys: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "unix", "zsysnum_linux_"+goarch+".go"))
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]uint32{}
	for _, m := range regexp.MustCompile(`(?m)^\s+SYS_(\w+)\s+= (\d+)$`).FindAllSubmatch(text, -1) {
		number, err := strconv.ParseUint(string(m[2]), 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		calls[strings.ToLower(string(m[1]))] = uint32(number)
	}
	return calls
}

// want is what the profile means for a call: the first rule that matches, or the default.
func want(p *profile.Profile, goarch, name string, args [6]uint64) uint32 {
rules:
	for _, rule := range p.For(goarch) {
		for _, n := range rule.Names {
			if n != name {
				continue
			}
			for _, c := range rule.Args {
				if args[c.Index]&c.Value != c.ValueTwo {
					continue rules
				}
			}
			return decision(rule.Action, rule.Errno)
		}
	}
	return decision(p.DefaultAction, p.DefaultErrno)
}

func decision(a profile.Action, errno uint16) uint32 {
	if a == profile.Allow {
		return retAllow
	}
	return retErrno | uint32(errno)
}

func show(ret uint32) string {
	switch {
	case ret == retAllow:
		return "allow"
	case ret&^0xffff == retErrno:
		return fmt.Sprintf("errno %d", ret&0xffff)
	default:
		return fmt.Sprintf("%#x", ret)
	}
}

// interesting are argument values at which some rule turns, with and without stray upper bits.
var interesting = func() []uint64 {
	values := []uint64{
		0, 1, 2, 3, 6, 8, 10, 16, 17, 29, 31, 38, 40, 44, 58, 255, 262,
		0x11, 0x01200011, 0x3d0f00, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x00020000,
		0x5401, 0x5411, 0x5412, 0x5413, 0x541b, 0x541c, 0x541d, 0x20008, 0x40000, 0x7fffffff, 0xffffffff,
	}
	for _, v := range values {
		values = append(values, v|1<<32, v|0xffffffff<<32)
	}
	return values
}()

// The program and the profile agree.
func TestProgramMeansProfile(t *testing.T) {
	t.Parallel()
	for _, m := range machines(t) {
		meansProfile(t, m)
	}
}

// meansProfile asks the program about every number up to 1024, with every pair of interesting values in
// the arguments that some rule looks at.
func meansProfile(t *testing.T, m machine) {
	t.Helper()
	p := profile.Default()
	names := map[uint32]string{}
	for name, number := range m.calls {
		names[number] = name
	}
	filtered := map[string]bool{}
	for _, rule := range p.For(m.goarch) {
		for _, name := range rule.Names {
			filtered[name] = filtered[name] || len(rule.Args) > 0
		}
	}
	for number := range uint32(1024) {
		name := names[number]
		check := func(args [6]uint64) {
			got, want := m.ask(t, m.audit, number, args), want(p, m.goarch, name, args)
			if got != want {
				t.Fatalf("%s: %s (%d) with %#x: got %s, want %s", m.goarch, name, number, args, show(got), show(want))
			}
		}
		check([6]uint64{})
		check([6]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)})
		if !filtered[name] {
			continue
		}
		for _, v := range interesting {
			for _, w := range interesting {
				check([6]uint64{v, w, w, v, v, v})
			}
		}
	}
}

// Calls of other architectures, and of the x32 bit, are unknown whatever their number.
func TestForeignArchitecturesAreUnknown(t *testing.T) {
	t.Parallel()
	unknown := decision(profile.Errno, enosys)
	for _, m := range machines(t) {
		for _, audit := range []uint32{auditAMD64, auditARM64, auditI386, auditARM, 0, ^uint32(0)} {
			for number := range uint32(600) {
				if audit != m.audit {
					if got := m.ask(t, audit, number, [6]uint64{}); got != unknown {
						t.Fatalf("%s: call %d of architecture %#x: %s", m.goarch, number, audit, show(got))
					}
				}
				for _, bit := range []uint32{1 << 30, 1 << 31, 3 << 30} {
					if got := m.ask(t, m.audit, number|bit, [6]uint64{}); got != unknown {
						t.Fatalf("%s: call %#x: %s", m.goarch, number|bit, show(got))
					}
				}
			}
		}
		if got := m.ask(t, m.audit, ^uint32(0), [6]uint64{}); got != unknown {
			t.Errorf("%s: call -1: %s", m.goarch, show(got))
		}
	}
}

// Every call that exists has a rule, so that none is refused because it was forgotten, and calls newer
// than the profile have none.
func TestEveryCallHasARule(t *testing.T) {
	t.Parallel()
	for _, m := range machines(t) {
		ruled := map[string]bool{}
		for _, rule := range profile.Default().For(m.goarch) {
			for _, name := range rule.Names {
				ruled[name] = true
				if _, ok := m.calls[name]; !ok {
					t.Errorf("%s: the profile names %s, which there is not", m.goarch, name)
				}
			}
		}
		for name, number := range m.calls {
			if old := number <= m.calls[newest] && !slices.Contains(internal, name); ruled[name] != old {
				t.Errorf("%s: %s (%d): has a rule: %t", m.goarch, name, number, ruled[name])
			}
		}
	}
}
