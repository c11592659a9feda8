"""Captures figures when they are shown or saved, and what is left open when the program ends."""

import atexit
import io
import os
import sys
import time
import warnings
import weakref

from _sandbox_store import as_a_whole, copy, put, state, swallow, wrap

# A figure that is shown is drawn with at most this many pixels; its size in inches stays.
MAX_PIXELS = 30e6

# Seconds between two pictures of a figure that plt.pause refreshes.
PAUSE = 1.0

# Savefig formats that a client can look at. A figure saved in another one is still to be shown.
RASTER = {"png", "jpg", "jpeg", "gif", "webp"}

# Backends that need a window or a notebook. What would be seen there is captured with Agg instead.
WINDOWED = {
    "gtk3agg", "gtk3cairo", "gtk4agg", "gtk4cairo", "inline", "ipympl", "macosx", "nbagg", "notebook",
    "qt4agg", "qt4cairo", "qt5agg", "qt5cairo", "qtagg", "qtcairo", "tkagg", "tkcairo", "webagg",
    "widget", "wx", "wxagg", "wxcairo",
}  # fmt: skip


class Seen:
    """What is known of one figure."""

    def __init__(self):
        self.changed = True  # drawn on since the last picture of it
        self.saved = False  # written to a file in any format
        self.draft = None  # the picture that plt.pause made, and may make again
        self.drafted = 0.0  # when that was


figures = weakref.WeakKeyDictionary()
shown = weakref.WeakSet()  # shown and then closed by us
last_shown = None


def seen(figure):
    """Returns what is known of a figure; from then on the figure tells when it is drawn on."""
    if figure not in figures:
        figures[figure] = known = Seen()
        tell_before = figure.stale_callback

        def tell(figure, stale):
            if stale:
                known.changed = True
            if tell_before is not None:
                tell_before(figure, stale)

        figure.stale_callback = tell
    return figures[figure]


def drawn(figure):
    """Says whether there is anything on a figure."""
    return any(
        getattr(figure, kind, None)
        for kind in ("axes", "lines", "patches", "texts", "images", "artists", "legends", "subfigs")
    )


def used(figure):
    """Says whether there is more on a figure than empty axes."""
    return any(
        axes.has_data() or axes.texts or axes.tables or axes.artists or axes.patches or axes.get_title()
        for axes in figure.axes
    ) or any(getattr(figure, kind, None) for kind in ("lines", "patches", "texts", "images", "artists"))


def picture(figure):
    """Draws a figure as savefig would, with fewer dots if there would be too many."""
    import matplotlib

    dpi = matplotlib.rcParams["savefig.dpi"]
    dpi = figure.dpi if dpi == "figure" else dpi
    width, height = figure.get_size_inches() * dpi
    data = io.BytesIO()
    with as_a_whole():
        figure.savefig(data, format="png", dpi=dpi * min(1, (MAX_PIXELS / (width * height)) ** 0.5))
    return data.getvalue()


def capture(figure, draft=False):
    """Stores the picture of a figure unless the last one still holds."""
    known = seen(figure)
    if not known.changed or not drawn(figure):
        return
    try:
        data = picture(figure)
    except Exception as error:
        # The figure itself cannot be drawn, as with a mistake in a formula: worth a word, not a crash.
        warnings.warn("a figure could not be drawn: %s" % error, RuntimeWarning, stacklevel=4)
        return
    path = put(data, ".png", replace=known.draft)
    known.draft, known.drafted = (path if draft else None), time.monotonic()
    known.changed = False


def open_figures():
    from matplotlib._pylab_helpers import Gcf

    return [manager.canvas.figure for _, manager in sorted(Gcf.figs.items())]


@swallow
def show_all(keep):
    """Captures all open figures and those drawn on since they were shown; closes them unless keep."""
    global last_shown
    import matplotlib.pyplot as plt

    for figure in [figure for figure in shown if seen(figure).changed]:
        capture(figure)
    for figure in open_figures():
        capture(figure)
        if not keep:
            shown.add(figure)
            last_shown = figure
            plt.close(figure)


@swallow
def refresh():
    for figure in open_figures():
        if time.monotonic() - seen(figure).drafted >= PAUSE:
            capture(figure, draft=True)


@swallow
def flush():
    """Captures what the program drew and neither showed, saved nor closed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for figure in open_figures():
            known = seen(figure)
            if known.changed and not (known.saved and known.draft is None) and used(figure):
                capture(figure)


def in_animation():
    """Says whether matplotlib itself saves this figure as a frame."""
    frame = sys._getframe(2)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module == "matplotlib.animation":
            return True
        if not module.startswith(("matplotlib", "contextlib", "_sandbox_")):
            return False
        frame = frame.f_back
    return False


@swallow
def saved(figure, target, format, position):
    """Stores what savefig has just written to a path or into a buffer."""
    known = seen(figure)
    known.saved = True
    path = None
    if isinstance(target, (str, os.PathLike)):
        path = copy(target, "." + format)
    elif isinstance(target, io.BytesIO) and format in RASTER:
        with target.getbuffer() as view:
            path = put(bytes(view[position:]), "." + format)
    elif format in RASTER and hasattr(target, "write") and isinstance(getattr(target, "name", None), str):
        target.flush()
        path = copy(target.name, "." + format)
    if path and format in RASTER:
        known.changed = False


def patch_matplotlib(module):
    def make(use):
        def use_without_window(backend, *args, **kwargs):
            return use(headless(backend), *args, **kwargs)

        return use_without_window

    wrap(module, "use", make)


def headless(backend):
    if isinstance(backend, str) and (backend.lower() in WINDOWED or backend.startswith("module://")):
        return "agg"
    return backend


def patch_backend_bases(module):
    def make(print_figure):
        def print_and_store(self, filename, *args, **kwargs):
            if state.busy or in_animation():
                return print_figure(self, filename, *args, **kwargs)
            known, position = seen(self.figure), 0
            changed = known.changed
            if isinstance(filename, io.BytesIO):
                position = filename.tell()
            with as_a_whole():
                result = print_figure(self, filename, *args, **kwargs)
            known.changed = changed  # To save a figure sets its dots and colours for a while.
            target, format = target_of(self, filename, args[4] if len(args) > 4 else kwargs.get("format"))
            saved(self.figure, target, format, position)
            return result

        return print_and_store

    wrap(module.FigureCanvasBase, "print_figure", make)


def target_of(canvas, filename, format):
    """Returns where print_figure has written, and in which format, by its own rules."""
    if isinstance(filename, (str, os.PathLike)):
        filename = os.fspath(filename)
        if not format:
            format = os.path.splitext(filename)[1][1:]
        if not format:
            format = canvas.get_default_filetype()
            filename = filename.rstrip(".") + "." + format
    return filename, (format or canvas.get_default_filetype()).lower()


def patch_figure(module):
    def make_show(show):
        def show_figure(self, *args, **kwargs):
            swallow(capture)(self)

        return show_figure

    def make_draw(draw):
        def draw_figure(self, *args, **kwargs):
            # To lay out and draw touches ticks and axes: that is not a change by the program.
            known = seen(self)
            changed = known.changed
            result = draw(self, *args, **kwargs)
            known.changed = changed
            return result

        return draw_figure

    wrap(module.Figure, "show", make_show)
    wrap(module.Figure, "draw", make_draw)


def patch_pyplot(module):
    wrap(module, "show", make_show)
    wrap(module, "savefig", make_savefig)
    wrap(module, "switch_backend", lambda switch: lambda newbackend: switch(headless(newbackend)))
    atexit.register(flush)
    os.register_at_fork(after_in_child=disown)


def make_show(original):
    def show(*args, **kwargs):
        import matplotlib

        caller = sys._getframe(1)
        if caller.f_globals.get("__name__") == "matplotlib.pyplot" and caller.f_code.co_name == "pause":
            return refresh()
        block = args[0] if args else kwargs.get("block")
        return show_all(keep=block is False or (block is None and matplotlib.is_interactive()))

    return show


def make_savefig(original):
    def savefig(*args, **kwargs):
        # After show the figure is closed, and savefig alone would save an empty one.
        if last_shown is not None and not open_figures():
            return last_shown.savefig(*args, **kwargs)
        return original(*args, **kwargs)

    return savefig


@swallow
def disown():
    """The figures that a forked child finds open are its parent's; its own it hands over at its end."""
    for figure in open_figures():
        seen(figure).changed = False
    multiprocessing = sys.modules.get("multiprocessing.util")
    if multiprocessing is not None:
        # These children leave without atexit, and forget earlier finalizers when they start.
        multiprocessing.register_after_fork(
            flush, lambda _: multiprocessing.Finalize(None, flush, exitpriority=100)
        )


def patch_animation(module):
    def make(save):
        def save_animation(self, filename, *args, **kwargs):
            with as_a_whole():
                result = save(self, filename, *args, **kwargs)
            # matplotlib itself saves into scratch files, to embed them in pages.
            if not in_animation() and copy(filename):
                known = seen(self._fig)
                known.changed, known.saved = False, True
            return result

        return save_animation

    wrap(module.Animation, "save", make)


PATCHES = {
    "matplotlib": patch_matplotlib,
    "matplotlib.animation": patch_animation,
    "matplotlib.backend_bases": patch_backend_bases,
    "matplotlib.figure": patch_figure,
    "matplotlib.pyplot": patch_pyplot,
}
