package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
)

// outcome is the JSON of a result. The first three keys and their order are those of the Python project
// llm-sandbox; schema/execute_code.output.json describes all.
type outcome struct {
	ExitCode      int            `json:"exit_code"`
	Stderr        string         `json:"stderr"`
	Stdout        string         `json:"stdout"`
	Status        string         `json:"status"`
	Message       string         `json:"message,omitempty"`
	Step          string         `json:"step,omitempty"`
	Images        int            `json:"images"`
	Artifacts     []artifactItem `json:"artifacts"`
	Omitted       []omittedItem  `json:"omitted,omitempty"`
	StdoutOmitted int64          `json:"stdout_omitted_bytes,omitempty"`
	StderrOmitted int64          `json:"stderr_omitted_bytes,omitempty"`
	Language      string         `json:"language"`
	Backend       string         `json:"backend"`
	Isolation     string         `json:"isolation"`
	Unenforced    []string       `json:"unenforced_limits,omitempty"`
	Duration      float64        `json:"duration_seconds"`
	CPU           float64        `json:"cpu_seconds"`
	PeakMemory    int64          `json:"peak_memory_bytes,omitempty"`
}

type artifactItem struct {
	Name     string `json:"name"`
	MIMEType string `json:"mime_type"`
	Size     int64  `json:"size"`
	Width    int    `json:"width,omitempty"`
	Height   int    `json:"height,omitempty"`
	URI      string `json:"uri,omitempty"`
}

type omittedItem struct {
	Name   string `json:"name,omitempty"`
	Count  int    `json:"count"`
	Reason string `json:"reason"`
}

// render makes the result of a run: image blocks, then other artifacts, then one text that says all
// there is to say, because some clients show nothing else to the model.
func (s *server) render(r *engine.Response, notes []string) *sdk.CallToolResult {
	o := outcome{
		ExitCode:      r.ExitCode,
		Stderr:        r.Stderr,
		Stdout:        r.Stdout,
		Status:        r.Status,
		Images:        r.Artifacts.Images(),
		Artifacts:     []artifactItem{},
		StdoutOmitted: r.StdoutOmitted,
		StderrOmitted: r.StderrOmitted,
		Language:      r.Language,
		Backend:       r.Backend,
		Isolation:     r.Isolation,
		Unenforced:    r.Unenforced,
		Duration:      seconds(r.Usage.Wall),
		CPU:           seconds(r.Usage.CPU),
		PeakMemory:    r.Usage.PeakMemory,
	}
	if r.Message != "" {
		notes = append([]string{r.Message}, notes...)
	}
	o.Message = strings.Join(notes, " ")
	if r.Step != "run" {
		o.Step = r.Step
	}
	for _, omitted := range r.Artifacts.Omitted {
		o.Omitted = append(o.Omitted, omittedItem{omitted.Name, max(omitted.Count, 1), omitted.Reason})
	}

	var images, files []sdk.Content
	for _, a := range r.Artifacts.Artifacts {
		item := artifactItem{Name: a.Name, MIMEType: a.MIME, Size: a.Size, Width: a.Width, Height: a.Height}
		switch {
		case a.Link:
			item.URI = s.keep(a)
			files = append(files, &sdk.ResourceLink{URI: item.URI, Name: a.Name, MIMEType: a.MIME, Size: &a.Size})
		case isImageBlock(a.MIME):
			if a.Original != nil {
				item.URI = s.keep(a)
			}
			images = append(images, &sdk.ImageContent{Data: a.Data, MIMEType: a.MIME})
		default:
			item.URI = s.keep(a)
			files = append(files, &sdk.EmbeddedResource{Resource: contents(item.URI, a.MIME, a.Data)})
		}
		o.Artifacts = append(o.Artifacts, item)
	}

	text := encodeASCII(o)
	return &sdk.CallToolResult{
		Content:           slices.Concat(images, files, []sdk.Content{&sdk.TextContent{Text: string(text)}}),
		StructuredContent: json.RawMessage(text),
	}
}

// keep puts an artifact, as the program wrote it, where resources/read finds it.
func (s *server) keep(a artifact.Artifact) (uri string) {
	data, mime := a.Data, a.MIME
	if a.Original != nil {
		data, mime = a.Original, cmp.Or(a.OriginalMIME, a.MIME)
	}
	return s.kept.put(a.Name, mime, data)
}

// isImageBlock reports whether clients take the type in an image block.
func isImageBlock(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// contents is text if the type is one of text and the bytes are, else a blob.
func contents(uri, mime string, data []byte) *sdk.ResourceContents {
	c := &sdk.ResourceContents{URI: uri, MIMEType: mime}
	textual := strings.HasPrefix(mime, "text/") || mime == "image/svg+xml" || mime == "application/json"
	if textual && len(data) > 0 && utf8.Valid(data) {
		c.Text = string(data)
	} else {
		c.Blob = append([]byte{}, data...) // not nil, which would leave out both
	}
	return c
}

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// encodeASCII returns v as JSON with an indent of two spaces and everything but ASCII escaped, which is
// the form clients of the Python project know.
func encodeASCII(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("mcp: encode result: %v", err)) // the types are ours and hold only plain values
	}
	return escapeASCII(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
}

// escapeASCII escapes what is not printable ASCII in JSON. Outside of strings there is no such thing.
func escapeASCII(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if text[i] < 0x7f {
			out = append(out, text[i])
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		i += size
		for _, unit := range utf16.AppendRune(nil, r) {
			out = append(out, '\\', 'u', hex[unit>>12], hex[unit>>8&15], hex[unit>>4&15], hex[unit&15])
		}
	}
	return out
}

const hex = "0123456789abcdef"
