// Package api is a client of the Docker Engine API, https://docs.docker.com/reference/api/engine/, as far
// as sandboxes need it.
//
// Docker's own client would do, but what it links is initialised in every process of this binary, and so
// in every sandbox of the native backend: docs/adr/0009-client-for-engines.md has the measurements.
package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The versions of the API that this package speaks: from that of Docker 20.10 to that of Docker 28.
const (
	MinVersion = "1.41"
	MaxVersion = "1.51"
)

// An Address says where an engine listens.
type Address struct {
	// Network and Path are those of net.Dial, or "npipe" and the name of a pipe on Windows.
	Network, Path string
	// TLS is nil for a connection without encryption.
	TLS *tls.Config
}

// A Client talks to one engine. Its methods may be called concurrently.
type Client struct {
	address Address
	http    *http.Client
	// prefix begins the paths of all requests but the first.
	prefix string
}

// New returns a client. It connects when it is first used.
func New(a Address) *Client {
	c := &Client{address: a}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
			DialTLSContext:      func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
			MaxIdleConnsPerHost: 4,
			IdleConnTimeout:     30 * time.Second,
			DisableCompression:  true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// A ConnectionError says that the engine could not be reached.
type ConnectionError struct{ Err error }

// Error implements error.
func (e *ConnectionError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	var conn net.Conn
	var err error
	if c.address.Network == "npipe" {
		conn, err = dialPipe(ctx, c.address.Path)
	} else {
		conn, err = d.DialContext(ctx, c.address.Network, c.address.Path)
	}
	if err != nil {
		return nil, &ConnectionError{err}
	}
	if c.address.TLS == nil {
		return conn, nil
	}
	config := c.address.TLS.Clone()
	if host, _, err := net.SplitHostPort(c.address.Path); err == nil && config.ServerName == "" {
		config.ServerName = host
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, &ConnectionError{errors.Join(err, conn.Close())}
	}
	return secure, nil
}

// An Error is what an engine answers when it cannot do something.
type Error struct {
	// Status is the status of HTTP.
	Status  int
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Is makes the errors below match by their status.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && t.Status == e.Status
}

// What engines refuse, for errors.Is.
var (
	// ErrInvalid: the request asks for something that cannot be.
	ErrInvalid = &Error{Status: http.StatusBadRequest}
	// ErrNotFound: there is no such container, image, network or path.
	ErrNotFound = &Error{Status: http.StatusNotFound}
	// ErrConflict: a name is taken, or something is being removed already.
	ErrConflict = &Error{Status: http.StatusConflict}
)

// request makes a request. A body that is no reader goes as JSON.
func (c *Client) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	reader, contentType := io.Reader(http.NoBody), ""
	switch b := body.(type) {
	case nil:
	case io.Reader:
		reader, contentType = b, "application/x-tar"
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		reader, contentType = bytes.NewReader(text), "application/json"
	}
	scheme := "http"
	if c.address.TLS != nil {
		scheme = "https"
	}
	// The name is for the header; where to connect is known.
	target := url.URL{Scheme: scheme, Host: "engine", Path: c.prefix + path, RawQuery: query.Encode()}
	r, err := http.NewRequestWithContext(ctx, method, target.String(), reader)
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return r, nil
}

// open returns the body of a successful answer, for the caller to close.
func (c *Client) open(ctx context.Context, method, path string, query url.Values, body any) (io.ReadCloser, error) {
	request, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		// Of url.Error, which names a made-up address, only the cause is of use.
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return nil, err
	}
	if err := refused(response); err != nil {
		return nil, errors.Join(err, response.Body.Close())
	}
	return response.Body, nil
}

// maxMessage bounds what is read of an error, maxAnswer what is read of an answer, in bytes.
const (
	maxMessage = 64 << 10
	maxAnswer  = 16 << 20
)

// refused returns the error in an answer that is one.
func refused(response *http.Response) error {
	if response.StatusCode < http.StatusBadRequest {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxMessage))
	if err != nil {
		return err
	}
	var answer struct{ Message string }
	if json.Unmarshal(text, &answer) != nil || answer.Message == "" {
		answer.Message = strings.TrimSpace(string(text))
	}
	if answer.Message == "" {
		answer.Message = response.Status
	}
	return &Error{Status: response.StatusCode, Message: answer.Message}
}

// do makes a request and decodes the answer into what into points to, unless that is nil.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body, into any) error {
	answer, err := c.open(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	if into != nil {
		err = json.NewDecoder(io.LimitReader(answer, maxAnswer)).Decode(into)
	}
	if err == nil { // to its end: an answer that breaks off is none, and then the connection is used again
		_, err = io.Copy(io.Discard, io.LimitReader(answer, maxAnswer))
	}
	return errors.Join(err, answer.Close())
}

// Hello asks the engine for its version and settles on the newest that both know, or on want if that is
// not empty. It comes before all other requests.
func (c *Client) Hello(ctx context.Context, want string) error {
	request, err := c.request(ctx, http.MethodGet, "/_ping", nil, nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return err
	}
	has := response.Header.Get("Api-Version")
	if err := errors.Join(refused(response), response.Body.Close()); err != nil {
		return err
	}
	version := strings.TrimPrefix(want, "v")
	switch {
	case version != "" && older(version, MinVersion):
		return fmt.Errorf("API %s was asked for, and %s is needed; correct DOCKER_API_VERSION", want, MinVersion)
	case version != "":
	case has == "":
		return errors.New("what answers is no engine: it does not name a version of the API")
	case older(has, MinVersion):
		return fmt.Errorf("the engine speaks API %s, and %s is needed; update it to Docker 20.10 or later", has, MinVersion)
	case older(MaxVersion, has):
		version = MaxVersion
	default:
		version = has
	}
	c.prefix = "/v" + version
	return nil
}

// older compares versions such as 1.41.
func older(a, b string) bool {
	number := func(v string) int {
		major, minor, _ := strings.Cut(v, ".")
		x, _ := strconv.Atoi(major)
		y, _ := strconv.Atoi(minor)
		return x*1000 + y
	}
	return number(a) < number(b)
}
