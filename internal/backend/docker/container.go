package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// stepTimeout bounds each request that makes or removes something. They are not given up when the caller
// is: an engine goes on with what it was asked, and what it made would be known to nobody.
const stepTimeout = time.Minute

var errNameTaken = errors.New("the name of the container is taken")

// create makes a container, with an image that is pulled if the engine does not have it.
func (e *engine) create(ctx context.Context, name string, b body) (id string, err error) {
	id, err = e.tryCreate(ctx, name, b)
	if !cerrdefs.IsNotFound(err) {
		return id, err
	}
	if err := e.pulls.pull(ctx, b.config.Image); err != nil {
		return "", err
	}
	id, err = e.tryCreate(ctx, name, b)
	if cerrdefs.IsNotFound(err) {
		err = e.fail("create container", err)
	}
	return id, err
}

// tryCreate makes a container. A missing image is an error that cerrdefs.IsNotFound knows.
func (e *engine) tryCreate(ctx context.Context, name string, b body) (string, error) {
	step, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepTimeout)
	defer cancel()
	created, err := e.api.ContainerCreate(step, b.config, b.host, nil, nil, name)
	switch {
	case err == nil:
		return created.ID, nil
	case cerrdefs.IsNotFound(err):
		return "", err
	case cerrdefs.IsConflict(err):
		return "", errNameTaken
	case cerrdefs.IsInvalidArgument(err):
		return "", backend.Wrap(backend.ErrInvalid, fmt.Errorf("docker: create container: %w; correct the SANDBOX_ variable that asks for it", err))
	default:
		return "", e.fail("create container", err)
	}
}

// remove kills and removes a container and its anonymous volumes, and returns when it is gone. One that
// is not there is fine.
func (e *engine) remove(ctx context.Context, id string) error {
	err := e.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	switch {
	case err == nil, cerrdefs.IsNotFound(err):
		return nil
	case !cerrdefs.IsConflict(err):
		return e.fail("remove container "+id, err)
	}
	// The engine is at it: the container has ended, and is one that it removes by itself.
	removed, failed := e.api.ContainerWait(ctx, id, container.WaitConditionRemoved)
	select {
	case <-removed:
		return nil
	case err := <-failed:
		if cerrdefs.IsNotFound(err) {
			return nil
		}
		return e.fail("wait for the removal of container "+id, err)
	}
}

// startError explains why a container did not start.
func (e *engine) startError(err error) error {
	if cerrdefs.IsNotFound(err) && !client.IsErrConnectionFailed(err) {
		return backend.Wrap(backend.ErrNotFound, fmt.Errorf("docker: start container: %w; if it is about a network, SANDBOX_NETWORK_MODE must name one that the engine has", err))
	}
	return e.fail("start container", err)
}
