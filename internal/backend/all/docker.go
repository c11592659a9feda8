//go:build !omit_docker

package all

import (
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/docker"
)

func init() { drivers = append(drivers, dockerDriver()) } //nolint:gochecknoinits // the line that registers the driver

func dockerDriver() driver {
	return driver{
		name: docker.Name,
		rank: 4,
		check: func(i Isolation) error {
			_, err := containerOpts(docker.Name, i)
			return err
		},
		open: func(o Options) backend.Backend {
			opts, _ := containerOpts(docker.Name, o.Isolation) // check has seen it
			if o.Isolation.Privileged {
				o.Logger.Warn("SANDBOX_PRIVILEGED=true: programs are root and can take over the machine of the engine", "backend", docker.Name)
			}
			return docker.New(docker.Options{
				Logger:   o.Logger,
				Endpoint: docker.Endpoint(o.Docker),
				Agent:    o.Agent,
				Hardening: docker.Hardening{
					ReadOnly:    o.Isolation.ReadOnly,
					Privileged:  o.Isolation.Privileged,
					CapDrop:     o.Isolation.CapDrop,
					SecurityOpt: opts.engine,
					Filter:      opts.filter,
				},
			})
		},
	}
}
