"""Runs at the start of every Python in the sandbox and installs one import hook.

Nothing else is loaded until the program imports a library that draws; then the hook loads the file of
this folder that knows the library. PYTHONPATH stays in the environment, so children capture too.
"""

import os
import sys

HERE = os.path.dirname(__file__)

# The modules that are patched once they are loaded, and the file that does it.
WATCHED = {
    "PIL.Image": "pillow",
    "PIL.ImageShow": "pillow",
    "altair.vegalite.v4.api": "altair",
    "altair.vegalite.v5.api": "altair",
    "altair.vegalite.v6.api": "altair",
    "bokeh.io.saving": "bokeh",
    "bokeh.io.showing": "bokeh",
    "cv2": "opencv",
    "matplotlib": "matplotlib",
    "matplotlib.animation": "matplotlib",
    "matplotlib.backend_bases": "matplotlib",
    "matplotlib.figure": "matplotlib",
    "matplotlib.pyplot": "matplotlib",
    "plotly.io._html": "plotly",
    "plotly.io._kaleido": "plotly",
    "plotly.io._renderers": "plotly",
    "webbrowser": "webbrowser",
}


class CaptureFinder:
    """Finds the watched modules where Python would, and patches them after they are loaded."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in WATCHED:
            return None
        for finder in sys.meta_path:
            if finder is cls or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                cls._patch_after(spec)
                return spec
        return None

    @staticmethod
    def _patch_after(spec):
        loader = spec.loader
        load = getattr(loader, "exec_module", None)
        if load is None:
            return

        def exec_module(module):
            del loader.exec_module  # The loader is as it was: users may ask it for the source.
            load(module)
            patch(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass  # A loader without attributes of its own: this module is not captured.


def patch(module):
    """Patches one module that was just loaded. A failure here is never the program's."""
    try:
        hook = load_hook(WATCHED[module.__name__])
        hook.PATCHES[module.__name__](module)
    except Exception:
        if os.environ.get("SANDBOX_DEBUG"):
            sys.excepthook(*sys.exc_info())


def load_hook(name):
    """Loads a file of this folder, and the store that all of them use, under a name of our own."""
    full = "_sandbox_" + name
    if full not in sys.modules:
        if name != "store":
            load_hook("store")
        from importlib.util import module_from_spec, spec_from_file_location

        spec = spec_from_file_location(full, os.path.join(HERE, "capture_" + name + ".py"))
        sys.modules[full] = module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[full]
            raise
    return sys.modules[full]


def run_next_sitecustomize():
    """Runs the sitecustomize that this one hides, as the distribution's own."""
    here = sys.modules.pop(__name__)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault(__name__, here)


if HERE in sys.path:
    sys.path.remove(HERE)
sys.meta_path.insert(0, CaptureFinder)
run_next_sitecustomize()
