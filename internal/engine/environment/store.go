// Package environment keeps directories that take long to build, such as a language's libraries, so
// that sandboxes can share them: it builds each once, publishes it whole or not at all, and removes
// those that were not used for the longest time.
package environment

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// DefaultMaxBytes is what all environments of a store may have together.
	DefaultMaxBytes = 8 << 30
	// failureKept is how long a build that failed is not tried again: it would cost every call that
	// can do without the environment the time of the build.
	failureKept = 5 * time.Minute
)

// Options configure a [Store].
type Options struct {
	// Dir is the absolute directory of the store. It is made when something is built.
	Dir string
	// Parent, if not nil, is called before that and makes the directory that Dir is in.
	Parent func() error
	// MaxBytes is the size above which environments that are not in use are removed, those used last
	// at last; 0 means [DefaultMaxBytes].
	MaxBytes int64
	// Logger is told what was built and removed; nil means nobody is.
	Logger *slog.Logger
}

// A Store is a directory of environments. Several processes may use one directory, and its methods may
// be called concurrently.
//
// In the directory, KEY is an environment and KEY.lock its lock: shared while it is in use, exclusive
// while it is built or removed. The time of the lock is that of the last use. tmp-KEY-* is what is being
// built, or what a process left that was killed.
type Store struct {
	dir      string
	parent   func() error
	maxBytes int64
	log      *slog.Logger

	mu     sync.Mutex
	builds map[string]*build
	// sound holds the time of the manifests of environments that were looked through.
	sound map[string]time.Time
}

// A build is one that runs, or one that failed a short time ago.
type build struct {
	done  chan struct{}
	err   error
	until time.Time
}

// New returns a store. It touches nothing yet.
func New(o Options) *Store {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Store{
		dir:      o.Dir,
		parent:   o.Parent,
		maxBytes: cmp.Or(o.MaxBytes, DefaultMaxBytes),
		log:      o.Logger,
		builds:   make(map[string]*build),
		sound:    make(map[string]time.Time),
	}
}

// A Recipe says how to make an environment.
type Recipe struct {
	// Key tells environments apart: equal keys stand for equal contents.
	Key []string
	// Build makes the content: it calls unpack once for each directory of the environment, which dir
	// names relative to its root, with a tar archive that need not be trusted. Its context does not end
	// with that of the call that asked first.
	Build func(ctx context.Context, unpack func(dir string, archive io.Reader) error) error
	// FutureTime gives all files a modification time in the far future.
	FutureTime bool
	// Stamp names a file of the content that holds the present in seconds since 1970. It is written
	// anew when it is older than half a day. Empty for none.
	Stamp string
	// Waiting, if not nil, is called when the environment has to be built first.
	Waiting func()
}

// An Environment is a directory that nobody changes or removes until it is released.
type Environment struct {
	// Dir is the absolute path. Everything in it can be read by every user.
	Dir  string
	lock *lock
}

// Release gives the environment back. It is called once.
func (e *Environment) Release() { e.lock.release() }

// Find returns the environment of a recipe if it is there and whole, else nil.
func (s *Store) Find(r Recipe) *Environment { return s.open(hash(r.Key), r.Stamp) }

// Get returns the environment of a recipe. It is built if it is not there or not whole, by one process
// at a time; calls for the same one share the build. A build that has failed is not tried again for a
// few minutes.
func (s *Store) Get(ctx context.Context, r Recipe) (*Environment, error) {
	key := hash(r.Key)
	if e := s.open(key, r.Stamp); e != nil {
		return e, nil
	}
	b := s.start(ctx, key, r)
	if r.Waiting != nil {
		r.Waiting()
	}
	select {
	case <-b.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if b.err != nil {
		return nil, b.err
	}
	if e := s.open(key, r.Stamp); e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("environment: %s: it was removed as soon as it was built; give the cache more room", r.Key)
}

// hash names the directory of a key.
func hash(key []string) string {
	h := sha256.New()
	for _, part := range key {
		fmt.Fprintf(h, "%q ", part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// open returns an environment that is there and whole, or nil.
func (s *Store) open(key, stamp string) *Environment {
	l, err := tryLock(s.lockFile(key), shared)
	if err != nil {
		return nil
	}
	if !s.whole(key) {
		l.release()
		return nil
	}
	l.touch()
	s.refresh(key, stamp)
	return &Environment{Dir: filepath.Join(s.dir, key, content), lock: l}
}

func (s *Store) lockFile(key string) string { return filepath.Join(s.dir, key+".lock") }

// start returns the build of a key that runs or has failed, or starts one.
func (s *Store) start(ctx context.Context, key string, r Recipe) *build {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.builds[key]; b != nil && (b.until.IsZero() || time.Now().Before(b.until)) {
		return b
	}
	b := &build{done: make(chan struct{})}
	s.builds[key] = b
	go func() {
		defer close(b.done)
		err := s.build(context.WithoutCancel(ctx), key, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			delete(s.builds, key)
			return
		}
		b.err = fmt.Errorf("environment: build %q: %w", r.Key, err)
		b.until = time.Now().Add(failureKept)
	}()
	return b
}

// build makes an environment beside its place, and moves it there when it is whole.
func (s *Store) build(ctx context.Context, key string, r Recipe) error {
	if s.parent != nil {
		if err := s.parent(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	l, err := waitLock(ctx, s.lockFile(key), exclusive)
	if err != nil {
		return err
	}
	defer l.release()
	if s.whole(key) {
		return nil // another process was faster
	}
	if err := s.removeRemains(key); err != nil {
		return err
	}
	began := time.Now()
	d := &draft{parent: s.dir, name: temporary + key + "-", future: r.FutureTime}
	defer func() {
		if err := d.remove(); err != nil {
			s.log.Warn("remove temporary environment", "dir", d.dir, "error", err)
		}
	}()
	if err := r.Build(ctx, d.unpack); err != nil {
		return err
	}
	made, err := d.finish(r.Key)
	if err != nil {
		return err
	}
	place := filepath.Join(s.dir, key)
	if err := os.RemoveAll(place); err != nil {
		return fmt.Errorf("remove the damaged one: %w", err)
	}
	if err := os.Rename(d.dir, place); err != nil {
		return err
	}
	s.log.Info("environment built", "key", r.Key, "files", made.Files, "bytes", made.Bytes, "took", time.Since(began))
	s.evict(key)
	return nil
}

const (
	// temporary begins the names of directories that are not environments yet, or no longer.
	temporary = "tmp-"
	// content is the directory in an environment that sandboxes get to see.
	content = "content"
)
