package cgroup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail/cgroup"
)

func TestParents(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		mountinfo, own string
		want           [][]string
	}{
		{
			name:      "v2, user session",
			mountinfo: "31 23 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n",
			own:       "0::/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope\n",
			want: [][]string{{
				"/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope",
				"/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice",
				"/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service",
				"/sys/fs/cgroup/user.slice/user-1000.slice",
				"/sys/fs/cgroup/user.slice",
				"/sys/fs/cgroup",
			}},
		},
		{
			name:      "v2, container with a cgroup namespace",
			mountinfo: "900 899 0:27 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n",
			own:       "0::/\n",
			want:      [][]string{{"/sys/fs/cgroup"}},
		},
		{
			name:      "v2, moved to the leaf before",
			mountinfo: "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			own:       "0::/a.scope/llm-sandbox-mcp.leaf\n",
			want:      [][]string{{"/sys/fs/cgroup/a.scope", "/sys/fs/cgroup"}},
		},
		{
			name: "v1, container that sees its part of the host's hierarchy",
			mountinfo: "10 9 0:30 /docker/c0ffee /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
				"11 9 0:31 /docker/c0ffee /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
			own: "4:memory:/docker/c0ffee/inner\n3:cpu,cpuacct:/docker/c0ffee\n",
			want: [][]string{
				{"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/llm-sandbox-mcp"},
				{"/sys/fs/cgroup/memory/inner", "/sys/fs/cgroup/memory/llm-sandbox-mcp", "/sys/fs/cgroup/memory"},
			},
		},
		{
			name:      "own group outside of the mount",
			mountinfo: "10 9 0:30 /docker/c0ffee /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
			own:       "4:pids:/docker/c0ffee2\n",
			want:      [][]string{{"/sys/fs/cgroup/pids", "/sys/fs/cgroup/pids/llm-sandbox-mcp"}},
		},
		{
			name:      "own group above the namespace's root",
			mountinfo: "10 9 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			own:       "0::/../other\n",
			want:      [][]string{{"/sys/fs/cgroup"}},
		},
		{
			name: "v1 and v2, with the names of systemd",
			mountinfo: "1 0 0:5 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n" +
				"2 1 0:6 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" +
				"3 1 0:7 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n",
			own: "1:name=systemd:/user.slice\n0::/user.slice\n",
			want: [][]string{
				{"/sys/fs/cgroup/unified/user.slice", "/sys/fs/cgroup/unified"},
				{"/sys/fs/cgroup/systemd/user.slice", "/sys/fs/cgroup/systemd/llm-sandbox-mcp", "/sys/fs/cgroup/systemd"},
			},
		},
		{
			name:      "escaped and odd names",
			mountinfo: `10 9 0:30 / /mnt/c\040g\134x rw - cgroup2 cgroup2 rw` + "\n",
			own:       "0::/a:b c\n",
			want:      [][]string{{`/mnt/c g\x/a:b c`, `/mnt/c g\x`}},
		},
		{
			name:      "no control groups, damaged lines",
			mountinfo: "\n10\n10 9 0:30 / - cgroup2\n10 9 0:30 / /x rw - cgroup\n1 0 0:5 / / rw - ext4 /dev/vda rw\n",
			own:       "0\n::\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, cgroup.Parents(test.mountinfo, test.own)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Whatever the files hold, no directory is outside of its mount.
func FuzzParents(f *testing.F) {
	f.Add("31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/a/b\n")
	f.Add("10 9 0:30 /d/c /g rw - cgroup cgroup rw,cpu,cpuacct\n", "3:cpu,cpuacct:/../../etc\n")
	if text, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		f.Add(string(text), "0::/../x\n4:memory:/\\056\n")
	}
	f.Fuzz(func(t *testing.T, mountinfo, own string) {
		for _, dirs := range cgroup.Parents(mountinfo, own) {
			point := dirs[len(dirs)-1]
			if filepath.Base(point) == "llm-sandbox-mcp" {
				point = filepath.Dir(point)
			}
			for _, dir := range dirs {
				if below, err := filepath.Rel(point, dir); err != nil || below == ".." || strings.HasPrefix(below, "../") {
					t.Errorf("%q is not below %q", dir, point)
				}
			}
		}
	})
}
