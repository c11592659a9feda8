package environment

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// A draft is an environment that is not whole yet, in a directory of its own. The directory is made when
// there is something to put into it: a server that is killed while it builds leaves nothing.
type draft struct {
	parent, name string
	future       bool

	dir      string
	unpacker *unpacker
}

// begin makes the directory.
func (d *draft) begin() (err error) {
	if d.unpacker != nil {
		return nil
	}
	if d.dir, err = os.MkdirTemp(d.parent, d.name); err != nil {
		return err
	}
	// MkdirTemp makes directories that only their owner may enter, and programs of another user read
	// this one.
	if err := os.Chmod(d.dir, 0o755); err != nil {
		return err
	}
	d.unpacker, err = newUnpacker(filepath.Join(d.dir, content), d.future)
	return err
}

// unpack unpacks an archive into the directory dir of the environment.
func (d *draft) unpack(dir string, archive io.Reader) error {
	if err := d.begin(); err != nil {
		return err
	}
	return d.unpacker.unpack(dir, archive)
}

// finish writes the manifest. The directory can then be moved.
func (d *draft) finish(key []string) (manifest, error) {
	if err := d.begin(); err != nil { // an empty environment is one, too
		return manifest{}, err
	}
	if err := d.unpacker.close(); err != nil {
		return manifest{}, err
	}
	m := manifest{Format: format, Key: key, Files: d.unpacker.files, Bytes: d.unpacker.bytes}
	return m, m.write(d.dir)
}

// remove removes what is still there.
func (d *draft) remove() error {
	var err error
	if d.unpacker != nil {
		err = d.unpacker.close()
	}
	if d.dir == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}
