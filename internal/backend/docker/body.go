package docker

import (
	"fmt"
	"path"
	"slices"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/command"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/supervisor"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/container/api"
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

// newBody describes the container of a sandbox. agentVolume holds the agent, volumes are the directories
// that the image has volumes for.
func newBody(spec backend.Spec, h Hardening, agentVolume string, volumes []string) *api.Container {
	workDir := spec.WorkDir
	if workDir == "" {
		workDir = backend.DefaultWorkDir
	}
	b := &api.Container{
		Image:      spec.Image,
		Entrypoint: append([]string{agentDir + "/" + command.Name}, agentOptions(spec, h, workDir).Args()...),
		Env:        []string{}, // programs get theirs from the agent
		User:       fmt.Sprintf("%d:%d", backend.UID, backend.GID),
		Hostname:   "sandbox",
		WorkingDir: "/",
		Labels:     map[string]string{labelRole: roleSandbox},
		// The agent's connection. When the server is gone the engine closes its standard input, and the
		// agent ends.
		AttachStdin: true, AttachStdout: true, AttachStderr: true, OpenStdin: true, StdinOnce: true,
		Healthcheck: &api.Healthcheck{Test: []string{"NONE"}},
		HostConfig: api.HostConfig{
			AutoRemove:     true,
			NetworkMode:    networkMode(spec.Network),
			LogConfig:      api.LogConfig{Type: "none"}, // the connection is no log
			ReadonlyRootfs: h.ReadOnly,
			Privileged:     h.Privileged,
			CapDrop:        h.CapDrop,
			SecurityOpt:    h.SecurityOpt,
			IpcMode:        "private",
			ShmSize:        spec.Limits.Disk,
			Tmpfs:          map[string]string{},
			Mounts:         []api.Mount{agentMount(agentVolume, true)},
			Memory:         spec.Limits.Memory,
			MemorySwap:     spec.Limits.Memory, // both together: no swap
		},
	}
	if spec.Limits.MilliCPUs > 0 {
		const period = 100_000 // as the reference; engines take quotas from 1000
		b.HostConfig.CPUPeriod, b.HostConfig.CPUQuota = period, max(spec.Limits.MilliCPUs*period/1000, 1000)
	}
	if spec.Limits.Processes > 0 {
		most := spec.Limits.Processes + supervisor.Threads // the agent's own count, too
		b.HostConfig.PidsLimit = &most
	}
	if h.Privileged {
		b.User = "0:0"
	}
	for _, dir := range slices.Concat(writable(workDir), volumes) {
		// A volume of the image would be without limit, on the engine's disk.
		dir = path.Clean(dir)
		b.HostConfig.Tmpfs[dir] = tmpfs(dir, spec.Limits.Disk)
	}
	return b
}

func agentMount(volume string, readOnly bool) api.Mount {
	return api.Mount{
		Type: "volume", Source: volume, Target: agentDir, ReadOnly: readOnly,
		VolumeOptions: &api.VolumeOptions{NoCopy: true},
	}
}

// agentOptions are what the agent takes care of by itself, on every engine alike.
func agentOptions(spec backend.Spec, h Hardening, workDir string) command.Options {
	return command.Options{
		WorkDir:    workDir,
		Filter:     h.Filter && !h.Privileged,
		Privileged: h.Privileged,
		OpenFiles:  spec.Limits.OpenFiles,
		FileSize:   spec.Limits.FileSize,
		Disk:       slices.Concat(writable(workDir), []string{"/dev/shm"}),
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

func networkMode(n backend.Network) string {
	if n == "" {
		n = backend.NetworkNone
	}
	return string(n)
}
