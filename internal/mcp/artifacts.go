package mcp

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

const (
	artifactPrefix = "sandbox://artifacts/"
	// keptFiles bounds the number of artifacts kept for links.
	keptFiles = 512
)

// A shelf keeps artifacts in memory for clients that follow a link, and lets go of the oldest when it
// is full.
type shelf struct {
	maxBytes int64

	mu    sync.Mutex
	bytes int64
	files map[string]keptFile // by id
	order []string            // ids, oldest first
}

type keptFile struct {
	name, mime string
	data       []byte
}

func newShelf(maxBytes int64) *shelf {
	return &shelf{maxBytes: maxBytes, files: make(map[string]keptFile)}
}

// put keeps a file and returns its URI. The newest file is kept even if it alone is too large.
func (s *shelf) put(name, mime string, data []byte) string {
	size := int64(len(data))
	id := rand.Text() // 128 bits: whoever knows it was told
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.order) > 0 && (s.bytes+size > s.maxBytes || len(s.order) >= keptFiles) {
		oldest := s.order[0]
		s.order = s.order[1:]
		s.bytes -= int64(len(s.files[oldest].data))
		delete(s.files, oldest)
	}
	s.files[id] = keptFile{name, mime, data}
	s.order = append(s.order, id)
	s.bytes += size
	return artifactPrefix + id + "/" + escapeName(name)
}

func (s *shelf) get(uri string) (keptFile, error) {
	rest, ours := strings.CutPrefix(uri, artifactPrefix)
	id, name, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	f, found := s.files[id]
	if !ours || !found || escapeName(f.name) != name {
		return keptFile{}, backend.Wrap(backend.ErrNotFound, fmt.Errorf(
			"artifact %s: unknown or no longer kept: newer artifacts push out older ones, and a restart all; run the code again",
			cut(uri, 200)))
	}
	return f, nil
}

// escapeName leaves only what a URI template's simple expansion leaves.
func escapeName(name string) string {
	return strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}

func artifactTemplate() *sdk.ResourceTemplate {
	return &sdk.ResourceTemplate{
		URITemplate: artifactPrefix + "{id}/{name}",
		Name:        "artifact",
		Title:       "A file that code made",
		Description: "Files too large to be sent along, and originals of pictures that were made smaller. " +
			"execute_code returns the links. The newest are kept until the server ends.",
	}
}

// readArtifact serves the template.
func (s *server) readArtifact(_ context.Context, uri string) (*sdk.ResourceContents, error) {
	f, err := s.kept.get(uri)
	if err != nil {
		return nil, err
	}
	return contents(uri, f.mime, f.data), nil
}
