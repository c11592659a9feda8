package docker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/container/api"
)

// An Endpoint says where the engine is, in the words of Docker's own client. Its zero value means: look
// in the usual places.
type Endpoint struct {
	// Host, TLSVerify and CertPath are DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH.
	Host, TLSVerify, CertPath string
	// Context is DOCKER_CONTEXT, which Host wins over. APIVersion is DOCKER_API_VERSION.
	Context, APIVersion string
	// ConfigDir holds Docker's config.json and contexts; empty for .docker below Home.
	ConfigDir string
	// Home and RuntimeDir are HOME and XDG_RUNTIME_DIR, below which ordinary users have their sockets.
	Home, RuntimeDir string
}

// An address is one place where an engine may be.
type address struct {
	host string
	// tls says that the connection is encrypted, verify that the engine's certificate is checked. certs is
	// the directory with ca.pem, cert.pem and key.pem, those of them that there are; empty for none.
	tls, verify bool
	certs       string
	// from says what named the place, for errors.
	from string
}

// addresses returns where to look, the best first.
func (e Endpoint) addresses() ([]address, error) {
	if e.Host != "" {
		a := address{host: e.Host, certs: e.CertPath, verify: e.TLSVerify != "", from: "DOCKER_HOST"}
		a.tls = a.verify || a.certs != ""
		if a.verify && a.certs == "" {
			a.certs = e.configDir()
		}
		if err := a.check(); err != nil {
			return nil, err
		}
		return []address{a}, nil
	}
	a, found, err := e.context()
	if err != nil {
		return nil, err
	}
	if found {
		if err := a.check(); err != nil {
			return nil, err
		}
		return []address{a}, nil
	}
	return e.usual(), nil
}

// check refuses what this client cannot speak, and completes a bare path.
func (a *address) check() error {
	if strings.HasPrefix(a.host, "/") {
		a.host = "unix://" + a.host
	}
	scheme, rest, _ := strings.Cut(a.host, "://")
	if scheme == "tcp" && rest != "" && !strings.Contains(rest[strings.LastIndexByte(rest, ']')+1:], ":") {
		a.host += map[bool]string{false: ":2375", true: ":2376"}[a.tls] // Docker's own
	}
	switch {
	case scheme != "ssh" && strings.Contains(rest, "@"):
		return backend.Wrap(backend.ErrInvalid, fmt.Errorf("docker: %s: %q has a user name, which engines do not take; leave it out", a.from, a.shown()))
	case scheme == "ssh":
		return backend.Wrap(backend.ErrUnsupported, fmt.Errorf("docker: %s: connect over ssh: forward the socket, ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock HOST, and set DOCKER_HOST=unix:///tmp/docker.sock", a.from))
	case rest == "" || (scheme != "unix" && scheme != "tcp" && scheme != "npipe"):
		return backend.Wrap(backend.ErrInvalid, fmt.Errorf("docker: %s: %q is no address of an engine; use unix:///PATH, tcp://HOST:PORT or npipe:////./pipe/NAME", a.from, a.shown()))
	}
	return nil
}

// shown is the address without what may be a password.
func (a *address) shown() string {
	scheme, rest, ok := strings.Cut(a.host, "://")
	if !ok {
		scheme, rest = "", a.host
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = "..." + rest[i:]
	}
	if scheme == "" {
		return rest
	}
	return scheme + "://" + rest
}

// usual are the places where engines listen by default: the system's own, rootless Docker, Docker
// Desktop, Colima, Rancher Desktop and OrbStack. Only sockets that are there count.
func (e Endpoint) usual() []address {
	if runtime.GOOS == "windows" {
		return []address{{host: "npipe:////./pipe/docker_engine", from: "the usual pipe"}}
	}
	paths := []string{"/var/run/docker.sock"}
	if e.RuntimeDir != "" {
		paths = append(paths, filepath.Join(e.RuntimeDir, "docker.sock"))
	}
	if e.Home != "" {
		for _, name := range []string{
			".docker/run/docker.sock", ".docker/desktop/docker.sock",
			".colima/default/docker.sock", ".config/colima/default/docker.sock", ".rd/docker.sock", ".orbstack/run/docker.sock",
		} {
			paths = append(paths, filepath.Join(e.Home, name))
		}
	}
	var found []address
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			found = append(found, address{host: "unix://" + path, from: path})
		}
	}
	return found
}

// configDir is empty where there is neither a directory of that name nor a home: what lies in the working
// directory of a server is an accident.
func (e Endpoint) configDir() string {
	if e.ConfigDir != "" || e.Home == "" {
		return e.ConfigDir
	}
	return filepath.Join(e.Home, ".docker")
}

// open returns a client for the address. It connects to nothing yet.
func (a *address) open() (*api.Client, error) {
	scheme, rest, _ := strings.Cut(a.host, "://")
	at := api.Address{Network: scheme, Path: rest}
	switch scheme {
	case "npipe":
		at.Path = strings.ReplaceAll(rest, "/", `\`)
	case "tcp":
		at.Path, _, _ = strings.Cut(at.Path, "/")
		if !a.tls {
			break
		}
		config, err := a.config()
		if err != nil {
			return nil, backend.Wrap(backend.ErrInvalid, fmt.Errorf("docker: %s: read the certificates in %s: %w; the directory must hold ca.pem, cert.pem and key.pem", a.from, a.certs, err))
		}
		at.TLS = config
	}
	return api.New(at), nil
}

// config reads the certificates that there are. Where the engine's own is checked, only those that ca.pem
// has signed count, or without that file those that this machine trusts.
func (a *address) config() (*tls.Config, error) {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: !a.verify, //nolint:gosec // as Docker does without DOCKER_TLS_VERIFY; a warning says so
	}
	name := func(file string) string { return filepath.Join(a.certs, file) }
	if a.certs == "" {
		return config, nil
	}
	ca, err := os.ReadFile(name("ca.pem"))
	switch {
	case err == nil:
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("ca.pem holds no certificate")
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	pair, pairErr := tls.LoadX509KeyPair(name("cert.pem"), name("key.pem"))
	switch {
	case pairErr == nil:
		config.Certificates = []tls.Certificate{pair}
	case err != nil || !errors.Is(pairErr, fs.ErrNotExist):
		return nil, pairErr // a directory without any of them is a mistake
	}
	return config, nil
}

var errNoSocket = errors.New("no socket of an engine in the usual places")
