package docker_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/docker"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// dockerContext writes the files of a context as Docker's client does.
func dockerContext(t *testing.T, dir, name, meta string) (tls string) {
	t.Helper()
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	write(t, filepath.Join(dir, "contexts", "meta", id, "meta.json"), meta)
	return filepath.Join(dir, "contexts", "tls", id, "docker")
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the places are those of Unix")
	}
	home := t.TempDir()
	config := filepath.Join(home, ".docker")
	write(t, filepath.Join(config, "config.json"), `{"currentContext": "work", "auths": {}}`)
	certs := dockerContext(t, config, "work", `{"Name": "work", "Endpoints": {"docker": {"Host": "tcp://10.1.2.3:2376"}}}`)
	write(t, filepath.Join(certs, "ca.pem"), "")
	dockerContext(t, config, "loose", `{"Endpoints": {"docker": {"Host": "unix:///x.sock", "SkipTLSVerify": true}}}`)
	dockerContext(t, config, "open", `{"Endpoints": {"docker": {"Host": "tcp://h:1", "SkipTLSVerify": true}}}`)
	empty := t.TempDir()
	for name, test := range map[string]struct {
		endpoint docker.Endpoint
		want     []string
	}{
		"host":                   {docker.Endpoint{Host: "unix:///a.sock", Home: home}, []string{"unix:///a.sock from DOCKER_HOST"}},
		"bare path":              {docker.Endpoint{Host: "/a.sock"}, []string{"unix:///a.sock from DOCKER_HOST"}},
		"host wins":              {docker.Endpoint{Host: "tcp://h:1", Context: "work", Home: home}, []string{"tcp://h:1 from DOCKER_HOST"}},
		"certificates":           {docker.Endpoint{Host: "tcp://h:1", CertPath: "/c", TLSVerify: "1"}, []string{"tcp://h:1 from DOCKER_HOST certificates /c verified"}},
		"certificates unchecked": {docker.Endpoint{Host: "tcp://h:1", CertPath: "/c"}, []string{"tcp://h:1 from DOCKER_HOST certificates /c"}},
		"verify alone":           {docker.Endpoint{Host: "tcp://h:1", TLSVerify: "yes", ConfigDir: "/d"}, []string{"tcp://h:1 from DOCKER_HOST certificates /d verified"}},
		"port of Docker":         {docker.Endpoint{Host: "tcp://h"}, []string{"tcp://h:2375 from DOCKER_HOST"}},
		"port of Docker's TLS":   {docker.Endpoint{Host: "tcp://h", CertPath: "/c"}, []string{"tcp://h:2376 from DOCKER_HOST certificates /c"}},
		"address of IPv6":        {docker.Endpoint{Host: "tcp://[::1]"}, []string{"tcp://[::1]:2375 from DOCKER_HOST"}},
		"context without check":  {docker.Endpoint{ConfigDir: config, Context: "open"}, []string{"tcp://h:1 from DOCKER_CONTEXT=open encrypted"}},
		"current context":        {docker.Endpoint{Home: home}, []string{"tcp://10.1.2.3:2376 from docker context work certificates " + certs + " verified"}},
		"named context":          {docker.Endpoint{Home: home, Context: "loose"}, []string{"unix:///x.sock from DOCKER_CONTEXT=loose encrypted"}},
		"directory of contexts":  {docker.Endpoint{ConfigDir: config, Context: "loose"}, []string{"unix:///x.sock from DOCKER_CONTEXT=loose encrypted"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := docker.Places(test.endpoint); err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
	t.Run("the usual places below home", func(t *testing.T) {
		t.Parallel()
		colima := filepath.Join(empty, ".colima/default/docker.sock")
		write(t, colima, "")
		rootless := filepath.Join(empty, "run", "docker.sock")
		write(t, rootless, "")
		got, err := docker.Places(docker.Endpoint{Home: empty, RuntimeDir: filepath.Join(empty, "run")})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{colima, rootless} {
			if !slices.Contains(got, fmt.Sprintf("unix://%s from %s", path, path)) {
				t.Errorf("%s is not among %q", path, got)
			}
		}
	})
}

func TestBadPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.json"), `{"currentContext": "gone"}`)
	broken := t.TempDir()
	write(t, filepath.Join(broken, "config.json"), `{"currentContext": `)
	dockerContext(t, broken, "none", `{"Endpoints": {}}`)
	for name, test := range map[string]struct {
		endpoint docker.Endpoint
		kind     error
		says     string
	}{
		"ssh":              {docker.Endpoint{Host: "ssh://me@host"}, backend.ErrUnsupported, "ssh -nNT -L"},
		"no scheme":        {docker.Endpoint{Host: "localhost"}, backend.ErrInvalid, `DOCKER_HOST: "localhost" is no address`},
		"user name":        {docker.Endpoint{Host: "tcp://me:secret@x:1"}, backend.ErrInvalid, `"tcp://...@x:1" has a user name`},
		"password alone":   {docker.Endpoint{Host: "me:secret@x:1"}, backend.ErrInvalid, `"...@x:1"`},
		"https":            {docker.Endpoint{Host: "https://x:1"}, backend.ErrInvalid, "use unix:///PATH, tcp://HOST:PORT"},
		"no home":          {docker.Endpoint{Context: "work"}, backend.ErrInvalid, "without HOME"},
		"unknown scheme":   {docker.Endpoint{Host: "ftp://x:1"}, backend.ErrInvalid, "DOCKER_HOST"},
		"no host":          {docker.Endpoint{Host: "tcp://"}, backend.ErrInvalid, "DOCKER_HOST"},
		"context is gone":  {docker.Endpoint{ConfigDir: dir}, backend.ErrInvalid, "docker context gone"},
		"broken file":      {docker.Endpoint{ConfigDir: broken}, backend.ErrInvalid, "config.json"},
		"without engine":   {docker.Endpoint{ConfigDir: broken, Context: "none"}, backend.ErrInvalid, "names no engine"},
		"password hidden":  {docker.Endpoint{Host: "ftp://me:secret@x:1"}, backend.ErrInvalid, "...@x:1"},
		"context in a jar": {docker.Endpoint{ConfigDir: dir, Context: "../../etc"}, backend.ErrInvalid, "DOCKER_CONTEXT=../../etc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := docker.Places(test.endpoint)
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %q, %v; want kind %v and %q", got, err, test.kind, test.says)
			}
		})
	}
}
