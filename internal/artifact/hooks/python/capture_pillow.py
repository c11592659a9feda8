"""Captures pictures that Pillow shows or saves."""

import io

from _sandbox_store import as_a_whole, put, swallow, wrap, wrap_save


def patch_image(module):
    wrap_save(module.Image, "save", 1, "fp")


@swallow
def store(image):
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
        image = image.convert("RGB")
    data = io.BytesIO()
    with as_a_whole():
        image.save(data, "PNG")
    put(data.getvalue(), ".png")


def patch_show(module):
    def make(show):
        def show_image(image, title=None, **options):
            store(image)
            return True

        return show_image

    wrap(module, "show", make)


PATCHES = {"PIL.Image": patch_image, "PIL.ImageShow": patch_show}
