"""Captures bokeh plots as pages that load bokeh's scripts from their public address."""

from _sandbox_store import copy, put, wrap


def patch_saving(module):
    def make(original):
        def save(*args, **kwargs):
            path = original(*args, **kwargs)
            copy(path)
            return path

        return save

    wrap(module, "save", make)


def patch_showing(module):
    def make(original):
        def show(obj, *args, **kwargs):
            from bokeh.embed import file_html
            from bokeh.io.saving import save
            from bokeh.io.state import curstate
            from bokeh.resources import CDN

            if curstate().file:
                save(obj)
            else:
                put(file_html(obj, CDN, "Bokeh Plot").encode(), ".html")

        return show

    wrap(module, "show", make)


PATCHES = {"bokeh.io.saving": patch_saving, "bokeh.io.showing": patch_showing}
