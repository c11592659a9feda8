package native

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

const (
	// firstID is where the host ids of sandboxes begin when the server may choose them: above the ids
	// that shadow-utils, systemd and container engines give out, below 2^31.
	firstID = 0x70000000
	// idCount is how many there are before they come again.
	idCount = 1 << 16
)

// identities are the users and groups of the host that programs in sandboxes really are. A server that
// may map any id gives each sandbox one of its own, which owns nothing on the host. Any other server
// can give only its own.
type identities struct {
	choose bool
	next   atomic.Uint32
}

func newIdentities() *identities {
	ids := &identities{choose: os.Geteuid() == 0 && mapped("/proc/self/uid_map") && mapped("/proc/self/gid_map")}
	var seed [2]byte
	_, _ = rand.Read(seed[:]) // never fails: crypto/rand
	ids.next.Store(uint32(seed[0])<<8 | uint32(seed[1]))
	return ids
}

// mapped reports whether all ids of sandboxes exist in this user namespace.
func mapped(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // read only
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var inside, outside, count uint64
		if _, err := fmt.Sscan(lines.Text(), &inside, &outside, &count); err == nil &&
			inside <= firstID && inside+count >= firstID+idCount {
			return true
		}
	}
	return false
}

// apply sets the id maps of a new user namespace.
func (ids *identities) apply(attr *syscall.SysProcAttr) {
	uid, gid := os.Geteuid(), os.Getegid()
	if ids.choose {
		uid = firstID + int(ids.next.Add(1)%idCount)
		gid = uid
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: backend.UID, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: backend.GID, HostID: gid, Size: 1}}
	attr.GidMappingsEnableSetgroups = ids.choose
}

// randomID returns a name that no other sandbox has.
func randomID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return strings.ToLower(hex.EncodeToString(b[:]))
}
