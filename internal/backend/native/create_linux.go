package native

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/client"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/supervisor"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/launch"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/native/stage"
)

// Create implements backend.Backend: it starts this binary once more in new namespaces, tells it what
// to build, and talks to the agent that it becomes.
func (b *Backend) Create(ctx context.Context, spec backend.Spec) (backend.Sandbox, error) {
	if err := check(spec); err != nil {
		return nil, err
	}
	if spec.Limits.Processes > 0 {
		spec.Limits.Processes += agentThreads
	}
	host, err := b.host()
	if err != nil {
		return nil, err
	}
	return b.sandboxes.Create(ctx, func(ctx context.Context, id string) (launch.Agent, error) {
		return b.launch(ctx, host, id, spec)
	})
}

// launch starts a process in new namespaces that becomes the agent.
func (b *Backend) launch(ctx context.Context, host *host, id string, spec backend.Spec) (launch.Agent, error) {
	group, err := host.tree.New(id, spec.Limits) //nolint:contextcheck // it waits for nothing
	if err != nil {
		return nil, backend.Wrap(backend.ErrUnavailable, fmt.Errorf("native: create control group: %w", err))
	}
	a := &agent{group: group, exited: make(chan struct{})}
	if err := a.boot(ctx, host, b.setup(host, spec)); err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if err := a.Destroy(closing); err != nil {
			b.log.Warn("remove a sandbox that did not start", "sandbox", id, "error", err)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, explain(err)
	}
	return a, nil
}

// agentThreads is about how many threads the agent has, which count towards the limit that is meant
// for programs.
const agentThreads = supervisor.Threads

// closeTimeout bounds the removal of a sandbox that did not come up.
const closeTimeout = 5 * time.Second

// setup translates a spec for the stage.
func (b *Backend) setup(host *host, spec backend.Spec) *stage.Setup {
	root := b.root(spec)
	workDir := spec.WorkDir
	if workDir == "" {
		workDir = backend.DefaultWorkDir
	}
	setup := &stage.Setup{
		Writable: []string{workDir, backend.HomeDir, "/tmp", "/dev/shm", backend.HookDir, backend.ArtifactDir},
		Links:    []string{"/var/tmp", "/tmp"},
		Devices:  root.Devices,
		Overlay:  spec.Scratch,
		UID:      backend.UID,
		GID:      backend.GID,
		Switch:   host.ids.choose,
		Filter:   host.filter,
		WorkDir:  workDir,
		Bounds:   bounds(spec.Limits.Disk),
		Limits:   rlimits(spec.Limits, b.Capabilities()),
	}
	if !b.Capabilities().Memory {
		setup.Data = int(spec.Limits.Memory)
	}
	for _, bind := range root.Binds {
		setup.Binds = append(setup.Binds, bind.Source, bind.Target)
	}
	for _, link := range root.Links {
		setup.Links = append(setup.Links, link.Name, link.Target)
	}
	for _, file := range root.Files {
		setup.Files = append(setup.Files, file.Name, file.Text)
	}
	return setup
}

// bounds returns the options of the tmpfs that holds disk bytes: a file for every 8 KiB, since an empty
// file costs about 1 KiB of the kernel's memory that its size does not count.
func bounds(disk int64) string {
	if disk <= 0 {
		return "nr_inodes=1048576"
	}
	return fmt.Sprintf("size=%d,nr_inodes=%d", disk, max(disk/8192, 1024))
}

// rlimits returns the limits per process: those that are never more than that, and for what control
// groups cannot bound here, the nearest that the kernel offers.
func rlimits(l backend.Limits, c backend.Capabilities) []int64 {
	limits := []int64{unix.RLIMIT_CORE, 0, 0}
	add := func(resource int, value int64) {
		var own unix.Rlimit
		if err := unix.Getrlimit(resource, &own); err == nil && own.Max < uint64(value) { //nolint:gosec // limits are positive
			value = int64(own.Max) //nolint:gosec // smaller than value
		}
		limits = append(limits, int64(resource), value, value)
	}
	if l.OpenFiles > 0 {
		add(unix.RLIMIT_NOFILE, l.OpenFiles)
	}
	if l.FileSize > 0 {
		add(unix.RLIMIT_FSIZE, l.FileSize)
	}
	if l.Processes > 0 && !c.Processes {
		add(unix.RLIMIT_NPROC, l.Processes) // counted per user namespace since Linux 5.14
	}
	return limits
}

// boot starts the process, lets it build the sandbox, and connects to its agent.
func (a *agent) boot(ctx context.Context, host *host, setup *stage.Setup) error {
	ours, theirs, err := socketpair()
	if err != nil {
		return fmt.Errorf("make socket: %w", err)
	}
	a.conn = ours
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return errors.Join(fmt.Errorf("open %s: %w", os.DevNull, err), theirs.Close())
	}
	err = a.group.Start(func(fd int) (int, error) {
		attr := &syscall.SysProcAttr{
			Setsid: true,
			Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET |
				unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
			AmbientCaps: stageCapabilities,
		}
		if fd >= 0 {
			attr.UseCgroupFD, attr.CgroupFD = true, fd
		}
		host.ids.apply(attr)
		process, err := os.StartProcess(executable, []string{stage.Name}, &os.ProcAttr{
			Env: []string{}, Dir: "/", Files: []*os.File{null, null, null, theirs}, Sys: attr,
		})
		if err != nil {
			return 0, err
		}
		a.process = process
		return process.Pid, nil
	})
	err = errors.Join(err, null.Close(), theirs.Close())
	if a.process != nil {
		go a.reap()
	}
	if err != nil {
		return fmt.Errorf("start process in new namespaces: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = ours.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := build(ours, setup); err != nil {
		return err
	}
	a.client, err = client.New(ctx, ours)
	return err
}

// stageCapabilities are kept across the exec of the stage, inside its user namespace, for what it has
// to build: an exec by anyone but root drops the rest, and the stage drops these when it has built.
var stageCapabilities = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE}

// socketpair returns the two ends of a stream socket: ours, on which reads wait without a thread, and
// theirs.
func socketpair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "agent"), os.NewFile(uintptr(fds[1]), "agent"), nil
}

// build sends the setup and waits until the stage has built it.
func build(conn *os.File, setup *stage.Setup) error {
	message := setup.Marshal()
	header := binary.BigEndian.AppendUint32(nil, uint32(len(message))) //nolint:gosec // a few KiB
	if _, err := conn.Write(append(header, message...)); err != nil {
		return fmt.Errorf("send setup: %w", err)
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return fmt.Errorf("build sandbox: the process ended without a word: %w", err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n == 0 {
		return nil
	}
	text := make([]byte, min(n, 4096))
	if _, err := io.ReadFull(conn, text); err != nil {
		return fmt.Errorf("build sandbox: %w", err)
	}
	return buildError(text)
}

// A buildError is what the stage says when it fails: the step, the object and the cause.
type buildError string

// Error implements error.
func (e buildError) Error() string { return string(e) }
