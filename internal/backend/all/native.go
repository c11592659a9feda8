//go:build !omit_native

package all

import (
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/native"
)

func init() { drivers = append(drivers, nativeDriver()) } //nolint:gochecknoinits // the line that registers the driver

func nativeDriver() driver {
	return driver{
		name:  native.Name,
		rank:  3,
		check: func(i Isolation) error { return checkJail(native.Name, i) },
		open: func(o Options) backend.Backend {
			finder := jail.NewFinder(jail.FinderOptions{Path: o.Path, Home: o.Home, Log: o.Logger})
			return native.New(native.Options{Logger: o.Logger, Finder: finder})
		},
	}
}
