//go:build linux

package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHost(t *testing.T) {
	t.Parallel()
	fallback := fmt.Sprintf("/llm-sandbox-mcp-%d", os.Getuid())
	for _, test := range []struct {
		name                    string
		environ                 []string
		path, home, temp, cache string
	}{
		{"nothing set", nil,
			"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "", "/tmp", "/tmp" + fallback},
		{"desktop client", []string{"PATH=/usr/bin:/bin", "TMPDIR=/var/t"},
			"/usr/bin:/bin", "", "/var/t", "/var/t" + fallback},
		{"shell", []string{"PATH=/bin", "HOME=/home/me"},
			"/bin", "/home/me", "/tmp", "/home/me/.cache/llm-sandbox-mcp"},
		{"xdg", []string{"PATH=/bin", "HOME=/home/me", "XDG_CACHE_HOME=/x"},
			"/bin", "/home/me", "/tmp", "/x/llm-sandbox-mcp"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, _ := load(t, test.environ...)
			got := []string{c.Host.Path, c.Host.Home, c.Host.TempDir, c.CacheDir}
			want := []string{test.path, test.home, test.temp, test.cache}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("host = %q, want %q", got, want)
			}
		})
	}
}

func TestMakeCacheDir(t *testing.T) {
	t.Parallel()
	own, others := t.TempDir(), t.TempDir()
	dir := fmt.Sprintf("llm-sandbox-mcp-%d", os.Getuid())
	if err := os.Mkdir(filepath.Join(others, dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(others, dir), 0o777); err != nil {
		t.Fatal(err)
	}

	c, _ := load(t, "TMPDIR="+own)
	for range 2 {
		if err := c.MakeCacheDir(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(c.CacheDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%s: mode %v, error %v", c.CacheDir, info.Mode(), err)
	}

	c, _ = load(t, "TMPDIR="+others)
	err := c.MakeCacheDir()
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "SANDBOX_CACHE_DIR") {
		t.Errorf("a directory that others can change: %v", err)
	}
	c, _ = load(t, "SANDBOX_CACHE_DIR="+filepath.Join(others, dir))
	if err := c.MakeCacheDir(); err != nil {
		t.Errorf("a directory that the user chose: %v", err)
	}
}
