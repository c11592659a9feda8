package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/container/api"
)

// stepTimeout bounds each request that makes or removes something. They are not given up when the caller
// is: an engine goes on with what it was asked, and what it made would be known to nobody.
const stepTimeout = time.Minute

var errNameTaken = errors.New("the name of the container is taken")

// create makes a container, with an image that is pulled if the engine does not have it.
func (e *engine) create(ctx context.Context, name string, b *api.Container) (id string, err error) {
	id, err = e.tryCreate(ctx, name, b)
	if !errors.Is(err, api.ErrNotFound) {
		return id, err
	}
	if err := e.pulls.pull(ctx, b.Image); err != nil {
		return "", err
	}
	id, err = e.tryCreate(ctx, name, b)
	if errors.Is(err, api.ErrNotFound) {
		err = e.fail("create container", err)
	}
	return id, err
}

// tryCreate makes a container. A missing image is api.ErrNotFound.
func (e *engine) tryCreate(ctx context.Context, name string, b *api.Container) (string, error) {
	step, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepTimeout)
	defer cancel()
	id, err := e.api.CreateContainer(step, name, b)
	switch {
	case err == nil:
		return id, nil
	case errors.Is(err, api.ErrNotFound):
		return "", err
	case errors.Is(err, api.ErrConflict):
		return "", fmt.Errorf("%w: %w", errNameTaken, e.fail("create container", err))
	case errors.Is(err, api.ErrInvalid):
		return "", backend.Wrap(backend.ErrInvalid, fmt.Errorf("docker: create container: %w; correct the SANDBOX_ variable that asks for it", err))
	default:
		return "", e.fail("create container", err)
	}
}

// remove kills and removes a container and its anonymous volumes, and returns when it is gone. One that
// is not there is fine.
func (e *engine) remove(ctx context.Context, id string) error {
	err := e.api.RemoveContainer(ctx, id)
	switch {
	case err == nil, errors.Is(err, api.ErrNotFound):
		return nil
	case !errors.Is(err, api.ErrConflict):
		return e.fail("remove container "+id, err)
	}
	// The engine is at it: the container has ended, and is one that it removes by itself.
	if err := e.api.WaitRemoved(ctx, id); err != nil && !errors.Is(err, api.ErrNotFound) {
		return e.fail("wait for the removal of container "+id, err)
	}
	return nil
}

// volumesOf returns the directories that an image has volumes for, once the engine has the image.
func (e *engine) volumesOf(ctx context.Context, name string) ([]string, error) {
	if known, ok := e.images.Load(name); ok {
		return known.([]string), nil
	}
	image, err := e.api.Image(ctx, name)
	if errors.Is(err, api.ErrNotFound) {
		if err := e.pulls.pull(ctx, name); err != nil {
			return nil, err
		}
		image, err = e.api.Image(ctx, name)
	}
	if err != nil {
		return nil, e.fail("look into image "+name, err)
	}
	volumes := slices.Sorted(maps.Keys(image.Config.Volumes))
	e.images.Store(name, volumes)
	return volumes, nil
}

// HasImage implements backend.ImageStore.
func (b *Backend) HasImage(ctx context.Context, name string) (bool, error) {
	e, err := b.connected(ctx)
	if err != nil {
		return false, err
	}
	_, err = e.api.Image(ctx, name)
	if errors.Is(err, api.ErrNotFound) {
		return false, nil
	}
	return err == nil, e.fail("look for image "+name, err)
}

// startError explains why a container did not start.
func (e *engine) startError(err error) error {
	if errors.Is(err, api.ErrNotFound) {
		return backend.Wrap(backend.ErrNotFound, fmt.Errorf("docker: start container: %w; if it is about a network, SANDBOX_NETWORK_MODE must name one that the engine has", err))
	}
	return e.fail("start container", err)
}
