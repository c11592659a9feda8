package artifact_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rscript returns the system's R with the named packages.
func rscript(t *testing.T, packages ...string) host {
	t.Helper()
	const program = "/usr/bin/Rscript"
	if _, err := exec.LookPath(program); err != nil {
		missing(t, "r", program+" is not installed")
	}
	for _, name := range packages {
		if !works(program, "-e", "library("+name+")") {
			missing(t, "r:"+name, "R has no package "+name)
		}
	}
	return host{
		language: "r", args: []string{program, "--no-save", "--no-restore"}, file: "main.R",
		env: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=" + home(t)},
	}
}

const page = " image/png 800x600"

var rPrograms = []program{
	{name: "plot", code: `plot(1:10)`, want: []string{"figure-1.png" + page}},
	{name: "two plots", code: "hist(c(1,2,2,3))\nb <- boxplot(c(1,2,3))", want: []string{"figure-1.png" + page, "figure-2.png" + page}},
	{name: "additions", code: `
plot(1:10)
lines(10:1)
abline(h=5)
legend('top', legend='a', lty=1)
text(2,2,'t')`, want: []string{"figure-1.png" + page}},
	{name: "all of base graphics", code: `
pie(1:3); curve(sin, 0, 3); pairs(iris[1:4]); image(volcano); p <- persp(volcano); matplot(1:3, 1:3)
contour(volcano); b <- barplot(1:3); sunflowerplot(1:3, 1:3); mosaicplot(Titanic); dotchart(1:3); stars(mtcars[1:3, 1:4])
coplot(mpg ~ wt | factor(cyl), mtcars); filled.contour(volcano); plot(hclust(dist(1:4))); plot(density(1:5))`,
		want: figures(16, page)},
	{name: "several plots on a page", code: `
par(mfrow = c(1, 2)); plot(1); plot(2)
layout(matrix(1:2, 1)); plot(1); plot(2); plot(3)`, want: figures(3, page)},
	{name: "par alone draws nothing", code: `old <- par(mar = c(4, 4, 1, 1)); cat(dev.size(), "\n")`, stdout: "8 6 \n", want: []string{}},
	{name: "own png device", code: `
png('a.png')
plot(1:3)
invisible(dev.off())
cat('saved\n')`, stdout: "saved\n", want: []string{"a.png image/png 480x480"}},
	{name: "own devices of every kind", code: `
jpeg("b.jpg"); plot(1); invisible(dev.off())
svg("c.svg"); plot(1); invisible(dev.off())
pdf("d.pdf"); plot(1); invisible(dev.off())
bmp("e.bmp"); plot(1); invisible(dev.off())
pdf(); plot(1); invisible(dev.off())`, want: []string{
		"b.jpg image/jpeg 480x480", "c.svg image/svg+xml", "d.pdf application/pdf", "e.bmp image/png 480x480"}},
	{name: "pages of an own device", code: `
png("p%02d.png", 300, 200)
plot(1); plot(2)`, want: []string{"p01.png image/png 300x200", "p02.png image/png 300x200"}},
	{name: "dev.new", code: `
plot(1); dev.new(width = 5, height = 4); plot(2); invisible(dev.off()); plot(3); graphics.off(); plot(4)`,
		want: []string{"figure-1.png" + page, "figure-2.png" + page, "figure-3.png image/png 500x400", "figure-4.png" + page}},
	{name: "own default device", code: `
options(device = function(...) png("own.png", 300, 200)); plot(1)`, want: []string{"own.png image/png 300x200"}},
	{name: "ggplot2", modules: "ggplot2", code: `
library(ggplot2)
ggplot(mtcars, aes(mpg, disp)) + geom_point()
p <- qplot(1:3, 1:3)
for (i in 1:2) print(p + ggtitle(i))`, want: figures(3, page), stderr: "-"},
	{name: "ggsave", modules: "ggplot2", code: `
suppressMessages({library(ggplot2); p <- ggplot(mtcars, aes(mpg, disp)) + geom_point()
ggsave("g.png", p, width = 3, height = 2, dpi = 100)})`, want: []string{"g.png image/png 300x200"}},
	{name: "lattice and grid", modules: "lattice", code: `
library(lattice)
xyplot(mpg ~ disp, mtcars)
grid::grid.newpage(); grid::grid.circle()`, want: figures(2, page)},
	{name: "streams are untouched", code: `
warning('careful')
message('note')
cat('done\n')
print(ls(all.names = TRUE)); print(search()[2]); print(interactive())`,
		stdout: "done\ncharacter(0)\n[1] \"package:stats\"\n[1] FALSE\n", stderr: "careful", want: []string{}},
	{name: "stop", code: `
plot(1:3)
stop('late')`, code_: 1, stderr: "late", want: figures(1, page)},
	{name: "quit", code: `
plot(1:3)
.Last <- function() cat("last\n")
quit(status = 3)`, code_: 3, stdout: "last\n", want: figures(1, page)},
	{name: "killed", code: `
plot(1:3); plot(2)
plot(3)
lines(1:2, 1:2)
tools::pskill(Sys.getpid(), 9)`, code_: -1, want: figures(3, page)},
	{name: "killed in the expression that draws", code: `
plot(1:3); plot(2); tools::pskill(Sys.getpid(), 9)`, code_: -1, want: figures(2, page)},
	{name: "killed with an own device open", code: `
plot(1:3)
png("own.png")
plot(2)
tools::pskill(Sys.getpid(), 9)`, code_: -1, want: figures(1, page)},
	{name: "state of the device stays", code: `
par(mfrow = c(1, 2), mar = c(3, 3, 1, 1))
plot(1)
png("own.png", 300, 200)
plot(2)
x <- dev.cur()
invisible(dev.off())
plot(3)
cat(par("mfrow"), x, length(dev.list()), "\n")`, stdout: "1 2 3 1 \n", want: append(figures(1, page), "own.png image/png 300x200")},
	{name: "many points", code: `
plot(rnorm(3e5), pch = ".")
for (i in 1:3) points(i, i)`, want: figures(1, page)},
	{name: "browser", code: `
writeLines("<html><p>x</p></html>", f <- tempfile(fileext = ".html"))
browseURL(f); browseURL("https://example.org/")`, want: []string{"figure-1.html text/html"}},
}

// figures lists n figures of one size.
func figures(n int, size string) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("figure-%d.png", i+1)+size)
	}
	return names
}

func TestR(t *testing.T) {
	t.Parallel()
	for _, p := range rPrograms {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			check(t, p, rscript(t, strings.Fields(p.modules)...).run(t, p.code, 60*time.Second))
		})
	}
}

// TestRWidget prints a widget, as plotly, leaflet and DT make them, of a package that it installs.
func TestRWidget(t *testing.T) {
	t.Parallel()
	h := rscript(t, "htmlwidgets")
	library := t.TempDir()
	source := filepath.Join(t.TempDir(), "probe")
	for name, text := range map[string]string{
		"DESCRIPTION":                 "Package: probe\nVersion: 1.0\nTitle: T\nDescription: D.\nLicense: MIT\n",
		"NAMESPACE":                   "",
		"inst/htmlwidgets/probe.js":   "HTMLWidgets.widget({name: 'probe', type: 'output', factory: function() { return '</script>'; }});\n",
		"inst/htmlwidgets/probe.yaml": "dependencies:\n",
	} {
		file := filepath.Join(source, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("/usr/bin/R", "CMD", "INSTALL", "--library="+library, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.env = append(h.env, "R_LIBS_USER="+library)
	o := h.run(t, `
library(htmlwidgets)
createWidget("probe", list(grüße = 1), package = "probe", width = 100, height = 50)
saveWidget(createWidget("probe", list(2), package = "probe"), "saved.html", selfcontained = FALSE)
cat("after\n")`, time.Minute)
	check(t, program{stdout: "after\n", want: []string{"figure-1.html text/html", "saved.html text/html"}}, o)
	if len(o.set.Artifacts) == 0 {
		return
	}
	text := string(o.set.Artifacts[0].Data)
	for _, want := range []string{"HTMLWidgets.widget({name: 'probe'", `return '<\/script>'`, "grüße", "window.HTMLWidgets"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "<script src=") {
		t.Error("the page needs files beside it")
	}
}

// check compares what became of a program with what must.
func check(t *testing.T, p program, o outcome) {
	t.Helper()
	if o.stdout != p.stdout || o.code != p.code_ {
		t.Errorf("stdout %q, exit %d; want %q, %d\n%s", o.stdout, o.code, p.stdout, p.code_, o.stderr)
	}
	if diff := cmp.Diff(p.want, o.files()); diff != "" {
		t.Errorf("files (-want +got):\n%s%+v\n%s", diff, o.set.Omitted, o.stderr)
	}
	if p.stderr != "-" && !strings.Contains(o.stderr, p.stderr) || p.stderr == "" && o.stderr != "" {
		t.Errorf("stderr %q, want %q", o.stderr, p.stderr)
	}
}
