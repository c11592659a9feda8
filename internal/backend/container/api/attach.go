package api

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// A Stream is a connection to the standard streams of a container: what is written goes to its standard
// input, and what it writes to standard output is read. Standard error goes to the writer that Attach was
// given.
type Stream struct {
	conn   net.Conn
	reader *bufio.Reader
	stderr io.Writer
	// left is what is to be read of the current frame, and to says of which stream it is.
	left uint32
	to   byte
}

// Attach connects to the streams of a container without a terminal, also before it is started. When the
// stream is closed the engine closes the container's standard input.
func (c *Client) Attach(ctx context.Context, id string, stderr io.Writer) (*Stream, error) {
	query := url.Values{"stream": {"1"}, "stdin": {"1"}, "stdout": {"1"}, "stderr": {"1"}}
	request, err := c.request(ctx, http.MethodPost, "/containers/"+id+"/attach", query, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "tcp")
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	reader := bufio.NewReaderSize(conn, 64<<10)
	err = upgrade(request, conn, reader)
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &Stream{conn: conn, reader: reader, stderr: stderr}, nil
}

// upgrade turns a connection of HTTP into a stream.
func upgrade(request *http.Request, conn net.Conn, reader *bufio.Reader) error {
	if err := request.Write(conn); err != nil {
		return err
	}
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	err = refused(response)
	if err == nil {
		err = fmt.Errorf("the engine answers %s instead of opening a stream", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// The frames of a stream: a byte that names it, three that are zero, the length in four, and the data.
const (
	frameHeader = 8
	frameStderr = 2
)

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	for {
		if s.left == 0 {
			var header [frameHeader]byte
			if _, err := io.ReadFull(s.reader, header[:]); err != nil {
				return 0, err
			}
			s.to, s.left = header[0], binary.BigEndian.Uint32(header[4:])
			continue
		}
		if s.to != frameStderr {
			n, err := s.reader.Read(p[:min(len(p), int(s.left))])
			s.left -= uint32(n) //nolint:gosec // at most left
			return n, err
		}
		n, err := io.CopyN(s.stderr, s.reader, int64(s.left))
		s.left -= uint32(n) //nolint:gosec // at most left
		if err != nil {
			return 0, err
		}
	}
}

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (int, error) { return s.conn.Write(p) }

// Close implements io.Closer.
func (s *Stream) Close() error { return s.conn.Close() }
