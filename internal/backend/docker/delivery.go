package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/command"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/container/api"
)

// A delivery brings the agent to an engine, in a volume that all sandboxes mount read-only. That works
// with a read-only root, with images that have no shell, and with engines on other machines.
//
// The volume is named by its content and stays: servers of the same version share it.
type delivery struct {
	engine *engine
	agent  func(arch string) ([]byte, error)

	mu     sync.Mutex
	volume string // once it is known to be filled
}

// ready is the file that is written last: without it the agent may be incomplete.
const ready = "ready"

// get returns the name of the volume. image is one that the engine has, or can get.
func (d *delivery) get(ctx context.Context, image string) (string, error) {
	if volume := d.filled(); volume != "" {
		return volume, nil
	}
	// A download must not keep those waiting whose image is there.
	if _, err := d.engine.volumesOf(ctx, image); err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.volume != "" {
		return d.volume, nil
	}
	binary, err := d.agent(d.engine.arch)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(binary)
	name := "llm-sandbox-agent-" + d.engine.arch + "-" + hex.EncodeToString(sum[:6])
	if err := d.fill(ctx, name, image, binary); err != nil {
		return "", err
	}
	d.volume = name
	return name, nil
}

// filled returns the name of the volume if it is known to be filled.
func (d *delivery) filled() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.volume
}

// forget has the volume looked at again: somebody may have removed it.
func (d *delivery) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.volume = ""
}

// fill puts the agent into the volume, unless it is there. A container that is never started holds the
// volume for that; its name keeps two servers from filling at the same time.
func (d *delivery) fill(ctx context.Context, name, image string, binary []byte) error {
	engine := d.engine.api
	labels := map[string]string{labelRole: roleAgent}
	if err := engine.CreateVolume(ctx, name, labels); err != nil {
		return d.engine.fail("make volume "+name, err)
	}
	id, err := d.carry(ctx, name, &api.Container{
		Image: image, Entrypoint: []string{agentDir + "/" + command.Name}, Labels: labels,
		HostConfig: api.HostConfig{NetworkMode: "none", Mounts: []api.Mount{agentMount(name, false)}},
	})
	if err != nil {
		return err
	}
	defer d.engine.giveUp(ctx, id)
	if filled, err := engine.HasPath(ctx, id, agentDir+"/"+ready); err != nil || filled {
		return d.engine.fail("look into volume "+name, err)
	}
	archive, err := packAgent(binary)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return d.engine.fail("copy the agent into volume "+name, engine.CopyIn(ctx, id, agentDir, bytes.NewReader(archive)))
}

const (
	// carryTimeout is how long another server may take to fill the volume. One that died in between has
	// left its carrier.
	carryTimeout = abandonedAfter
	carryRetry   = 100 * time.Millisecond
)

// carry makes the container that holds the volume.
func (d *delivery) carry(ctx context.Context, name string, carrier *api.Container) (id string, err error) {
	for deadline := time.Now().Add(carryTimeout); ; {
		id, err = d.engine.create(ctx, name, carrier)
		if !errors.Is(err, errNameTaken) {
			return id, err
		}
		if time.Now().After(deadline) {
			if err := d.engine.remove(ctx, name); err != nil {
				return "", err
			}
			deadline = time.Now().Add(carryTimeout)
			continue
		}
		select {
		case <-time.After(carryRetry):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func packAgent(binary []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, f := range []struct {
		name string
		mode int64
		data []byte
	}{{command.Name, 0o555, binary}, {ready, 0o444, nil}} {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data))})
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			return nil, fmt.Errorf("docker: pack agent: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("docker: pack agent: %w", err)
	}
	return packed.Bytes(), nil
}

// fail gives an error of the engine its kind; nil stays nil.
func (e *engine) fail(step string, err error) error {
	if err == nil {
		return nil
	}
	return backend.Wrap(backend.ErrUnavailable, fmt.Errorf("docker: %s: %w; is the engine at %s well? docker info tells", step, err, e.where.shown()))
}
