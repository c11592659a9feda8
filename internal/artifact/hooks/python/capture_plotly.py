"""Captures plotly figures as pages that load plotly.js from its public address, which keeps them small."""

from _sandbox_store import put, wrap, wrap_save


def patch_renderers(module):
    def make(original):
        def show(fig, renderer=None, validate=True, **kwargs):
            from plotly.io import to_html

            page = to_html(fig, config=kwargs.get("config"), include_plotlyjs="cdn", validate=validate)
            put(page.encode(), ".html")

        return show

    wrap(module, "show", make)


PATCHES = {
    "plotly.io._html": lambda module: wrap_save(module, "write_html", 1, "file"),
    "plotly.io._kaleido": lambda module: wrap_save(module, "write_image", 1, "file"),
    "plotly.io._renderers": patch_renderers,
}
