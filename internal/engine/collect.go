package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// collectTimeout bounds the way of pictures and files out of the sandbox. It is not part of the
// program's time, which may be over.
const collectTimeout = 5 * time.Second

// collect returns what the code made, also after it failed. What cannot be had is an omission.
func (e *Engine) collect(ctx context.Context, sandbox backend.Sandbox, j *job) artifact.Set {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectTimeout)
	defer cancel()
	limits := e.options.Artifacts
	selections := [2]backend.Selection{
		{Dir: backend.ArtifactDir},
		{
			Dir:        j.spec.WorkDir,
			Extensions: artifact.Extensions(),
			Skip:       []string{"node_modules", "site-packages", "__pycache__"},
			SkipHidden: true,
		},
	}
	var archives [2]io.ReadCloser
	var errs [2]error
	var both sync.WaitGroup
	for i, selection := range selections {
		selection.MaxFile = cmp.Or(limits.File, artifact.DefaultFile)
		// The collector picks by age; which files an archive has first is an accident.
		selection.MaxFiles = 4 * cmp.Or(limits.Count, artifact.DefaultCount)
		both.Go(func() { archives[i], errs[i] = sandbox.CopyOut(ctx, selection) })
	}
	both.Wait()
	readers := [2]io.Reader{}
	for i, archive := range archives {
		if errs[i] == nil {
			readers[i] = archive
			defer archive.Close() //nolint:errcheck // all of it was read, or it could not be
		}
	}
	set, err := artifact.Collect(readers[0], readers[1], limits)
	if err := errors.Join(errs[0], errs[1], err); err != nil {
		e.options.Logger.WarnContext(ctx, "collect artifacts", "sandbox", sandbox.ID(), "error", err)
		set.Omitted = append(set.Omitted, artifact.Omission{Count: 1, Reason: "could not be taken out of the sandbox: " + err.Error()})
	}
	set.Artifacts = slices.DeleteFunc(set.Artifacts, func(a artifact.Artifact) bool { return isInput(a, j.plan.Files) })
	return set
}

// isInput reports whether an artifact is a file that the request brought and the code left as it was.
func isInput(a artifact.Artifact, files []lang.File) bool {
	data := a.Data
	if a.Original != nil {
		data = a.Original
	}
	return slices.ContainsFunc(files, func(f lang.File) bool {
		return path.Base(f.Name) == a.Name && bytes.Equal(f.Data, data)
	})
}
