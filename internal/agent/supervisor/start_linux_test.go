package supervisor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

func TestEnds(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		for script, want := range map[string]backend.Exit{
			"exit 0":        {Outcome: backend.Exited},
			"exit 3":        {Outcome: backend.Exited, Code: 3},
			"exit 255":      {Outcome: backend.Exited, Code: 255},
			"exit 137":      {Outcome: backend.Exited, Code: 137},
			"kill -9 $$":    {Outcome: backend.Signaled, Code: 137, Signal: 9},
			"kill -SEGV $$": {Outcome: backend.Signaled, Code: 139, Signal: 11},
			"kill -SYS $$":  {Outcome: backend.Denied, Code: 159, Signal: 31},
			"kill -XFSZ $$": {Outcome: backend.OutOfDisk, Code: 153, Signal: 25, Reached: []string{"disk"}},
		} {
			got := s.sh(script).Exit
			if got.Usage.Wall <= 0 || got.Usage.Wall > 5*time.Second || got.Usage.PeakMemory < 100<<10 {
				t.Errorf("%s: used %+v", script, got.Usage)
			}
			got.Usage = backend.Usage{}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", script, diff)
			}
		}
	})
}

func TestUsageCountsChildrenAndOrphans(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		const loop = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done"
		alone := s.sh(loop).Usage.CPU
		orphan := s.sh("(sh -c '" + loop + "; echo done >" + s.dir + "/done' &) ; while [ ! -s " + s.dir + "/done ]; do sleep 0.01; done; sleep 0.05")
		if orphan.Usage.CPU < alone/2 {
			t.Errorf("an orphan's %v of processor time are missing from %v", alone, orphan.Usage.CPU)
		}
	})
}

func TestRefusals(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		write := func(name, text string, mode os.FileMode) {
			if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), mode); err != nil {
				t.Fatal(err)
			}
		}
		write("plain", "x", 0o644)
		write("text", "echo hello\n", 0o755)
		write("nowhere", "#!/no/such/interpreter\n", 0o755)
		own := []string{"PATH=/nowhere:" + s.dir}
		for name, test := range map[string]struct {
			cmd  backend.Command
			kind error
			text string
		}{
			"nothing":             {backend.Command{}, backend.ErrInvalid, "none is named"},
			"an empty name":       {backend.Command{Args: []string{""}}, backend.ErrInvalid, "none is named"},
			"missing in PATH":     {backend.Command{Args: []string{"missing"}, Env: own}, backend.ErrNotFound, `PATH "/nowhere:`},
			"no PATH":             {backend.Command{Args: []string{"sh"}, Env: []string{"A=1"}}, backend.ErrNotFound, "sh"},
			"relative PATH":       {backend.Command{Args: []string{"sh"}, Env: []string{"PATH=.:bin"}, Dir: "/"}, backend.ErrNotFound, "sh"},
			"missing path":        {backend.Command{Args: []string{"/no/such"}, Env: own}, backend.ErrNotFound, "/no/such"},
			"not executable":      {backend.Command{Args: []string{"plain"}, Env: own}, backend.ErrInvalid, "/plain: permission denied"},
			"a directory":         {backend.Command{Args: []string{"/usr"}, Env: own}, backend.ErrInvalid, "/usr"},
			"no format":           {backend.Command{Args: []string{"text"}, Env: own}, backend.ErrInvalid, "#!"},
			"missing interpreter": {backend.Command{Args: []string{"nowhere"}, Env: own}, backend.ErrNotFound, "interpreter"},
			"missing directory":   {backend.Command{Args: []string{"sh"}, Env: []string{path}, Dir: "/no/such"}, backend.ErrInvalid, "directory /no/such: no such file"},
			"file as directory":   {backend.Command{Args: []string{"sh"}, Env: []string{path}, Dir: "/etc/passwd"}, backend.ErrInvalid, "not a directory"},
			"NUL":                 {backend.Command{Args: []string{"sh", "a\x00b"}, Env: []string{path}}, backend.ErrInvalid, "NUL"},
			"arguments too long":  {backend.Command{Args: []string{"/bin/sh", strings.Repeat("x", 1<<20)}}, backend.ErrInvalid, "standard input"},
			"a huge tail":         {backend.Command{Args: []string{"/bin/sh"}, Output: backend.OutputLimit{Tail: 1 << 40}}, backend.ErrInvalid, "bytes of output"},
		} {
			p, err := s.Start(t.Context(), test.cmd)
			if err == nil {
				_, _ = p.Wait()
			}
			t.Run(name, func(t *testing.T) { wantKind(t, err, test.kind, test.text) })
		}
	})
}

// A program finds nothing of the supervisor's: not its signals, descriptors, session or limits.
func TestProgramsStartClean(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		got := s.sh(`
			grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/$$/fd
			ulimit -c; umask; pwd; [ $(cut -d' ' -f6 /proc/$$/stat) = $$ ] && echo leads its session`)
		const zero = ":\t0000000000000000\n"
		want := "SigBlk" + zero + "SigIgn" + zero + "0\n1\n2\n0\n0022\n" + s.dir + "\nleads its session\n"
		if diff := cmp.Diff(want, got.stdout); diff != "" {
			t.Errorf("(-want +got):\n%s%s", diff, got.stderr)
		}
	})
}

func TestEnvironmentIsWhole(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		cmd := backend.Command{Args: []string{"env"}, Env: []string{"PATH=/nowhere", "A=1", "EMPTY=", "A=2", path}}
		if got, want := s.start(t.Context(), cmd)().stdout, "EMPTY=\nA=2\n"+path+"\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestRelativeNamesAreFromTheDirectory(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		if err := os.WriteFile(filepath.Join(s.dir, "hello"), []byte("#!/bin/sh\necho hello\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := s.start(t.Context(), backend.Command{Args: []string{"./hello"}})(); got.stdout != "hello\n" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	s := boot(t, mode{name: asInit, small: []string{dir}, work: dir})
	fill := s.sh("cat /dev/zero >big")
	if fill.Outcome != backend.OutOfDisk || fill.Code == 0 || !cmp.Equal(fill.Reached, []string{"disk"}) {
		t.Errorf("filling the disk: got %+v", fill)
	}
	if cope := s.sh("true"); cope.Outcome != backend.Exited || cope.Code != 0 || !cmp.Equal(cope.Reached, []string{"disk"}) {
		t.Errorf("success on a full disk: got %+v", cope)
	}
	if free := s.sh("rm big; false"); free.Outcome != backend.Exited || free.Code != 1 || free.Reached != nil {
		t.Errorf("failure on an empty disk: got %+v", free)
	}
}
