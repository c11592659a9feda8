package engine_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/fake"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
)

// picture is a PNG image.
func picture(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// draws plays a program that captures a figure, saves a file, and leaves others that are none of ours.
func draws(t testing.TB, then fake.Program) fake.Program {
	t.Helper()
	data := picture(t)
	return func(ctx context.Context, c *fake.Call) backend.Exit {
		c.Files.Write(backend.ArtifactDir+"/1-1-1.png", data)
		c.Files.Write(c.Path("table.csv"), []byte("a,b\n1,2\n"))
		c.Files.Write(c.Path("node_modules/x/logo.png"), data)
		c.Files.Write(c.Path(".cache/hidden.png"), data)
		c.Files.Write(c.Path("notes.txt"), []byte("text"))
		return then(ctx, c)
	}
}

func names(set artifact.Set) []string {
	var all []string
	for _, a := range set.Artifacts {
		all = append(all, a.Name+" "+a.MIME)
	}
	return all
}

func TestArtifactsAlsoOfWhatFailed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		then   fake.Program
		status string
	}{
		{"success", fake.Print("", 0), "ok"},
		{"failure", fake.Print("", 1), "error"},
		{"timeout", takes(time.Hour), "timeout"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			program := draws(t, test.then)
			synctest.Test(t, func(t *testing.T) {
				s := python(t, program)
				got := s.execute(t, engine.Request{Code: "plot()", Artifacts: true})
				if got.Status != test.status {
					t.Errorf("status %q, want %q", got.Status, test.status)
				}
				if diff := cmp.Diff([]string{"figure-1.png image/png", "table.csv text/csv"}, names(got.Artifacts)); diff != "" {
					t.Errorf("artifacts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestArtifactsThatCannotBeHad(t *testing.T) {
	t.Parallel()
	s := python(t, draws(t, fake.Print("1\n", 0)), failAt(fake.StepCopyOut, errors.New("the stream broke")))
	got := s.execute(t, engine.Request{Code: "plot()", Artifacts: true})
	if got.Status != engine.StatusOK || got.Stdout != "1\n" {
		t.Errorf("response %+v", got)
	}
	if len(got.Artifacts.Omitted) != 1 {
		t.Fatalf("omitted %+v, want one", got.Artifacts.Omitted)
	}
	says(t, got.Artifacts.Omitted[0].Reason, "the stream broke")
	says(t, s.log.String(), "collect artifacts", "the stream broke")
}

func TestInputIsNoArtifact(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]fake.Program{"go": fake.Print("", 0), ".main": func(_ context.Context, c *fake.Call) backend.Exit {
		c.Files.Write(c.Path("changed.csv"), []byte("new\n"))
		return backend.Exit{}
	}})
	got := s.execute(t, engine.Request{
		Language: "go", Artifacts: true,
		Code: "package main\n\nfunc main() {}\n-- data.csv --\na,b\n-- changed.csv --\nold\n",
	})
	if diff := cmp.Diff([]string{"changed.csv text/csv"}, names(got.Artifacts)); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
}
