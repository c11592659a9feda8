package docker

import (
	"fmt"
	"slices"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/command"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/supervisor"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Labels of all that this backend makes.
const (
	// labelRole tells a sandbox from what carries agents to the engine.
	labelRole = "llm-sandbox.role"

	roleSandbox = "sandbox"
	roleAgent   = "agent"
)

// agentDir is where the volume with the agent is mounted.
const agentDir = "/run/sandbox/bin"

// A body is what the engine is told of a container.
type body struct {
	config *container.Config
	host   *container.HostConfig
}

// newBody describes the container of a sandbox. agentVolume holds the agent.
func newBody(spec backend.Spec, h Hardening, agentVolume string) body {
	workDir := spec.WorkDir
	if workDir == "" {
		workDir = backend.DefaultWorkDir
	}
	b := body{
		config: &container.Config{
			Image:      spec.Image,
			Entrypoint: append([]string{agentDir + "/" + command.Name}, agentOptions(spec, h, workDir).Args()...),
			Env:        []string{}, // programs get theirs from the agent
			User:       fmt.Sprintf("%d:%d", backend.UID, backend.GID),
			Hostname:   "sandbox",
			WorkingDir: "/",
			Labels:     map[string]string{labelRole: roleSandbox},
			// The agent's connection. When the server is gone the engine closes its standard input, and
			// the agent ends.
			AttachStdin: true, AttachStdout: true, AttachStderr: true, OpenStdin: true, StdinOnce: true,
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		},
		host: &container.HostConfig{
			AutoRemove:     true,
			NetworkMode:    networkMode(spec.Network),
			LogConfig:      container.LogConfig{Type: "none"}, // the connection is no log
			ReadonlyRootfs: h.ReadOnly,
			CapDrop:        h.CapDrop,
			SecurityOpt:    h.SecurityOpt,
			Privileged:     h.Privileged,
			IpcMode:        container.IPCModePrivate,
			ShmSize:        spec.Limits.Disk,
			Tmpfs:          map[string]string{},
			Mounts: []mount.Mount{{
				Type: mount.TypeVolume, Source: agentVolume, Target: agentDir, ReadOnly: true,
				VolumeOptions: &mount.VolumeOptions{NoCopy: true},
			}},
			Resources: resources(spec.Limits),
		},
	}
	if h.Privileged {
		b.config.User = "0:0"
	}
	for _, dir := range writable(workDir) {
		b.host.Tmpfs[dir] = tmpfs(dir, spec.Limits.Disk)
	}
	return b
}

// agentOptions are what the agent takes care of by itself, on every engine alike.
func agentOptions(spec backend.Spec, h Hardening, workDir string) command.Options {
	return command.Options{
		WorkDir:   workDir,
		Filter:    h.Filter && !h.Privileged,
		OpenFiles: spec.Limits.OpenFiles,
		FileSize:  spec.Limits.FileSize,
		Disk:      slices.Concat(writable(workDir), []string{"/dev/shm"}),
	}
}

// writable are the directories that programs can write to beside /dev/shm. Each is a tmpfs of its own.
func writable(workDir string) []string {
	return []string{workDir, backend.HomeDir, "/tmp", backend.HookDir, backend.ArtifactDir}
}

// tmpfs returns the options of the file system at dir. An engine would have it without programs: noexec.
// A file for every 8 KiB is as on native.
func tmpfs(dir string, size int64) string {
	options := fmt.Sprintf("rw,exec,nosuid,nodev,mode=0755,uid=%d,gid=%d", backend.UID, backend.GID)
	if dir == "/tmp" {
		options = "rw,exec,nosuid,nodev,mode=1777"
	}
	if size <= 0 {
		return options
	}
	return fmt.Sprintf("%s,size=%d,nr_inodes=%d", options, size, max(size/8192, 1024))
}

func resources(l backend.Limits) container.Resources {
	r := container.Resources{
		Memory:     l.Memory,
		MemorySwap: l.Memory, // both together: no swap
		NanoCPUs:   l.MilliCPUs * 1_000_000,
	}
	if l.Processes > 0 {
		most := l.Processes + supervisor.Threads // the agent's own count, too
		r.PidsLimit = &most
	}
	return r
}

func networkMode(n backend.Network) container.NetworkMode {
	if n == "" {
		n = backend.NetworkNone
	}
	return container.NetworkMode(n)
}
