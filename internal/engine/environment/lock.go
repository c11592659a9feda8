package environment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// A lock is an open lock file. The system releases it when the process ends, however that happens.
type lock struct{ file *os.File }

// A mode is how a lock is held.
type mode int

const (
	shared mode = iota
	exclusive
)

// errLocked is what tryLock gives when somebody else has the lock.
var errLocked = errors.New("in use")

// lockPeriod is how often a lock is tried that somebody else has. Waiting for it in the kernel could
// not be ended.
const lockPeriod = 100 * time.Millisecond

// tryLock takes the lock or returns errLocked. An exclusive lock makes the file if it is missing.
func tryLock(name string, m mode) (*lock, error) {
	flags := os.O_RDONLY
	if m == exclusive {
		flags = os.O_RDWR | os.O_CREATE
	}
	f, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f, m); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &lock{f}, nil
}

// waitLock takes the lock as soon as nobody else has it.
func waitLock(ctx context.Context, name string, m mode) (*lock, error) {
	ticker := time.NewTicker(lockPeriod)
	defer ticker.Stop()
	for {
		l, err := tryLock(name, m)
		if !errors.Is(err, errLocked) {
			return l, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another process that builds the same: %w", ctx.Err())
		}
	}
}

// touch records a use.
func (l *lock) touch() {
	now := time.Now()
	_ = os.Chtimes(l.file.Name(), now, now) // a use that is not recorded makes no difference today
}

func (l *lock) release() { _ = l.file.Close() } // which gives the lock back
