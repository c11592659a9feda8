package docker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
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
	// certs is the directory with ca.pem, cert.pem and key.pem, empty for none; verify says that the
	// engine's certificate must be signed by ca.pem.
	certs  string
	verify bool
	// from says what named the place, for errors.
	from string
}

// addresses returns where to look, the best first.
func (e Endpoint) addresses() ([]address, error) {
	if e.Host != "" {
		a := address{host: e.Host, certs: e.CertPath, verify: e.TLSVerify != "", from: "DOCKER_HOST"}
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
		return []address{a}, a.check()
	}
	return e.usual(), nil
}

// check refuses what this client cannot speak, and completes a bare path.
func (a *address) check() error {
	if strings.HasPrefix(a.host, "/") {
		a.host = "unix://" + a.host
	}
	scheme, rest, _ := strings.Cut(a.host, "://")
	switch {
	case scheme == "ssh":
		return backend.Wrap(backend.ErrUnsupported, fmt.Errorf("docker: %s: connect over ssh: forward the socket, ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock HOST, and set DOCKER_HOST=unix:///tmp/docker.sock", a.from))
	case rest == "" || (scheme != "unix" && scheme != "tcp" && scheme != "npipe" && scheme != "http" && scheme != "https"):
		return backend.Wrap(backend.ErrInvalid, fmt.Errorf("docker: %s: %q is no address of an engine; use unix:///PATH, tcp://HOST:PORT or npipe:////./pipe/NAME", a.from, a.shown()))
	}
	return nil
}

// shown is the address without a password.
func (a *address) shown() string {
	u, err := url.Parse(a.host)
	if err != nil {
		return "(not shown)"
	}
	return u.Redacted()
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

func (e Endpoint) configDir() string {
	if e.ConfigDir != "" {
		return e.ConfigDir
	}
	return filepath.Join(e.Home, ".docker")
}

// open returns a client for the address. It connects to nothing yet.
func (a *address) open() (*api.Client, error) {
	scheme, rest, _ := strings.Cut(a.host, "://")
	at := api.Address{Network: scheme, Path: rest}
	switch scheme {
	case "http", "https":
		at.Network = "tcp"
	case "npipe":
		at.Path = strings.ReplaceAll(rest, "/", `\`)
	}
	if at.Network == "tcp" {
		at.Path, _, _ = strings.Cut(at.Path, "/")
	}
	if a.certs != "" && at.Network == "tcp" {
		config, err := a.tls()
		if err != nil {
			return nil, backend.Wrap(backend.ErrInvalid, fmt.Errorf("docker: %s: read the certificates in %s: %w; DOCKER_CERT_PATH must hold ca.pem, cert.pem and key.pem", a.from, a.certs, err))
		}
		at.TLS = config
	}
	return api.New(at), nil
}

// tls reads the certificates. Where the engine's own is checked, only those that ca.pem has signed count.
func (a *address) tls() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(a.certs, "cert.pem"), filepath.Join(a.certs, "key.pem"))
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		Certificates:       []tls.Certificate{pair},
		InsecureSkipVerify: !a.verify, //nolint:gosec // as Docker does without DOCKER_TLS_VERIFY; a warning says so
	}
	ca, err := os.ReadFile(filepath.Join(a.certs, "ca.pem"))
	if err != nil {
		return nil, err
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(ca) {
		return nil, errors.New("ca.pem holds no certificate")
	}
	return config, nil
}

var errNoSocket = errors.New("no socket of an engine in the usual places")
