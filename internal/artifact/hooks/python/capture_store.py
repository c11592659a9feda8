"""Writes what was captured into the artifact directory: whole files only, in order, within bounds."""

import atexit
import contextlib
import functools
import io
import os
import stat
import sys
import threading
import time

DIRECTORY = os.environ.get("SANDBOX_ARTIFACTS", "")
ENDINGS = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".svg", ".pdf", ".html", ".htm"}

# One process captures this much and then stops: a loop that draws forever must not fill the disk.
MAX_FILES = 200
MAX_BYTES = 64 << 20

# A few files that the program deletes again are still worth showing. More than that are the frames of
# an animation, or other scraps, and go with the originals.
MAX_DELETED = 3


class State(threading.local):
    """What this thread is doing."""

    busy = False  # inside a call that is captured as a whole


state = State()
lock = threading.Lock()
written = 0  # bytes
number = 0  # files
copies = []  # (the program's file, our copy of it)


@contextlib.contextmanager
def as_a_whole():
    """What libraries draw or save inside is part of one thing, and not captured by itself."""
    before, state.busy = state.busy, True
    try:
        yield
    finally:
        state.busy = before


def swallow(function):
    """Makes a function that never fails, for use inside calls of the program."""

    @functools.wraps(function)
    def safe(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception:
            if os.environ.get("SANDBOX_DEBUG"):
                sys.excepthook(*sys.exc_info())
            return None

    return safe


def wrap(owner, name, make):
    """Replaces owner.name by make(original), which keeps the name, the text and the signature."""
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(make(original)))


def wrap_save(owner, name, argument, keyword):
    """Copies the file that owner.name writes to the path in the given argument."""

    def make(original):
        def save(*args, **kwargs):
            if state.busy:
                return original(*args, **kwargs)
            with as_a_whole():
                result = original(*args, **kwargs)
            copy(args[argument] if len(args) > argument else kwargs.get(keyword))
            return result

        return save

    wrap(owner, name, make)


@swallow
def put(data, ending, name="", replace=None):
    """Stores data and returns the path, or None. A replaced file keeps its place in the order."""
    global number, written
    with lock:
        if replace is None:
            if number >= MAX_FILES or written + len(data) > MAX_BYTES or not os.path.isdir(DIRECTORY):
                return None
            number += 1
            written += len(data)
            stem = "%020d-%d-%d" % (time.time_ns(), os.getpid(), number)
            replace = os.path.join(DIRECTORY, stem + ("-" + shorten(name) if name else "") + ending)
        partial = os.path.join(DIRECTORY, ".%d.partial" % os.getpid())
        try:
            with io.open(partial, "wb") as file:
                file.write(data)
            os.rename(partial, replace)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(partial)
            raise
        return replace


def shorten(name):
    """Cuts a name so that a file name with our prefix holds it."""
    return os.fsencode(name)[:100].decode("utf-8", "ignore").replace("/", "_")


@swallow
def copy(source, ending=None):
    """Stores a copy of a file of the program, if it is a kind that is handed over."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    source = os.path.abspath(os.fspath(source))
    stem, own = os.path.splitext(os.path.basename(source))
    ending = ending or own
    about = os.stat(source)
    if ending.lower() not in ENDINGS or not stat.S_ISREG(about.st_mode):
        return None
    if not 0 < about.st_size <= MAX_BYTES:
        return None
    with io.open(source, "rb") as file:
        target = put(file.read(MAX_BYTES), ending, stem)
    if target:
        copies.append((source, target))
    return target


@swallow
def drop_deleted():
    gone = [target for source, target in copies if not os.path.exists(source)]
    if len(gone) > MAX_DELETED:
        for target in gone:
            with contextlib.suppress(OSError):
                os.unlink(target)


def after_fork():
    """A child answers only for its own files."""
    global lock
    lock = threading.Lock()
    copies.clear()


atexit.register(drop_deleted)
os.register_at_fork(after_in_child=after_fork)
