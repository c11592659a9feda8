package artifact_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// python returns the system's Python, or the one that SANDBOX_TEST_PYTHON names, with the named modules.
func python(t *testing.T, modules ...string) host {
	t.Helper()
	interpreter := cmp.Or(os.Getenv("SANDBOX_TEST_PYTHON"), "/usr/bin/python3")
	if _, err := exec.LookPath(interpreter); err != nil {
		missing(t, "python", interpreter+" is not installed")
	}
	return pythonAt(t, interpreter, modules...)
}

func pythonAt(t *testing.T, interpreter string, modules ...string) host {
	t.Helper()
	for _, module := range modules {
		if !works(interpreter, "-c", "import "+module) {
			missing(t, "python:"+module, "Python has no module "+module)
		}
	}
	return host{
		language: "python", args: []string{interpreter}, file: "main.py",
		env: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=" + home(t), "PYTHONDONTWRITEBYTECODE=1", "SANDBOX_DEBUG=1"},
	}
}

const plain = " image/png 640x480"

// A program and what it must give.
type program struct {
	name    string
	modules string // those it needs, separated by spaces
	code    string
	stdout  string
	want    []string
	code_   int
	// stderr must be in the standard error; "" allows none that names the hooks.
	stderr string
}

var pythonPrograms = []program{
	{name: "show", code: `
plt.plot([1, 2, 3])
plt.show()`, want: []string{"figure-1.png" + plain}},
	{name: "two figures one after the other", code: `
plt.plot([1, 2]); plt.show()
plt.figure(figsize=(2, 1)).add_subplot().bar(["a", "b"], [3, 4]); plt.show()
print("both")`, stdout: "both\n", want: []string{"figure-1.png" + plain, "figure-2.png image/png 200x100"}},
	{name: "equal figures count each", code: `
for _ in range(3):
    plt.plot([1, 2]); plt.show()`, want: []string{"figure-1.png" + plain, "figure-2.png" + plain, "figure-3.png" + plain}},
	{name: "neither shown nor saved", code: `
plt.plot([1, 2])
print("no show")`, stdout: "no show\n", want: []string{"figure-1.png" + plain}},
	{name: "empty axes that nobody shows", code: `fig, ax = plt.subplots()`, want: []string{}},
	{name: "empty figure shown", code: `plt.figure(); plt.show()`, want: []string{}},
	{name: "savefig", code: `plt.plot([1, 2]); plt.savefig("a.png")`, want: []string{"a.png" + plain}},
	{name: "savefig then show", code: `
plt.plot([1, 2]); plt.savefig("sine.png", dpi=50); plt.show()`, want: []string{"sine.png image/png 320x240"}},
	{name: "savefig, change, show", code: `
plt.plot([1, 2]); plt.savefig("sine.png", dpi=50); plt.title("x"); plt.gcf().canvas.draw(); plt.show()`,
		want: []string{"sine.png image/png 320x240", "figure-1.png" + plain}},
	{name: "show then savefig", code: `
plt.plot([1, 2]); plt.show(); plt.savefig("late.png")
from PIL import Image
print(len(Image.open("late.png").getcolors(9999)) > 3)`, stdout: "True\n", want: []string{"late.png" + plain}},
	{name: "pdf", code: `
plt.plot([1, 2]); plt.savefig("v.pdf"); plt.close()
print("ok")`, stdout: "ok\n", want: []string{"v.pdf application/pdf"}},
	{name: "pdf then show", code: `
plt.plot([1, 2]); plt.savefig("v.pdf"); plt.show()`, want: []string{"v.pdf application/pdf", "figure-1.png" + plain}},
	{name: "every format", code: `
import pathlib
plt.plot([1, 2])
for ending in "png jpg svg pdf".split():
    plt.savefig(pathlib.Path("all." + ending))`, want: []string{
		"all.png" + plain, "all.jpg image/jpeg 640x480", "all.svg image/svg+xml", "all.pdf application/pdf"}},
	{name: "name without ending", code: `
plt.rcParams["savefig.format"] = "jpg"
plt.plot([1, 2]); plt.savefig("plain"); plt.savefig("other", format="png")`,
		want: []string{"plain.jpg image/jpeg 640x480", "other.png" + plain}},
	{name: "seaborn", modules: "seaborn", code: `
import seaborn as sns, pandas as pd
sns.histplot(pd.DataFrame({"v": [1, 2, 2, 3]}), x="v"); plt.show()`, want: []string{"figure-1.png" + plain}},
	{name: "seaborn pairplot left open", modules: "seaborn", code: `
import seaborn as sns, pandas as pd
sns.pairplot(pd.DataFrame({"v": [1, 2, 2, 3], "w": [1, 2, 3, 5]}))`, want: []string{"figure-1.png image/png 500x500"}},
	{name: "seaborn objects", modules: "seaborn.objects", code: `
import seaborn.objects as so, pandas as pd
so.Plot(pd.DataFrame({"v": [1, 2], "w": [1, 2]}), x="v", y="w").add(so.Dot()).show()`, want: []string{"figure-1.png" + plain}},
	{name: "pandas", modules: "pandas", code: `
import pandas as pd
pd.DataFrame({"a": [1, 3, 2]}).plot(kind="bar"); plt.show()`, want: []string{"figure-1.png" + plain}},
	{name: "pandas subplots left open", modules: "pandas", code: `
import pandas as pd
pd.DataFrame({"a": [1, 3, 2], "b": [1, 3, 2]}).plot(subplots=True)`, want: []string{"figure-1.png" + plain}},
	{name: "several axes", code: `
fig, axes = plt.subplots(2, 2)
for ax in axes.flat: ax.plot([1, 2])
plt.tight_layout(); plt.show()`, want: []string{"figure-1.png" + plain}},
	{name: "closed figure", code: `
fig = plt.figure(); plt.plot([1, 2]); plt.close(fig)
plt.show()
print("none")`, stdout: "none\n", want: []string{}},
	{name: "animation", code: `
from matplotlib.animation import FuncAnimation
fig, ax = plt.subplots(); line, = ax.plot([0, 1])
a = FuncAnimation(fig, lambda i: line.set_ydata([i, i]), frames=3)
a.save("a.gif", writer="pillow")
print("saved")`, stdout: "saved\n", want: []string{"a.gif image/gif 640x480"}},
	{name: "animation by hand", code: `
from matplotlib.animation import PillowWriter
fig, ax = plt.subplots(); ax.plot([0, 1])
w = PillowWriter(fps=2)
with w.saving(fig, "b.gif", 50):
    for i in range(3):
        ax.plot([i, 1]); w.grab_frame()
plt.close()`, want: []string{"b.gif image/gif 320x240"}},
	{name: "animation into a page", code: `
from matplotlib.animation import FuncAnimation
fig, ax = plt.subplots(); line, = ax.plot([0, 1])
page = FuncAnimation(fig, lambda i: line.set_ydata([i, i]), frames=3).to_jshtml()
plt.close()
print(len(page) > 1000)`, stdout: "True\n", want: []string{}},
	{name: "Agg", code: `
matplotlib.use("Agg")
plt.plot([1, 2]); plt.show()`, want: []string{"figure-1.png" + plain}},
	{name: "TkAgg before pyplot", modules: "-", code: `
import matplotlib
matplotlib.use("TkAgg")
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.show()`, want: []string{"figure-1.png" + plain}},
	{name: "Qt5Agg after pyplot", code: `
plt.switch_backend("Qt5Agg"); matplotlib.use("module://matplotlib_inline.backend_inline")
plt.plot([1, 2]); plt.show(); print(matplotlib.get_backend().lower())`, stdout: "agg\n", want: []string{"figure-1.png" + plain}},
	{name: "interactive", code: `
plt.ion(); plt.plot([1, 2]); plt.pause(0.1); plt.show(block=True); print("end")`, stdout: "end\n", want: []string{"figure-1.png" + plain}},
	{name: "animated by pause", code: `
fig, ax = plt.subplots()
for i in range(5):
    ax.clear(); ax.plot([0, i]); plt.pause(0.01)`, want: []string{"figure-1.png" + plain}},
	{name: "show without block", code: `
fig, ax = plt.subplots(figsize=(2, 2))
ax.plot([1, 2]); plt.show(block=False); plt.pause(0.01); plt.close()
print(plt.get_fignums())`, stdout: "[]\n", want: []string{"figure-1.png image/png 200x200"}},
	{name: "six in a loop", code: `
for i in range(6):
    plt.figure(figsize=(1 + i, 1), dpi=100)
    plt.plot([0, i]); plt.show()`, want: []string{
		"figure-1.png image/png 100x100", "figure-2.png image/png 200x100", "figure-3.png image/png 300x100",
		"figure-4.png image/png 400x100", "figure-5.png image/png 500x100", "figure-6.png image/png 600x100"}},
	{name: "many open at once", code: `
for i in (3, 1, 2):
    plt.figure(i, figsize=(i, 1)); plt.plot([0, i])
plt.figure(1)
plt.show()`, want: []string{
		"figure-1.png image/png 100x100", "figure-2.png image/png 200x100", "figure-3.png image/png 300x100"}},
	{name: "missing glyphs", code: `
plt.plot([1, 2]); plt.title("世界 🎉"); plt.show()
print("done")`, stdout: "done\n", stderr: "Glyph", want: []string{"figure-1.png" + plain}},
	{name: "shown twice", code: `
plt.plot([1, 2]); plt.show(); plt.show()
print("x")`, stdout: "x\n", want: []string{"figure-1.png" + plain}},
	{name: "figure.show then plt.show", code: `
fig, ax = plt.subplots(); ax.plot([1, 2]); fig.show(); plt.show()`, want: []string{"figure-1.png" + plain}},
	{name: "shown, changed, shown again", code: `
fig, ax = plt.subplots(); ax.plot([1, 2]); plt.show(); ax.plot([2, 1]); plt.show()`,
		want: []string{"figure-1.png" + plain, "figure-2.png" + plain}},
	{name: "same name three times", code: `
for i in range(3):
    plt.clf(); plt.plot([0, i]); plt.savefig("a.png", dpi=10 * (i + 1))`,
		want: []string{"a.png image/png 64x48", "a-2.png image/png 128x96", "a-3.png image/png 192x144"}},
	{name: "subfolder", code: `
import os
os.makedirs("out/deep"); plt.plot([1, 2]); plt.savefig("out/deep/x.png"); plt.close()`, want: []string{"x.png" + plain}},
	{name: "outside the workdir", code: `
import tempfile
plt.plot([1, 2]); plt.savefig(tempfile.mkdtemp() + "/x.svg")`, want: []string{"x.svg image/svg+xml"}},
	{name: "frames that are deleted", code: `
import os
from PIL import Image
frames = []
for i in range(6):
    plt.clf(); plt.plot([0, i]); plt.savefig("f%d.png" % i, dpi=20); frames.append(Image.open("f%d.png" % i).convert("P"))
plt.close()
frames[0].save("all.gif", save_all=True, append_images=frames[1:])
for i in range(6): os.remove("f%d.png" % i)`, want: []string{"all.gif image/gif 128x96"}},
	{name: "into memory", code: `
import io, base64
b = io.BytesIO(); plt.plot([1, 2]); plt.savefig(b, format="png"); plt.close()
print(len(base64.b64encode(b.getvalue())) > 100)`, stdout: "True\n", want: []string{"figure-1.png" + plain}},
	{name: "into an open file", code: `
plt.plot([1, 2])
with open("o.png", "wb") as f: plt.savefig(f)
plt.show()`, want: []string{"o.png" + plain}},
	{name: "into PdfPages", code: `
from matplotlib.backends.backend_pdf import PdfPages
with PdfPages("p.pdf") as p:
    for i in range(3):
        plt.figure(); plt.plot([1, i]); p.savefig(); plt.close()`, want: []string{"p.pdf application/pdf"}},
	{name: "object oriented", code: `
from matplotlib.figure import Figure
from matplotlib.backends.backend_agg import FigureCanvasAgg
fig = Figure(figsize=(3, 2)); FigureCanvasAgg(fig); fig.add_subplot().plot([1, 2]); fig.savefig("oo.png")
fig.canvas.print_figure("oo2.png", dpi=50); fig.canvas.print_png("oo3.png")`,
		want: []string{"oo.png image/png 300x200", "oo2.png image/png 150x100", "oo3.png image/png 300x200"}},
	{name: "saved from a thread", code: `
import threading
def work():
    fig = plt.figure(); fig.add_subplot().plot([1, 2]); fig.savefig("t.png"); plt.close(fig)
t = threading.Thread(target=work); t.start(); t.join()`, want: []string{"t.png" + plain}},
	{name: "children that fork", code: `
import multiprocessing as mp
def work(i):
    plt.figure(figsize=(i, 1)); plt.plot([0, i])
    if i == 1: plt.show()
if __name__ == "__main__":
    plt.figure(figsize=(4, 4)); plt.plot([1, 2])
    for i in (1, 2):
        p = mp.get_context("fork").Process(target=work, args=(i,)); p.start(); p.join()
    plt.show()`, want: []string{"figure-1.png image/png 100x100", "figure-2.png image/png 200x100", "figure-3.png image/png 400x400"}},
	{name: "children that spawn", code: `
import multiprocessing as mp
def work(i):
    plt.figure(figsize=(i, 1)); plt.plot([0, i])
    if i == 1: plt.show()
if __name__ == "__main__":
    for i in (1, 2):
        p = mp.get_context("spawn").Process(target=work, args=(i,)); p.start(); p.join()`,
		want: []string{"figure-1.png image/png 100x100", "figure-2.png image/png 200x100"}},
	{name: "program of its own", code: `
import subprocess, sys
subprocess.run([sys.executable, "-c", "import matplotlib.pyplot as p; p.plot([1,2]); p.show()"], check=True)`,
		want: []string{"figure-1.png" + plain}},
	{name: "left by fork and exit", code: `
import os, sys
plt.plot([1, 2])
if os.fork() == 0: sys.exit()
os.wait()`, want: []string{"figure-1.png" + plain}},
	{name: "many kinds", code: `
import numpy as np
x, y = np.meshgrid(np.linspace(-1, 1, 20), np.linspace(-1, 1, 20))
plt.contourf(x, y, x * y); plt.colorbar(); plt.show()
plt.subplot(projection="polar").plot([0, 1, 2], [1, 2, 3]); plt.show()
plt.subplot(projection="3d").plot_surface(x, y, x * y); plt.show()
fig, ax = plt.subplots(); ax.plot([1, 2]); ax.twinx().plot([3, 1]); plt.show()
with plt.style.context("dark_background"): plt.plot([1, 2]); plt.show()
with plt.xkcd(): plt.plot([1, 2]); plt.show()
plt.imshow(x); plt.show()
plt.pie([1, 2]); plt.show()
plt.table([["a", "b"]]); plt.axis("off"); plt.show()`, want: []string{
		"figure-1.png" + plain, "figure-2.png" + plain, "figure-3.png" + plain, "figure-4.png" + plain, "figure-5.png" + plain,
		"figure-6.png" + plain, "figure-7.png" + plain, "figure-8.png" + plain, "figure-9.png" + plain}, stderr: "-"},
	{name: "subfigures", code: `
fig = plt.figure(layout="constrained")
for sub in fig.subfigures(1, 2): sub.subplots().plot([1, 2])
plt.savefig("s.png"); plt.show()`, want: []string{"s.png" + plain}},
	{name: "imsave", code: `
import numpy as np
plt.imsave("i.png", np.eye(8))`, want: []string{"i.png image/png 8x8"}},
	{name: "figure by name", code: `
plt.figure("left"); plt.plot([1]); plt.figure("right", figsize=(1, 1)); plt.plot([2]); plt.figure("left"); plt.savefig("l.png")
plt.show()`, want: []string{"l.png" + plain, "figure-1.png image/png 100x100"}},
	{name: "huge figure is drawn coarser", code: `
plt.figure(figsize=(400, 300)); plt.plot([1, 2]); plt.show()`, want: []string{"figure-1.png image/png 2000x1500"}},
	{name: "figure that cannot be drawn", code: `
plt.plot([1, 2]); plt.title(r"$\frac{1}$"); plt.show()
print("on")`, stdout: "on\n", stderr: "a figure could not be drawn", want: []string{}},
	{name: "exception after a plot", code: `
plt.plot([1, 2])
raise SystemExit(3)`, code_: 3, want: []string{"figure-1.png" + plain}},
	{name: "uncaught exception", code: `
plt.plot([1, 2])
1 / 0`, code_: 1, stderr: "ZeroDivisionError", want: []string{"figure-1.png" + plain}},
	{name: "hard exit after show", code: `
import os
plt.plot([1, 2]); plt.show(); os._exit(7)`, code_: 7, want: []string{"figure-1.png" + plain}},
	{name: "kill after show", code: `
import os, signal
plt.plot([1, 2]); plt.savefig("k.png"); plt.show(); os.kill(os.getpid(), signal.SIGKILL)`, code_: -1, want: []string{"k.png" + plain}},
	{name: "pylab", modules: "-", code: `
from __future__ import annotations
from pylab import *
plot([1, 2]); show()
print(sorted(n for n in globals() if "sandbox" in n or "capture" in n))`, stdout: "[]\n", want: []string{"figure-1.png" + plain}},
	{name: "Pillow show", modules: "PIL.Image", code: `
from PIL import Image
Image.new("RGB", (20, 10), "red").show()
Image.new("CMYK", (30, 10)).show(title="t")
print("shown")`, stdout: "shown\n", want: []string{"figure-1.png image/png 20x10", "figure-2.png image/png 30x10"}},
	{name: "Pillow save", modules: "PIL.Image", code: `
from PIL import Image
Image.new("RGB", (20, 10), "red").save("red.png")
Image.new("RGB", (20, 10), "red").save("red.bmp")
Image.new("RGB", (20, 10), "red").save("red.webp")
print("saved")`, stdout: "saved\n", want: []string{"red.png image/png 20x10", "red.bmp image/png 20x10", "red.webp image/webp 20x10"}},
	{name: "plotly show", modules: "plotly", code: `
import plotly.graph_objects as go, plotly.io as pio
go.Figure(data=go.Bar(y=[1, 2])).show()
pio.show(go.Figure(data=go.Bar(y=[1, 2])), renderer="browser")
print("after")`, stdout: "after\n", want: []string{"figure-1.html text/html", "figure-2.html text/html"}},
	{name: "plotly write", modules: "plotly", code: `
import plotly.graph_objects as go, plotly.offline, tempfile
fig = go.Figure(data=go.Bar(y=[1, 2]))
fig.write_html("p.html", include_plotlyjs="cdn")
fig.write_html(tempfile.mkdtemp() + "/q.html", auto_open=True)
plotly.offline.plot(fig, filename="r.html")
print("ok")`, stdout: "ok\n", want: []string{"p.html text/html", "q.html text/html", "r.html text/html"}},
	{name: "plotly image", modules: "plotly", code: `
import plotly.graph_objects as go
go.Figure(data=go.Bar(y=[1, 2])).write_image("p.png")`, code_: 1, stderr: "kaleido", want: []string{}},
	{name: "browser", modules: "webbrowser", code: `
import webbrowser, pathlib, tempfile
page = pathlib.Path(tempfile.mkdtemp(), "a b.html"); page.write_text("<html><p>x</p></html>")
print(webbrowser.open(page.as_uri()), webbrowser.open("https://example.org/"), webbrowser.get().name)`,
		stdout: "True False sandbox\n", want: []string{"a b.html text/html"}},
}

var moreLibraries = []program{
	{name: "bokeh show", modules: "bokeh", code: `
from bokeh.plotting import figure, show
from bokeh.layouts import row
for i in range(2):
    p = figure(width=200, height=200); p.line([1, 2], [i, 2]); show(row(p))
print("after")`, stdout: "after\n", want: []string{"figure-1.html text/html", "figure-2.html text/html"}},
	{name: "bokeh output_file", modules: "bokeh", code: `
from bokeh.plotting import figure, show, save, output_file
output_file("b.html")
p = figure(width=200, height=200); p.line([1, 2], [1, 2]); show(p)
output_file("c.html"); save(p)`, want: []string{"b.html text/html", "c.html text/html"}},
	{name: "altair", modules: "altair pandas", code: `
import altair as alt, pandas as pd
chart = alt.Chart(pd.DataFrame({"a": [1, 2]})).mark_bar().encode(x="a:Q")
chart.show(); (chart | chart).display(); chart.save("c.html")
print("after")`, stdout: "after\n", want: []string{"c.html text/html", "figure-1.html text/html"}}, // shown and saved as the same page
	{name: "OpenCV", modules: "cv2", code: `
import cv2, numpy as np
p = np.zeros((10, 20, 3), np.uint8)
cv2.namedWindow("w"); cv2.imshow("w", p); print(cv2.waitKey(0)); cv2.destroyAllWindows()
cv2.imwrite("o.jpg", p)`, stdout: "-1\n", want: []string{"figure-1.png image/png 20x10", "o.jpg image/jpeg 20x10"}},
	{name: "folium", modules: "folium", code: `
import folium
folium.Map([0, 0]).save("map.html")`, want: []string{"map.html text/html"}},
	{name: "networkx", modules: "networkx", code: `
import networkx as nx, matplotlib.pyplot as plt
nx.draw(nx.path_graph(3)); plt.show()`, want: []string{"figure-1.png" + plain}},
	{name: "wordcloud", modules: "wordcloud", code: `
from wordcloud import WordCloud
WordCloud(width=50, height=40).generate("a word or two").to_file("w.png")`, want: []string{"w.png image/png 50x40"}},
	{name: "imageio", modules: "imageio numpy", code: `
import imageio, numpy as np
imageio.mimsave("a.gif", [np.full((8, 9), i * 60, np.uint8) for i in range(3)])
imageio.imwrite("a.png", np.zeros((8, 9), np.uint8))`, want: []string{"a.gif image/gif 9x8", "a.png image/png 9x8"}},
}

// TestPythonFromPyPI runs everything with the newest libraries, which it installs once per machine.
func TestPythonFromPyPI(t *testing.T) {
	t.Parallel()
	if !slices.Contains(strings.Split(os.Getenv("SANDBOX_TEST_REQUIRE"), ","), "pypi") {
		t.Skip("SANDBOX_TEST_REQUIRE does not name pypi, and this test installs from it")
	}
	venv := filepath.Join(os.TempDir(), "llm-sandbox-mcp-test-pypi")
	interpreter := filepath.Join(venv, "bin", "python")
	for _, args := range [][]string{
		{"python3", "-m", "venv", venv},
		{interpreter, "-m", "pip", "install", "--quiet", "matplotlib", "pandas", "seaborn", "plotly", "bokeh", "altair", "pillow",
			"opencv-python-headless", "folium", "networkx", "wordcloud", "imageio"},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	testPrograms(t, slices.Concat(pythonPrograms, moreLibraries), func(t *testing.T, modules ...string) host {
		return pythonAt(t, interpreter, modules...)
	})
}

func TestPythonLibraries(t *testing.T) {
	t.Parallel()
	testPrograms(t, moreLibraries, python)
}

func TestPython(t *testing.T) {
	t.Parallel()
	testPrograms(t, pythonPrograms, python)
}

// testPrograms runs programs; those that name no module use pyplot.
func testPrograms(t *testing.T, programs []program, on func(*testing.T, ...string) host) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			modules, code := strings.Fields(p.modules), p.code
			switch p.modules {
			case "-":
				modules = []string{"matplotlib"}
			case "", "seaborn", "seaborn.objects", "pandas":
				modules = append(modules, "matplotlib")
				code = "import matplotlib, matplotlib.pyplot as plt\n" + code
			}
			check(t, p, on(t, modules...).run(t, code, 60*time.Second))
		})
	}
}
