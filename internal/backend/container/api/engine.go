package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Info is what an engine says of itself.
type Info struct {
	OSType, Architecture                string
	MemoryLimit, CPUCfsQuota, PidsLimit bool
	// CgroupDriver is "none" where the engine may not use control groups.
	CgroupDriver string
	// SystemTime is the engine's clock, in RFC 3339.
	SystemTime string
}

// Info asks the engine about itself.
func (c *Client) Info(ctx context.Context) (Info, error) {
	var info Info
	err := c.do(ctx, http.MethodGet, "/info", nil, nil, &info)
	return info, err
}

// An Event is something that happened to a container.
type Event struct {
	Action string
	Actor  struct{ ID string }
}

// Events calls note for each event from now on, until ctx ends or the engine hangs up. The error says why.
func (c *Client) Events(ctx context.Context, f Filters, note func(Event)) error {
	stream, err := c.open(ctx, http.MethodGet, "/events", f.query(), nil)
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // it was read to its end
	for decoder := json.NewDecoder(stream); ; {
		var e Event
		if err := decoder.Decode(&e); err != nil {
			return err
		}
		note(e)
	}
}

// An Image is one that the engine has.
type Image struct {
	Config struct {
		// Volumes has the directories that each container gets a volume for, as its keys.
		Volumes map[string]struct{}
	}
}

// Image describes an image. One that the engine does not have is [ErrNotFound].
func (c *Client) Image(ctx context.Context, name string) (Image, error) {
	var image Image
	err := c.do(ctx, http.MethodGet, "/images/"+name+"/json", nil, nil, &image)
	return image, err
}

// Pull downloads an image. It returns when it is there.
func (c *Client) Pull(ctx context.Context, name string) error {
	query := url.Values{"fromImage": {name}}
	if last := name[strings.LastIndexByte(name, '/')+1:]; !strings.ContainsAny(last, ":@") {
		query.Set("tag", "latest") // without a tag the engine downloads all there are
	}
	messages, err := c.open(ctx, http.MethodPost, "/images/create", query, nil)
	if err != nil {
		return err
	}
	return errors.Join(progress(messages), messages.Close())
}

// progress reads what the engine says of a download, to its end. A failure is among it.
func progress(r io.Reader) error {
	for messages := json.NewDecoder(r); ; {
		var message struct{ Error string }
		switch err := messages.Decode(&message); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case message.Error != "":
			return errors.New(message.Error)
		}
	}
}
