//go:build !linux

// Package stage is empty on systems without Linux namespaces.
package stage
