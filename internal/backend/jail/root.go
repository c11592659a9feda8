package jail

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// A Root says what a local jail shows of the host, and what it makes up.
type Root struct {
	// Binds are shown read-only, with everything mounted below them.
	Binds []Bind
	// Links are symbolic links.
	Links []Link
	// Files are made up.
	Files []File
	// Devices are names in /dev.
	Devices []string
}

// A Bind shows Source of the host at Target.
type Bind struct{ Source, Target string }

// A Link is a symbolic link at Name that holds Target.
type Link struct{ Name, Target string }

// A File has Text at Name.
type File struct{ Name, Text string }

// system are the directories with the host's programs and libraries. Where /usr is merged, all but the
// first are links.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// fragments are the parts of /etc that runtimes need to work, as patterns. Nothing else of /etc is
// shown: no shadow, no keys, no mounts, no host name.
var fragments = []string{
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/protocols", "/etc/services",
	"/etc/fonts", "/etc/matplotlibrc", "/etc/papersize", "/etc/magic", "/etc/terminfo",
	"/etc/R", "/etc/java-*-openjdk", "/etc/java", "/etc/python3*", "/etc/ImageMagick-*",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/ca-trust/extracted",
	"/etc/pki/tls/certs", "/etc/pki/java", "/etc/crypto-policies",
}

// HostRoot describes the root with the host's runtimes. The directories extra, which lie outside of
// /usr, are shown at the same path.
func HostRoot(extra []string) Root {
	root := Root{Files: identity(), Devices: devices()}
	for _, dir := range system {
		root.show(dir)
	}
	for _, pattern := range fragments {
		names, _ := filepath.Glob(pattern) // the patterns are well formed
		for _, name := range names {
			root.show(name)
		}
	}
	for _, dir := range extra {
		if !slices.ContainsFunc(root.Binds, func(b Bind) bool { return b.Target == dir || strings.HasPrefix(dir, b.Target+"/") }) {
			root.show(dir)
		}
	}
	return root
}

// show adds name as what it is on the host: a link stays a link. What is missing is left out.
func (r *Root) show(name string) {
	info, err := os.Lstat(name)
	if err != nil {
		return
	}
	if info.Mode()&os.ModeSymlink == 0 {
		r.Binds = append(r.Binds, Bind{name, name})
		return
	}
	target, err := os.Readlink(name)
	if err != nil {
		return
	}
	r.Links = append(r.Links, Link{name, target})
}

// identity are the files that make up a user and a machine.
func identity() []File {
	return []File{
		{"/etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\n" +
			"sandbox:x:1000:1000:sandbox:" + backend.HomeDir + ":/bin/sh\n" +
			"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
		{"/etc/group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"},
		{"/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"},
		{"/etc/hostname", "sandbox\n"},
		{"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"},
		{"/etc/resolv.conf", ""},
	}
}

// devices are those that programs expect everywhere and that give nothing away.
func devices() []string {
	var names []string
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if _, err := os.Stat("/dev/" + name); err == nil {
			names = append(names, name)
		}
	}
	return names
}
