package artifact_test

import (
	"bytes"
	"image"
	_ "image/gif"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	_ "golang.org/x/image/webp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
)

// FuzzCollect feeds one file of any name and content, and any bytes as an archive, and holds what
// comes out to what the types promise.
func FuzzCollect(f *testing.F) {
	whole := archive(f, entry{name: "00000000000000000200-7-9-a.png", data: pngOf(3, 2, 0)}).Bytes()
	for name, data := range map[string][]byte{
		"a.png": pngOf(9, 9, 1), "b.jpg": jpegOf(9, 9), "c.gif": gifOf(9, 9, 2), "d.webp": webpOf, "e.bmp": bmpOf(9, 9),
		"f.svg": []byte(svg), "g.pdf": []byte("%PDF-1.4\n%%EOF"), "h.html": []byte("<p>"), "i.csv": []byte("a,b"), "j.png": bomb(50_000, 50_000),
		"../\x1bk\xff.png": []byte("\x89PNG\r\n\x1a\n"),
	} {
		f.Add(name, data, whole)
	}
	limits := artifact.Limits{Inline: 2000, Side: 8, File: 1 << 16, Total: 1 << 17, Count: 3}
	known := []string{
		"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/svg+xml", "application/pdf", "text/html", "text/csv",
		"text/tab-separated-values",
	}
	f.Fuzz(func(t *testing.T, name string, data, captured []byte) {
		if name = strings.TrimRight(name, "/"); name == "" || strings.Contains(name, "\x00") || len(name) > 1<<10 {
			t.Skip("not a name that an archive can hold")
		}
		if len(data) > 1<<16 || len(captured) > 1<<18 {
			t.Skip("too large to be quick")
		}
		set, _ := artifact.Collect(bytes.NewReader(captured), archive(t, entry{name: name, data: data}), limits)
		if len(set.Artifacts) > limits.Count || inline(set) > limits.Inline {
			t.Errorf("%d artifacts, %d bytes inline", len(set.Artifacts), inline(set))
		}
		for _, a := range set.Artifacts {
			if !utf8.ValidString(a.Name) || a.Name == "" || len(a.Name) > 120 || strings.ContainsAny(a.Name, `/\`) || strings.ContainsFunc(a.Name, unicode.IsControl) {
				t.Errorf("name %q", a.Name)
			}
			if !slices.Contains(known, a.MIME) || a.Original != nil && !slices.Contains(known, a.OriginalMIME) {
				t.Errorf("type %q, original %q", a.MIME, a.OriginalMIME)
			}
			if a.Width == 0 || a.Link {
				continue
			}
			if max(a.Width, a.Height) > limits.Side {
				t.Errorf("%dx%d", a.Width, a.Height)
			}
			if _, _, err := image.Decode(bytes.NewReader(a.Data)); err != nil {
				t.Errorf("%s sent along: %v", a.MIME, err)
			}
		}
		for _, o := range set.Omitted {
			if o.Count < 1 || o.Reason == "" {
				t.Errorf("omission %+v", o)
			}
		}
	})
}
