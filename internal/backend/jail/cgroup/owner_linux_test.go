package cgroup_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail/cgroup"
)

// What a server that crashed has left, another process removes by the owner's name.
func TestRemoveTreeOfCrashedServer(t *testing.T) {
	_, _, mine := open(t)
	owner := run(t, false, childAbandon)
	if len(leftovers(t, owner)) == 0 {
		t.Fatal("the crashed server left nothing")
	}
	if err := cgroup.RemoveTree(t.Context(), owner); err != nil {
		t.Error(err)
	}
	if left := leftovers(t, owner); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if len(leftovers(t, mine)) == 0 {
		t.Error("the tree of a live server is gone")
	}
	if err := cgroup.RemoveTree(t.Context(), owner); err != nil {
		t.Errorf("second time: %v", err)
	}
}

// Sweep removes the trees of dead owners only.
func TestSweep(t *testing.T) {
	_, _, mine := open(t)
	m, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}

	fields := strings.Split(mine, "-")
	reused := fmt.Sprintf("%s-1-%s", fields[0], fields[2])    // our id, but started at another time
	foreign := fmt.Sprintf("%s-%s-1", "999999999", fields[1]) // of another pid namespace
	for _, owner := range []string{reused, foreign} {
		if _, err := m.Open(owner); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cgroup.RemoveTree(t.Context(), owner) })
	}
	crashed := run(t, false, childAbandon)
	if err := cgroup.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	for owner, alive := range map[string]bool{mine: true, foreign: true, reused: false, crashed: false} {
		if left := leftovers(t, owner); (len(left) > 0) != alive {
			t.Errorf("owner %s, alive %t: there is %v", owner, alive, left)
		}
	}
	if err := cgroup.RemoveTree(t.Context(), foreign); err != nil {
		t.Error(err)
	}
}

// An ordinary user has the groups that root made for the user, and without them is told how to get
// them; everything else works all the same.
func TestOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become someone else")
	}
	_, has, _ := open(t)
	if !strings.HasPrefix(has.Version, "v1") {
		t.Skip("the directories of this test are those of v1")
	}
	none := serveAsNobody(t)
	if c := none.Controllers; c.Version != "none" || c.Memory || c.CPU || c.Processes ||
		!strings.Contains(c.Why, "permission denied; as root, run: for c in memory cpu pids;") {
		t.Errorf("without directories: %+v", c)
	}

	for _, controller := range []string{"memory", "cpu", "pids"} {
		dir := filepath.Join("/sys/fs/cgroup", controller, "llm-sandbox-mcp")
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			t.Skipf("this system has its hierarchies elsewhere: %v", err)
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		if out, err := exec.Command("chown", "-R", "nobody", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	given := serveAsNobody(t)
	if c := given.Controllers; c.Version != "v1" || !c.Memory || !c.CPU || !c.Processes || c.Why != "" {
		t.Errorf("with directories: %+v", c)
	}
	if !given.Killed || given.Events.OOMKills != 1 {
		t.Errorf("the memory limit did not hold: %+v", given)
	}
	if strings.Count(given.Inside, "/llm-sandbox-mcp/llm-sandbox-mcp-") != 3 {
		t.Errorf("a process started in\n%s", given.Inside)
	}
}

func serveAsNobody(t *testing.T) (r report) {
	t.Helper()
	if err := json.Unmarshal([]byte(run(t, true, childServer)), &r); err != nil {
		t.Fatal(err)
	}
	return r
}
