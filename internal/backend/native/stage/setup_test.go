package stage_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/native/stage"
)

func full() *stage.Setup {
	return &stage.Setup{
		Binds:    []string{"/usr", "/usr", "/a b\n", "/opt/ü"},
		Links:    []string{"/bin", "usr/bin"},
		Files:    []string{"/etc/passwd", "root:x:0:0\n", "/etc/resolv.conf", ""},
		Writable: []string{"/sandbox", "/tmp"},
		Devices:  []string{"null"},
		Overlay:  "/opt/sandbox/gocache",
		Bounds:   "size=1073741824,nr_inodes=131072",
		Limits:   []int64{4, 0, 0, 7, 1024, 1 << 40},
		UID:      1000,
		GID:      1000,
		Switch:   true,
		Filter:   []byte{0, 1, 2, 255},
		WorkDir:  "/sandbox",
		Data:     1 << 30,
	}
}

func TestSetupCrossesTheWire(t *testing.T) {
	for name, want := range map[string]*stage.Setup{"empty": {}, "full": full()} {
		t.Run(name, func(t *testing.T) {
			got := new(stage.Setup)
			if err := got.Unmarshal(want.Marshal()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(stage.Setup{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("setup changed on the way (-sent +received):\n%s", diff)
			}
		})
	}
}

func TestSetupRefusesDamage(t *testing.T) {
	message := full().Marshal()
	for n := range message {
		if err := new(stage.Setup).Unmarshal(message[:n]); err == nil {
			t.Errorf("the first %d of %d bytes were taken for a setup", n, len(message))
		}
	}
	if err := new(stage.Setup).Unmarshal(append(message, 0)); err == nil {
		t.Error("a byte too many was taken for a setup")
	}
}

func FuzzSetup(f *testing.F) {
	f.Add(full().Marshal())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := new(stage.Setup)
		if s.Unmarshal(b) != nil {
			return
		}
		again := new(stage.Setup)
		if err := again.Unmarshal(s.Marshal()); err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
	})
}
