package artifact_test

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/image/bmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
)

// An entry is a file of an archive; n seconds after the others' beginning if at is n.
type entry struct {
	name string
	data []byte
	at   int
	kind byte
	pax  map[string]string
}

func archive(t testing.TB, entries ...entry) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.data)), Mode: 0o644,
			ModTime: time.Unix(1_700_000_000+int64(e.at), 0), Format: tar.FormatPAX, PAXRecords: e.pax,
		}
		if e.kind != 0 {
			h.Typeflag, h.Size = e.kind, 0
			h.Linkname = "/etc/passwd"
		}
		if e.kind == tar.TypeXGlobalHeader {
			h = &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: e.pax, Format: tar.FormatPAX}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

// picture is a drawing, or noise if seed is not 0.
func picture(width, height int, seed uint64) *image.NRGBA {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range p.Pix {
		switch {
		case i%4 == 3:
			p.Pix[i] = 255
		case seed != 0:
			p.Pix[i] = uint8(random.Uint32())
		case (i/4)%40 != 0:
			p.Pix[i] = 255
		}
	}
	return p
}

func encoded(encode func(io.Writer) error) []byte {
	var out bytes.Buffer
	if err := encode(&out); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func pngOf(width, height int, seed uint64) []byte {
	return encoded(func(w io.Writer) error { return png.Encode(w, picture(width, height, seed)) })
}

func jpegOf(width, height int) []byte {
	return encoded(func(w io.Writer) error { return jpeg.Encode(w, picture(width, height, 1), nil) })
}

func bmpOf(width, height int) []byte {
	return encoded(func(w io.Writer) error { return bmp.Encode(w, picture(width, height, 1)) })
}

func gifOf(width, height, frames int) []byte {
	g := gif.GIF{}
	for i := range frames {
		frame := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White})
		frame.Pix[i] = 1
		g.Image, g.Delay = append(g.Image, frame), append(g.Delay, 10)
	}
	return encoded(func(w io.Writer) error { return gif.EncodeAll(w, &g) })
}

// bomb is a PNG of a few bytes that claims a size and holds nothing of it.
func bomb(width, height uint32) []byte {
	chunk := func(kind string, data []byte) []byte {
		body := append([]byte(kind), data...)
		out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
		return binary.BigEndian.AppendUint32(append(out, body...), crc32.ChecksumIEEE(body))
	}
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	return bytes.Join([][]byte{
		[]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", append(header, 8, 2, 0, 0, 0)), chunk("IDAT", []byte{0x78, 0x9c}), chunk("IEND", nil),
	}, nil)
}

// webpOf is one pixel, lossless.
var webpOf = []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")

const svg = `<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x"><svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>`

// summary is what the tests compare: every artifact and every omission in a line.
func summary(set artifact.Set) []string {
	lines := []string{}
	for _, a := range set.Artifacts {
		line := describe(a)
		if a.Link {
			line += " link"
		}
		if a.Original != nil {
			line += " original " + a.OriginalMIME
		}
		lines = append(lines, line)
	}
	for _, o := range set.Omitted {
		lines = append(lines, fmt.Sprintf("-%s %d %s", o.Name, o.Count, o.Reason))
	}
	return lines
}

func TestCollectTypes(t *testing.T) {
	t.Parallel()
	cut := func(data []byte, n int) []byte { return data[:len(data)-n] }
	flip := func(data []byte, at int) []byte { data[at] ^= 0xff; return data }
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"a.png", pngOf(30, 20, 0), "a.png image/png 30x20"},
		{"A.PNG", pngOf(30, 20, 0), "A.PNG image/png 30x20"},
		{"a.png", append(pngOf(3, 2, 0), "<script>"...), "a.png image/png 3x2"},
		{"a.png", cut(pngOf(30, 20, 0), 1), "-a.png 1 a damaged PNG image"},
		{"a.png", cut(pngOf(30, 20, 0), 12), "-a.png 1 a damaged PNG image"},
		{"a.png", flip(pngOf(30, 20, 0), 50), "-a.png 1 a damaged PNG image"},
		{"a.png", bomb(30, 20), "-a.png 1 a damaged PNG image"},
		{"a.png", bomb(0, 20), "-a.png 1 a damaged PNG image"},
		{"a.png", bomb(50_000, 50_000), "a.png image/png 50000x50000 link"},
		{"a.png", bomb(1<<31-1, 1<<31-1), "-a.png 1 a damaged PNG image"},
		{"a.png", []byte("<html><p>x</p></html>"), "-a.png 1 not a PNG file"},
		{"a.png", []byte("\x89PNG\r\n\x1a\n"), "-a.png 1 a damaged PNG image"},
		{"a.png", jpegOf(8, 8), "a.png image/jpeg 8x8"},
		{"a.jpg", jpegOf(8, 8), "a.jpg image/jpeg 8x8"},
		{"a.jpg", cut(jpegOf(80, 80), 2), "-a.jpg 1 a damaged JPEG image"},
		{"a.jpg", append(jpegOf(80, 80)[:300], 0xff, 0xd9), "-a.jpg 1 a damaged JPEG image"},
		{"a.gif", gifOf(8, 8, 1), "a.gif image/gif 8x8"},
		{"a.gif", gifOf(8, 8, 3), "a.gif image/gif 8x8"},
		{"a.gif", cut(gifOf(8, 8, 3), 1), "-a.gif 1 a damaged GIF image"},
		{"a.gif", []byte("GIF89a"), "-a.gif 1 a damaged GIF image"},
		{"a.webp", webpOf, "a.webp image/webp 1x1"},
		{"a.webp", cut(webpOf, 1), "-a.webp 1 a damaged WebP image"},
		{"a.webp", []byte("RIFF\x04\x00\x00\x00WEBP"), "-a.webp 1 a damaged WebP image"},
		{"a.bmp", bmpOf(6, 5), "a.bmp image/png 6x5 original image/bmp"},
		{"a.bmp", cut(bmpOf(6, 5), 4), "-a.bmp 1 not a BMP file"},
		{"a.svg", []byte(svg), "a.svg image/svg+xml"},
		{"a.svg", []byte("\ufeff<svg/>"), "a.svg image/svg+xml"},
		{"a.svg", []byte("<html><svg/></html>"), "-a.svg 1 not an SVG image"},
		{"a.svg", []byte("<svg>"), "-a.svg 1 not an SVG image"},
		{"a.svg", []byte("<svg/><svg/>"), "-a.svg 1 not an SVG image"},
		{"a.svg", []byte("hello"), "-a.svg 1 not an SVG image"},
		{"a.svg", pngOf(3, 2, 0), "a.svg image/png 3x2"},
		{"a.pdf", []byte("%PDF-1.4\n...\n%%EOF\n"), "a.pdf application/pdf"},
		{"a.pdf", []byte("%PDF-1.4\n..."), "-a.pdf 1 a PDF without its end"},
		{"a.pdf", []byte("text"), "-a.pdf 1 not a PDF file"},
		{"a.html", []byte("<!DOCTYPE html><title>x</title>"), "a.html text/html"},
		{"a.htm", []byte("\n<div id=1>x</div>"), "a.htm text/html"},
		{"a.html", []byte("hello <b>x</b>"), "-a.html 1 not an HTML page"},
		{"a.html", []byte("<html>\xff</html>"), "-a.html 1 not UTF-8 text"},
		{"a.csv", []byte("a,b\n1,é\n"), "a.csv text/csv"},
		{"a.csv", []byte("a,b\n1,\xe9\n"), "-a.csv 1 not UTF-8 text"},
		{"a.csv", []byte("a\x00b"), "-a.csv 1 not UTF-8 text"},
		{"a.tsv", []byte("a\tb\n"), "a.tsv text/tab-separated-values"},
		{"a.csv", nil, "-a.csv 1 empty file"},
		{"a.exe", []byte("MZ"), "-a.exe 1 not a EXE file"},
		{"plain", []byte("x"), "-plain 1 of no known kind"},
	} {
		set, err := artifact.Collect(nil, archive(t, entry{name: c.name, data: c.data}), artifact.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{c.want}, summary(set)); diff != "" {
			t.Errorf("%s, %d bytes %.20q (-want +got):\n%s", c.name, len(c.data), c.data, diff)
		}
	}
}

func TestCollectNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200)
	for name, want := range map[string]string{
		"../../etc/a.csv":       "a.csv",
		`C:\dir\b.csv`:          "b.csv",
		"/abs/c.csv":            "c.csv",
		"new\nline\x1b[31m.csv": "newline[31m.csv",
		"gpj\u202e.csv":         "gpj.csv",
		long + ".csv":           strings.Repeat("é", 58) + ".csv",
		"   .csv":               ".csv",
		"世界 🎉.csv":              "世界 🎉.csv",
	} {
		set, err := artifact.Collect(nil, archive(t, entry{name: name, data: []byte("a,b\n")}), artifact.Limits{})
		if err != nil || len(set.Artifacts) != 1 {
			t.Fatalf("%q: %+v, %v", name, set, err)
		}
		if got := set.Artifacts[0].Name; got != want {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{".hidden.csv", ".git/a.csv", "Rplots.pdf", "sub/rplots.pdf"} {
		set, err := artifact.Collect(nil, archive(t, entry{name: name, data: []byte("%PDF-1.4 %%EOF")}), artifact.Limits{})
		if err != nil || len(set.Artifacts)+len(set.Omitted) != 0 {
			t.Errorf("%q: %v, %v", name, summary(set), err)
		}
	}
}

func TestCollectOrder(t *testing.T) {
	t.Parallel()
	captured := archive(t,
		entry{name: "00000000000000000300-7-3-b.png", data: pngOf(3, 3, 0)},
		entry{name: "00000000000000000100-7-1.png", data: pngOf(1, 1, 0)},
		entry{name: "00000000000000000200-9-2-a.png", data: pngOf(2, 2, 0)},
		entry{name: "00000000000000000200-7-10.png", data: pngOf(1, 10, 0)},
		entry{name: "00000000000000000200-7-9.png", data: pngOf(1, 9, 0)},
		entry{name: "00000000000000000400-7-4-a.png", data: pngOf(4, 4, 0)},
		entry{name: "00000000000000000500-7-5-a.png", data: pngOf(4, 4, 0)}, // the same once more
		entry{name: "00000000000000000600-7-6.html", data: []byte("<p>x</p>")},
		entry{name: ".12.partial", data: []byte("<p>x</p>")},
		entry{name: "00000000000000000700-7-7.png", data: pngOf(1, 1, 0)}, // an equal figure is another one
	)
	left := archive(t,
		entry{name: "z.csv", data: []byte("z"), at: 1},
		entry{name: "y.csv", data: []byte("y"), at: 1},
		entry{name: "old.csv", data: []byte("old"), at: 0},
		entry{name: "sub/y.csv", data: []byte("y2"), at: 2},
		entry{name: "a.png", data: pngOf(4, 4, 0), at: 3},    // captured when it was saved
		entry{name: "nine.png", data: pngOf(1, 9, 0), at: 3}, // also shown
	)
	set, err := artifact.Collect(captured, left, artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"figure-1.png image/png 1x1", "nine.png image/png 1x9", "figure-2.png image/png 1x10", "a.png image/png 2x2", "b.png image/png 3x3",
		"a-2.png image/png 4x4", "figure-3.html text/html", "figure-4.png image/png 1x1",
		"old.csv text/csv", "y.csv text/csv", "z.csv text/csv", "y-2.csv text/csv",
	}
	if diff := cmp.Diff(want, summary(set)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := set.Images(); got != 7 {
		t.Errorf("%d images, want 7", got)
	}
}

func TestCollectLimits(t *testing.T) {
	t.Parallel()
	many := make([]entry, 300)
	for i := range many {
		many[i] = entry{name: fmt.Sprintf("p%03d.png", i), data: pngOf(1, 1, 0)}
	}
	text := []byte(strings.Repeat("a,b\n", 200))
	for name, c := range map[string]struct {
		entries []entry
		limits  artifact.Limits
		want    []string
	}{
		"too many": {many, artifact.Limits{Count: 2}, []string{
			"p000.png image/png 1x1", "p001.png image/png 1x1", "- 298 more than 2 files"}},
		"too many for the archive as well": {
			[]entry{many[0], many[1], many[2], {kind: tar.TypeXGlobalHeader, pax: map[string]string{"SANDBOX.more": "700"}}},
			artifact.Limits{Count: 2},
			[]string{"p000.png image/png 1x1", "p001.png image/png 1x1", "- 701 more than 2 files"}},
		"false count": {
			[]entry{{kind: tar.TypeXGlobalHeader, pax: map[string]string{"SANDBOX.more": "-5"}}, many[0]},
			artifact.Limits{}, []string{"p000.png image/png 1x1"}},
		"file too large": {[]entry{{name: "a.csv", data: text}}, artifact.Limits{File: 799},
			[]string{"-a.csv 1 larger than 799 bytes"}},
		"file that was left out": {
			[]entry{{name: "sub/a.csv", pax: map[string]string{"SANDBOX.size": "99999999999"}}, {name: "a.csv", pax: map[string]string{"SANDBOX.size": "99999999999"}}, {name: "b.csv", pax: map[string]string{"SANDBOX.size": "x"}}},
			artifact.Limits{}, []string{"-a.csv 1 larger than 10 MiB", "-b.csv 1 larger than 10 MiB"}},
		"all too large": {[]entry{{name: "a.csv", data: text}, {name: "b.csv", data: text}, {name: "c.csv", data: []byte("c")}},
			artifact.Limits{Total: 1024},
			[]string{"a.csv text/csv", "c.csv text/csv", "-b.csv 1 all files together are larger than 1 KiB"}},
		"no place in the answer": {[]entry{{name: "a.csv", data: text}, {name: "b.csv", data: []byte("b")}},
			artifact.Limits{Inline: 700}, []string{"a.csv text/csv link", "b.csv text/csv"}},
		"links and folders": {
			[]entry{{name: "l.png", kind: tar.TypeSymlink}, {name: "h.png", kind: tar.TypeLink}, {name: "d.png/", kind: tar.TypeDir}, {name: "f.png", kind: tar.TypeFifo}},
			artifact.Limits{}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := artifact.Collect(nil, archive(t, c.entries...), c.limits)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, summary(set)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCollectOmissionsAreBounded(t *testing.T) {
	t.Parallel()
	var entries []entry
	for i := range 500 {
		entries = append(entries, entry{name: fmt.Sprintf("%d.png", i), data: []byte("x")})
	}
	set, err := artifact.Collect(nil, archive(t, entries...), artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, o := range set.Omitted {
		total += o.Count
	}
	if len(set.Omitted) != 21 || total != 500 {
		t.Errorf("%d omissions for %d files, want 21 for 500", len(set.Omitted), total)
	}
}

func TestCollectDamagedArchives(t *testing.T) {
	t.Parallel()
	whole := archive(t, entry{name: "a.csv", data: []byte("a")}, entry{name: "b.csv", data: bytes.Repeat([]byte("b"), 5000)}).Bytes()
	set, err := artifact.Collect(nil, bytes.NewReader(whole[:4096]), artifact.Limits{})
	if diff := cmp.Diff([]string{"a.csv text/csv", "-b.csv 1 the archive of files ends early"}, summary(set)); err != nil || diff != "" {
		t.Errorf("cut short: %v (-want +got):\n%s", err, diff)
	}
	set, err = artifact.Collect(strings.NewReader(strings.Repeat("garbage ", 200)), bytes.NewReader(whole), artifact.Limits{})
	if err == nil || len(set.Artifacts) != 2 {
		t.Errorf("one archive is garbage: %v, %v; want an error and both files of the other", err, summary(set))
	}
	if set, err := artifact.Collect(nil, nil, artifact.Limits{}); err != nil || len(set.Artifacts)+len(set.Omitted) != 0 {
		t.Errorf("no archives: %v, %v", summary(set), err)
	}
	if set, err := artifact.Collect(strings.NewReader(""), nil, artifact.Limits{}); err != nil || len(set.Artifacts)+len(set.Omitted) != 0 {
		t.Errorf("empty archive: %v, %v", summary(set), err)
	}
}
