package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Host is what the environment says about the machine and its user. Desktop clients start servers with
// hardly any environment, so every field has a value or may be empty.
type Host struct {
	// Path is where programs are looked for, as in PATH.
	Path string
	// Home is the user's home directory, or empty.
	Home string
	// RuntimeDir is where ordinary users have their sockets, or empty.
	RuntimeDir string
	// TempDir is the directory for temporary files.
	TempDir string
	// cache is the user's cache directory, or empty.
	cache string
}

// defaultPath is what a login shell would set.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// host follows the rules of os.UserHomeDir, os.TempDir and os.UserCacheDir over env.
func host(env map[string]string) Host {
	h := Host{Path: env["PATH"], Home: env["HOME"], RuntimeDir: env["XDG_RUNTIME_DIR"], TempDir: env["TMPDIR"]}
	switch runtime.GOOS {
	case "windows":
		h.Home, h.TempDir, h.cache = env["USERPROFILE"], env["TEMP"], env["LocalAppData"]
		return h
	case "darwin":
		if h.Home != "" {
			h.cache = filepath.Join(h.Home, "Library", "Caches")
		}
	default:
		if h.cache = env["XDG_CACHE_HOME"]; h.cache == "" && h.Home != "" {
			h.cache = filepath.Join(h.Home, ".cache")
		}
	}
	if h.Path == "" {
		h.Path = defaultPath
	}
	if h.TempDir == "" {
		h.TempDir = "/tmp"
	}
	return h
}

// cacheDir returns the default of SANDBOX_CACHE_DIR, and whether it lies where others can write.
func (h Host) cacheDir() (dir string, private bool) {
	const name = "llm-sandbox-mcp"
	if filepath.IsAbs(h.cache) {
		return filepath.Join(h.cache, name), false
	}
	return filepath.Join(h.TempDir, fmt.Sprintf("%s-%d", name, os.Getuid())), true
}

// MakeCacheDir makes CacheDir if it is missing. Below a directory that others can write to it must be
// one that only this user can use: another user may have made it first.
func (c *Config) MakeCacheDir() error {
	if err := os.MkdirAll(c.CacheDir, 0o700); err != nil {
		return fmt.Errorf("cache: %w; set SANDBOX_CACHE_DIR to a directory that this user can write to", err)
	}
	if !c.private {
		return nil
	}
	info, err := os.Lstat(c.CacheDir)
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !owned(info) {
		return fmt.Errorf("cache: use %s: %w: others can change it; set SANDBOX_CACHE_DIR to a directory of your own",
			c.CacheDir, fs.ErrPermission)
	}
	return nil
}
