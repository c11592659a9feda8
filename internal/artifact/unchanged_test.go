package artifact_test

import (
	"strings"
	"testing"
	"time"
)

// TestPythonUnchanged checks what programs could notice of the hooks.
func TestPythonUnchanged(t *testing.T) {
	t.Parallel()
	for _, p := range []program{
		{name: "nothing is loaded or left", modules: "json", code: `
import sys, os
print([n for n in sys.modules if n.startswith("_sandbox")], [n for n in globals() if not n.startswith("__")])
print("hooks" in " ".join(sys.path), "hooks" in os.environ["PYTHONPATH"])`,
			stdout: "[] ['sys', 'os']\nFalse True\n", want: []string{}},
		{name: "a library that fails to load", modules: "json", code: `
import pathlib, sys, traceback
pathlib.Path("cv2.py").write_text("x = 1\n1 / 0\n")
try:
    import cv2
except ZeroDivisionError as e:
    print(traceback.extract_tb(e.__traceback__)[-1].line)
print("cv2" in sys.modules)
try:
    import altair.vegalite.v5.api
except ModuleNotFoundError as e:
    print(e)`, stdout: "1 / 0\nFalse\nNo module named 'altair'\n", want: []string{}},
		{name: "a library of the same name", modules: "json", code: `
import pathlib, inspect
pathlib.Path("cv2.py").write_text("def imread(): return 5\n")
import cv2
print(cv2.imread(), inspect.getsource(cv2.imread), cv2.__loader__.get_filename("cv2") == cv2.__file__, end="")`,
			stdout: "5 def imread(): return 5\n True", want: []string{}, stderr: "-"},
		{name: "signatures and pickles", modules: "matplotlib", code: `
import copy, inspect, io, pickle
import matplotlib.pyplot as plt, matplotlib.figure
print(plt.show.__name__, plt.show.__module__, inspect.signature(plt.savefig), bool(plt.show.__doc__))
fig, ax = plt.subplots(); ax.plot([1, 2])
fig.savefig("a.png")
again = pickle.loads(pickle.dumps(fig))
again.savefig(io.BytesIO())
print(pickle.loads(pickle.dumps(plt.show)) is plt.show, matplotlib.figure.Figure.savefig.__qualname__)
plt.close("all")`, stdout: "show matplotlib.pyplot (*args, **kwargs) True\nTrue Figure.savefig\n",
			want: []string{"a.png" + plain}}, // the copy gives the same bytes
		{name: "the sitecustomize that this one hides", modules: "json", code: `
import os, pathlib, subprocess, sys
pathlib.Path("sitecustomize.py").write_text("import builtins\nbuiltins.own = __name__\n")
path = os.environ["PYTHONPATH"] + os.pathsep + os.getcwd()
subprocess.run([sys.executable, "-c", "import sys; print(own, sys.modules[own].__file__[-16:], sys.meta_path[0].__name__)"],
    env={**os.environ, "PYTHONPATH": path}, check=True)`,
			stdout: "sitecustomize sitecustomize.py CaptureFinder\n", want: []string{}},
		{name: "errors of savefig", modules: "matplotlib", code: `
import matplotlib.pyplot as plt
for arguments in (("missing/a.png",), ("a.xyz",), ()):
    try:
        plt.savefig(*arguments)
    except Exception as e:
        print(type(e).__name__)`, stdout: "FileNotFoundError\nValueError\nTypeError\n", want: []string{}},
		{name: "no room to capture", modules: "matplotlib", code: `
import os, shutil
shutil.rmtree(os.environ["SANDBOX_ARTIFACTS"])
import matplotlib.pyplot as plt
plt.plot([1]); plt.savefig("a.png"); plt.show(); print("on")
os.mkdir(os.environ["SANDBOX_ARTIFACTS"])`, stdout: "on\n", want: []string{"a.png" + plain}},
		{name: "isolated child", modules: "matplotlib", code: `
import subprocess, sys
print(subprocess.run([sys.executable, "-I", "-c", "import matplotlib.pyplot as p; p.plot([1]); p.show()"]).returncode)`,
			stdout: "0\n", stderr: "-", want: []string{}},
		{name: "bound on one process", modules: "PIL.Image", code: `
import os
from PIL import Image
for i in range(300): Image.new("L", (i + 1, 1)).save("same.png")
print(len(os.listdir(os.environ["SANDBOX_ARTIFACTS"])))
for name in os.listdir(os.environ["SANDBOX_ARTIFACTS"]): os.remove(os.path.join(os.environ["SANDBOX_ARTIFACTS"], name))`,
			stdout: "200\n", want: []string{"same.png image/png 300x1"}},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			check(t, p, python(t, strings.Fields(p.modules)...).run(t, p.code, time.Minute))
		})
	}
}
