package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// defaultContext is the name of the context that stands for DOCKER_HOST and the usual socket.
const defaultContext = "default"

// context finds the engine of Docker's current context, as `docker context use` sets it. The files are
// those of Docker's client: config.json names the context, and the directory contexts holds, under the
// SHA-256 of the name, the address and the certificates.
func (e Endpoint) context() (a address, found bool, err error) {
	if e.configDir() == "" {
		if e.Context != "" && e.Context != defaultContext {
			return address{}, false, backend.Wrap(backend.ErrInvalid, fmt.Errorf("docker: DOCKER_CONTEXT=%s: without HOME and DOCKER_CONFIG nobody knows where contexts are", e.Context))
		}
		return address{}, false, nil
	}
	name, from := e.Context, "DOCKER_CONTEXT="+e.Context
	if name == "" {
		if name, err = e.currentContext(); err != nil {
			return address{}, false, err
		}
		from = "docker context " + name
	}
	if name == "" || name == defaultContext {
		return address{}, false, nil
	}
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	path := filepath.Join(e.configDir(), "contexts", "meta", id, "meta.json")
	var meta struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	if err := readJSON(path, &meta); err != nil {
		return address{}, false, backend.Wrap(backend.ErrInvalid, fmt.Errorf("docker: %s: %w; docker context ls shows the contexts that there are", from, err))
	}
	docker, ok := meta.Endpoints["docker"]
	if !ok || docker.Host == "" {
		return address{}, false, backend.Wrap(backend.ErrInvalid, fmt.Errorf("docker: %s: %s names no engine", from, path))
	}
	a = address{host: docker.Host, from: from, verify: !docker.SkipTLSVerify}
	certs := filepath.Join(e.configDir(), "contexts", "tls", id, "docker")
	if _, err := os.Stat(certs); err == nil {
		a.certs = certs
	}
	a.tls = a.certs != "" || docker.SkipTLSVerify
	return a, true, nil
}

// currentContext reads config.json. Without one there is no current context.
func (e Endpoint) currentContext() (string, error) {
	var config struct {
		CurrentContext string `json:"currentContext"`
	}
	path := filepath.Join(e.configDir(), "config.json")
	err := readJSON(path, &config)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return "", nil
	case err != nil:
		return "", backend.Wrap(backend.ErrInvalid, fmt.Errorf("docker: %w; repair or remove the file", err))
	}
	return config.CurrentContext, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
