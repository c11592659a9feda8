package jail

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// stores are directories that hold nothing but installed packages, which refer to each other: one is
// shown as a whole when a runtime lives in it.
func stores() []string {
	return []string{"/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew"}
}

// shown reports whether every sandbox shows the path, or one of the prefixes holds it.
func (f *Finder) shown(path string, prefixes []string) bool {
	return slices.ContainsFunc(f.options.System, func(dir string) bool { return within(path, dir) }) ||
		slices.ContainsFunc(prefixes, func(dir string) bool { return within(path, dir) })
}

// mountable turns the directories that a runtime names as its own into those to show, or says why they
// cannot be. A directory that is a symbolic link is shown under its own path, that of every link it
// leads to, and the real one: programs use any of them.
func (f *Finder) mountable(dirs []string) ([]string, error) {
	var all []string
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		dir = filepath.Clean(dir)
		paths, err := hops(dir)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if f.shown(path, all) {
				continue
			}
			if i := slices.IndexFunc(stores(), func(store string) bool { return within(path, store) }); i >= 0 {
				path = stores()[i]
			} else if err := f.harmless(path); err != nil {
				return nil, err
			}
			all = append(all, path)
		}
	}
	return outermost(all), nil
}

// hops returns the path, those that it leads to as a symbolic link, and at last the real path.
func hops(path string) ([]string, error) {
	last, err := filepath.EvalSymlinks(path) // fails on a circle
	if err != nil {
		return nil, err
	}
	var paths []string
	for {
		paths = append(paths, path)
		info, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		if info.Mode()&os.ModeSymlink == 0 {
			return append(paths, last), nil
		}
		target, err := os.Readlink(path)
		if err != nil {
			return nil, err
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = filepath.Clean(target)
	}
}

// harmless refuses directories that hold more than a runtime.
func (f *Finder) harmless(dir string) error {
	shared := []string{
		"/", "/home", "/root", "/etc", "/var", "/var/lib", "/tmp", "/var/tmp", "/run", "/proc", "/sys", "/dev",
		"/boot", "/mnt", "/media", "/srv", "/opt",
	}
	if slices.Contains(shared, dir) {
		return fmt.Errorf("its directory, %s, holds more than a runtime", dir)
	}
	homes := []string{"/root", f.options.Home}
	if rest, ok := strings.CutPrefix(dir, "/home/"); ok {
		user, _, _ := strings.Cut(rest, "/")
		homes = append(homes, "/home/"+user)
	}
	for _, home := range homes {
		if home == "" {
			continue
		}
		if within(home, dir) {
			return fmt.Errorf("its directory, %s, is or holds a home directory", dir)
		}
		// Programs keep settings, keys and tokens right in these.
		for _, name := range []string{".local", ".config", ".cache", ".ssh"} {
			if dir == filepath.Join(home, name) || dir == filepath.Join(home, name, "share") {
				return fmt.Errorf("its directory, %s, holds more than a runtime", dir)
			}
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	return readable(dir)
}

// readable checks that a sandbox's user can enter a directory or run a program: not the owner, if the
// server runs as root.
func readable(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o005 != 0o005 {
		return fmt.Errorf("%s can be used by its owner only", path)
	}
	return nil
}

// loadable checks that what the dynamic loader needs is shown too. Packages of Homebrew or Nix, among
// others, have libraries and even the loader elsewhere.
func (f *Finder) loadable(program string, prefixes []string) error {
	file, err := elf.Open(program)
	if err != nil {
		if _, ok := errors.AsType[*elf.FormatError](err); ok {
			return nil // a script: its interpreter is what matters, and was asked
		}
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	for _, segment := range file.Progs {
		if segment.Type != elf.PT_INTERP {
			continue
		}
		const longest = 4096
		name := make([]byte, min(segment.Filesz, longest))
		if _, err := segment.ReadAt(name, 0); err != nil {
			return err
		}
		if loader := strings.TrimRight(string(name), "\x00"); !f.shown(loader, prefixes) {
			return fmt.Errorf("its loader, %s, is outside of its directory", loader)
		}
	}
	libraries, err := file.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, dir := range searchPaths(file, program) {
		if f.shown(dir, prefixes) {
			continue
		}
		for _, library := range libraries {
			if _, err := os.Stat(filepath.Join(dir, library)); err == nil {
				return fmt.Errorf("its library %s is in %s, outside of its directory", library, dir)
			}
		}
	}
	return nil
}

// searchPaths returns the directories that the program itself tells the loader to search.
func searchPaths(file *elf.File, program string) []string {
	var dirs []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		values, err := file.DynString(tag)
		if err != nil {
			continue // not a dynamic program
		}
		for _, value := range values {
			for _, dir := range filepath.SplitList(value) {
				dir = strings.NewReplacer("$ORIGIN", filepath.Dir(program), "${ORIGIN}", filepath.Dir(program)).Replace(dir)
				dirs = append(dirs, filepath.Clean(dir))
			}
		}
	}
	return dirs
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// outermost sorts directories and leaves out those that lie in another.
func outermost(dirs []string) []string {
	slices.Sort(dirs)
	var out []string
	for _, dir := range dirs {
		if !slices.ContainsFunc(out, func(outer string) bool { return within(dir, outer) }) {
			out = append(out, dir)
		}
	}
	return out
}
