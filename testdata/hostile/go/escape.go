// Makes raw system calls from Go.
// want: exit 0
// want: stdout refused

package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func main() {
	for _, name := range []string{"/etc/shadow", "/proc/1/environ", "/proc/1/mem", "/root/.bashrc"} {
		if data, err := os.ReadFile(name); err == nil && len(data) > 0 {
			fmt.Println("read", name)
		}
	}
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS}
	if cmd.Run() == nil {
		fmt.Println("made namespaces")
	}
	if err := syscall.Mount("none", "/tmp", "tmpfs", 0, ""); err == nil {
		fmt.Println("mounted")
	}
	if err := syscall.PtraceAttach(1); err == nil {
		fmt.Println("attached")
	}
	fmt.Println("refused")
}
