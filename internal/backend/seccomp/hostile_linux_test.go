package seccomp_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/seccomp/profile"
)

// makeCalls makes calls written as number,argument,argument… and answers with the errno of each.
func makeCalls(answer io.Writer, calls []string) error {
	for _, call := range calls {
		var n [7]uintptr
		for i, field := range strings.Split(call, ",") {
			if _, err := fmt.Sscan(field, &n[i]); err != nil {
				return err
			}
		}
		_, _, errno := syscall.RawSyscall6(n[0], n[1], n[2], n[3], n[4], n[5], n[6])
		if _, err := fmt.Fprintf(answer, "%d ", errno); err != nil {
			return err
		}
	}
	_, err := fmt.Fprint(answer, "alive")
	return err
}

// Every call that a rule refuses, made for real: it gives the errno of the profile, and the process
// lives on.
func TestRefusedCallsFail(t *testing.T) {
	t.Parallel()
	p := profile.Default()
	numbers := callNumbers(t, runtime.GOARCH)
	var names, calls []string
	var wants []uint32
	refused := func(name string, args [6]uint64) {
		ret := want(p, runtime.GOARCH, name, args)
		if ret&^0xffff != retErrno {
			t.Fatalf("%s with %#x is not refused", name, args)
		}
		names = append(names, fmt.Sprintf("%s%#x", name, args))
		calls = append(calls, strings.Trim(fmt.Sprintf("%d,%d,%d,%d,%d,%d,%d", numbers[name],
			args[0], args[1], args[2], args[3], args[4], args[5]), "[]"))
		wants = append(wants, ret&0xffff)
	}
	for _, rule := range p.For(runtime.GOARCH) {
		if rule.Action != profile.Errno {
			continue
		}
		for _, name := range rule.Names {
			args := [6]uint64{^uint64(0), ^uint64(0), ^uint64(0), 0, 0, 0}
			for _, c := range rule.Args {
				args[c.Index] = c.ValueTwo
			}
			if name == "personality" {
				args[0] = 0x40000 // ADDR_NO_RANDOMIZE
			}
			refused(name, args)
		}
	}
	const stray = 1 << 40 // the kernel does not look at it
	for _, flag := range []uint64{
		unix.CLONE_NEWNS, unix.CLONE_NEWCGROUP, unix.CLONE_NEWUTS, unix.CLONE_NEWIPC,
		unix.CLONE_NEWUSER, unix.CLONE_NEWPID, unix.CLONE_NEWNET,
	} {
		refused("clone", [6]uint64{flag | uint64(unix.SIGCHLD)})
		refused("clone", [6]uint64{flag | uint64(unix.SIGCHLD) | stray})
		refused("unshare", [6]uint64{flag})
	}
	for _, family := range []uint64{
		unix.AF_VSOCK, unix.AF_PACKET, unix.AF_ALG, unix.AF_XDP, unix.AF_BLUETOOTH, unix.AF_CAN, unix.AF_TIPC,
		unix.AF_KEY, unix.AF_RDS, unix.AF_NFC, unix.AF_KCM, unix.AF_SMC, unix.AF_RXRPC,
	} {
		refused("socket", [6]uint64{family, unix.SOCK_RAW})
		refused("socket", [6]uint64{family | stray, unix.SOCK_STREAM})
		refused("socketpair", [6]uint64{family, unix.SOCK_STREAM})
	}
	for _, protocol := range []uint64{unix.NETLINK_AUDIT, unix.NETLINK_NETFILTER, unix.NETLINK_CRYPTO, unix.NETLINK_GENERIC} {
		refused("socket", [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, protocol})
	}
	for _, protocol := range []uint64{unix.IPPROTO_SCTP, unix.IPPROTO_DCCP, unix.IPPROTO_MPTCP, unix.IPPROTO_RAW} {
		refused("socket", [6]uint64{unix.AF_INET, unix.SOCK_STREAM, protocol})
		refused("socket", [6]uint64{unix.AF_INET6, unix.SOCK_STREAM, protocol})
	}
	refused("socketpair", [6]uint64{unix.AF_INET, unix.SOCK_STREAM})
	refused("ioctl", [6]uint64{0, unix.TIOCSTI | stray})
	refused("ioctl", [6]uint64{0, unix.TIOCLINUX | stray})

	out, err := run(t, append([]string{childCalls}, calls...)...)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(out)
	if len(got) != len(wants)+1 || got[len(wants)] != "alive" {
		t.Fatalf("the child ended early, after %d of %d calls: %s", len(got), len(wants), out)
	}
	for i := range wants {
		if got[i] != fmt.Sprint(wants[i]) {
			t.Errorf("%s: got errno %s, want %d", names[i], got[i], wants[i])
		}
	}
}

// Numbers that mean a call to the kernel, but not to a filter that only looks for names.
func TestOddNumbersAreUnknown(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("x32 is a matter of amd64")
	}
	const x32 = 0x40000000
	var calls, want []string
	for _, number := range []uint32{
		x32 | unix.SYS_GETPID, x32 | unix.SYS_MOUNT, x32 | unix.SYS_PTRACE, x32 | 520, // execve of x32
		512, 520, 521, 547, // the same without the bit, which kernels before 5.4 take
		471, 548, 1000, 1 << 20, 1<<31 - 1, 1 << 31, 1<<32 - 1,
	} {
		calls = append(calls, fmt.Sprintf("%d", number))
		want = append(want, fmt.Sprint(uint(unix.ENOSYS)))
	}
	out, err := run(t, append([]string{childCalls}, calls...)...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(want, "alive"), strings.Fields(out)); diff != "" {
		t.Errorf("errno (-want +got):\n%s", diff)
	}
}

// A 64-bit program reaches the calls of 32-bit x86 with int 0x80.
func TestForeignCallsAreUnknown(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("int 0x80 is an instruction of x86")
	}
	out, err := run(t, childForeign)
	if err != nil {
		if strings.Contains(err.Error(), "SIGSEGV") {
			t.Skip("this kernel has no 32-bit calls; int 0x80 is a segmentation fault")
		}
		t.Fatal(err)
	}
	if want := fmt.Sprint(-int(unix.ENOSYS)); out != want {
		t.Errorf("getpid by int 0x80 returned %s, want %s", out, want)
	}
}

// makeForeignCall puts machine code into memory and calls it.
func makeForeignCall(answer io.Writer) error {
	code, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	result := unsafe.Pointer(&code[64])
	text := []byte{0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0x48, 0xb9} // mov eax, 20 (getpid); int 0x80; mov rcx, result
	text = binary.LittleEndian.AppendUint64(text, uint64(uintptr(result)))
	text = append(text, 0x89, 0x01, 0xc3) // mov [rcx], eax; ret
	copy(code, text)
	entry := &struct{ address unsafe.Pointer }{unsafe.Pointer(&code[0])}
	(*(*func())(unsafe.Pointer(&entry)))()
	_, err = fmt.Fprint(answer, *(*int32)(result))
	return err
}

func occupyThreads(n int) (release func()) {
	done := make(chan struct{})
	var started, ended sync.WaitGroup
	for range n {
		started.Add(1)
		ended.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started.Done()
			<-done
		})
	}
	started.Wait()
	return func() { close(done); ended.Wait() }
}

// reportThreads counts the threads of this process and those that have the filter and no_new_privs.
func reportThreads(answer io.Writer) error {
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		return err
	}
	bound := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "\nSeccomp:\t2\n") && strings.Contains(string(text), "\nNoNewPrivs:\t1\n") {
			bound++
		}
	}
	_, err = fmt.Fprintf(answer, "%d of %d, at least 9: %t", bound, len(files), len(files) >= 9)
	return err
}

func TestLoadBindsEveryThread(t *testing.T) {
	t.Parallel()
	out, err := run(t, childThreads)
	if err != nil {
		t.Fatal(err)
	}
	var bound, all int
	if _, err := fmt.Sscanf(out, "%d of %d, at least 9: true", &bound, &all); err != nil || bound != all {
		t.Errorf("the filter is on %s threads", out)
	}
}
