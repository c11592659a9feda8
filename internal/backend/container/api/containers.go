package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// A Container is what an engine is told of a container that it is to make. The names are the API's.
type Container struct {
	Image      string
	Entrypoint []string
	Env        []string
	User       string `json:",omitempty"`
	Hostname   string `json:",omitempty"`
	WorkingDir string `json:",omitempty"`
	Labels     map[string]string

	AttachStdin, AttachStdout, AttachStderr bool
	OpenStdin, StdinOnce                    bool

	Healthcheck *Healthcheck `json:",omitempty"`
	HostConfig  HostConfig
}

// A Healthcheck is a command that the engine runs now and then; the test NONE is none.
type Healthcheck struct{ Test []string }

// HostConfig is how the engine isolates a container.
type HostConfig struct {
	AutoRemove     bool
	NetworkMode    string
	LogConfig      LogConfig
	ReadonlyRootfs bool
	Privileged     bool
	CapDrop        []string
	SecurityOpt    []string
	IpcMode        string `json:",omitempty"`
	// ShmSize is the size of /dev/shm in bytes; 0 is the engine's default.
	ShmSize int64 `json:",omitempty"`
	// Tmpfs has the options of mount(8) by path.
	Tmpfs  map[string]string `json:",omitempty"`
	Mounts []Mount           `json:",omitempty"`

	// Memory and MemorySwap in bytes, the second being both together; 0 is no limit.
	Memory, MemorySwap int64 `json:",omitempty"`
	// CPUQuota is the processor time in microseconds that may be used in each CPUPeriod; 0 is no limit.
	CPUPeriod int64 `json:"CpuPeriod,omitempty"`
	CPUQuota  int64 `json:"CpuQuota,omitempty"`
	// PidsLimit is nil for no limit.
	PidsLimit *int64 `json:",omitempty"`
}

// LogConfig says where the output of a container is kept.
type LogConfig struct{ Type string }

// A Mount is a volume in a container.
type Mount struct {
	Type, Source, Target string
	ReadOnly             bool
	VolumeOptions        *VolumeOptions `json:",omitempty"`
}

// VolumeOptions belong to a mount of a volume.
type VolumeOptions struct {
	// NoCopy keeps an empty volume from being filled from the image.
	NoCopy bool
}

// CreateContainer makes a container and returns its id. A missing image is [ErrNotFound], a name that is
// taken [ErrConflict].
func (c *Client) CreateContainer(ctx context.Context, name string, container *Container) (id string, err error) {
	var answer struct{ ID string }
	err = c.do(ctx, http.MethodPost, "/containers/create", url.Values{"name": {name}}, container, &answer)
	return answer.ID, err
}

// StartContainer starts a container. A missing network is [ErrNotFound].
func (c *Client) StartContainer(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodPost, "/containers/"+id+"/start", nil, nil, nil)
}

// RemoveContainer kills and removes a container with its anonymous volumes. One that is being removed
// already is [ErrConflict].
func (c *Client) RemoveContainer(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "/containers/"+id, url.Values{"force": {"1"}, "v": {"1"}}, nil, nil)
}

// WaitRemoved returns when a container is gone. [ErrNotFound] says that it was before.
func (c *Client) WaitRemoved(ctx context.Context, id string) error {
	var answer struct{ Error *struct{ Message string } }
	err := c.do(ctx, http.MethodPost, "/containers/"+id+"/wait", url.Values{"condition": {"removed"}}, nil, &answer)
	if err == nil && answer.Error != nil && answer.Error.Message != "" {
		err = errors.New(answer.Error.Message)
	}
	return err
}

// A Listed is a container in a list.
type Listed struct {
	ID, State string
	// Created is in seconds since 1970, by the engine's clock.
	Created int64
}

// Filters choose by property; of several values for one, any will do.
type Filters map[string][]string

func (f Filters) query() url.Values {
	text, _ := json.Marshal(f) // strings can be encoded
	return url.Values{"filters": {string(text)}}
}

// Containers lists containers in any state.
func (c *Client) Containers(ctx context.Context, f Filters) ([]Listed, error) {
	query := f.query()
	query.Set("all", "1")
	var list []Listed
	err := c.do(ctx, http.MethodGet, "/containers/json", query, nil, &list)
	return list, err
}

// HasPath reports whether there is a file in a container, which need not run.
func (c *Client) HasPath(ctx context.Context, id, path string) (bool, error) {
	err := c.do(ctx, http.MethodHead, "/containers/"+id+"/archive", url.Values{"path": {path}}, nil, nil)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// CopyIn unpacks an archive in a directory of a container, which need not run.
func (c *Client) CopyIn(ctx context.Context, id, dir string, archive io.Reader) error {
	return c.do(ctx, http.MethodPut, "/containers/"+id+"/archive", url.Values{"path": {dir}}, archive, nil)
}

// CreateVolume makes a volume, unless there is one of that name.
func (c *Client) CreateVolume(ctx context.Context, name string, labels map[string]string) error {
	body := struct {
		Name   string
		Labels map[string]string
	}{name, labels}
	return c.do(ctx, http.MethodPost, "/volumes/create", nil, &body, nil)
}
