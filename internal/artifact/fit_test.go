package artifact_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
)

// inline sums up what is sent along.
func inline(set artifact.Set) int64 {
	var n int64
	for _, a := range set.Artifacts {
		if !a.Link {
			n += int64(len(a.Data))
		}
	}
	return n
}

func TestFit(t *testing.T) {
	t.Parallel()
	noise := func(n int) []entry {
		var entries []entry
		for i := range n {
			entries = append(entries, entry{name: string(rune('a'+i)) + ".png", data: pngOf(640, 480, uint64(i+1))})
		}
		return entries
	}
	for name, c := range map[string]struct {
		entries []entry
		limits  artifact.Limits
		want    []string
	}{
		"fits": {[]entry{{name: "a.png", data: pngOf(2000, 100, 0)}}, artifact.Limits{}, []string{"a.png image/png 2000x100"}},
		"side": {[]entry{{name: "a.png", data: pngOf(1500, 1200, 0)}}, artifact.Limits{Side: 500},
			[]string{"a.png image/png 500x400 original image/png"}},
		"narrow": {[]entry{{name: "a.png", data: pngOf(9000, 1, 0)}}, artifact.Limits{},
			[]string{"a.png image/png 2000x1 original image/png"}},
		"bytes": {[]entry{{name: "a.png", data: pngOf(1500, 1500, 1)}}, artifact.Limits{},
			[]string{"a.png image/jpeg 966x966 original image/png"}},
		"photo": {[]entry{{name: "a.jpg", data: jpegOf(2200, 500)}}, artifact.Limits{},
			[]string{"a.jpg image/jpeg 2000x455 original image/jpeg"}},
		"animation": {[]entry{{name: "a.gif", data: gifOf(2500, 10, 2)}, {name: "b.gif", data: gifOf(2500, 10, 1)}}, artifact.Limits{},
			[]string{"a.gif image/gif 2500x10 link", "b.gif image/png 2000x8 original image/gif"}},
		"shares": {append(noise(3), entry{name: "plot.png", data: pngOf(640, 480, 0)}), artifact.Limits{}, []string{
			"a.png image/jpeg 576x432 original image/png", "b.png image/jpeg 640x480 original image/png",
			"c.png image/jpeg 640x480 original image/png", "plot.png image/png 640x480"}},
		"no room":  {noise(1), artifact.Limits{Inline: 10}, []string{"a.png image/png 640x480 link"}},
		"unopened": {[]entry{{name: "a.png", data: bomb(20_000, 2001)}}, artifact.Limits{}, []string{"a.png image/png 20000x2001 link"}},
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
			if n := inline(set); n > artifact.DefaultInline {
				t.Errorf("%d bytes inline, want at most %d", n, artifact.DefaultInline)
			}
			for _, a := range set.Artifacts {
				if a.Link {
					continue
				}
				config, format, err := image.DecodeConfig(bytes.NewReader(a.Data))
				if err != nil || "image/"+format != a.MIME || config.Width != a.Width || config.Height != a.Height {
					t.Errorf("%s is %s %dx%d (%v), said to be %s %dx%d", a.Name, format, config.Width, config.Height, err, a.MIME, a.Width, a.Height)
				}
			}
		})
	}
}

// TestFitIsBounded feeds what takes the most work. What is not opened any more goes behind links; the
// time is for people to read, the bytes allocated are the gate.
func TestFitIsBounded(t *testing.T) { //nolint:paralleltest // measures memory
	if raceEnabled {
		t.Skip("goes through 60 million pixels, which takes a minute with the race detector")
	}
	large := encoded(func(w io.Writer) error { return png.Encode(w, image.NewNRGBA(image.Rect(0, 0, 5000, 4000))) })
	var entries []entry
	for i := range 4 {
		entries = append(entries, entry{name: fmt.Sprintf("a%d.png", i), data: large})
	}
	for i := range 40 {
		entries = append(entries, entry{name: fmt.Sprintf("b%02d.png", i), data: bomb(50_000, 50_000)})
	}
	in := archive(t, entries...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	set, err := artifact.Collect(nil, in, artifact.Limits{})
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a0.png image/png 2000x1600 original image/png", "a1.png image/png 2000x1600 original image/png",
		"a2.png image/png 2000x1600 original image/png", "a3.png image/png 5000x4000 link", "b00.png image/png 50000x50000 link",
	}
	if diff := cmp.Diff(want, summary(set)[:len(want)]); diff != "" || len(set.Artifacts) != 44 {
		t.Errorf("%d artifacts, first ones (-want +got):\n%s", len(set.Artifacts), diff)
	}
	n := (after.TotalAlloc - before.TotalAlloc) >> 20
	t.Logf("%v, %d MiB allocated", took, n)
	if n > 500 {
		t.Errorf("allocated %d MiB, want at most 500", n)
	}
}
