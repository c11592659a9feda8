"""Captures pictures that OpenCV shows or saves. There is no window, and no key is ever pressed."""

from _sandbox_store import put, swallow, wrap, wrap_save

WINDOW_CALLS = ("namedWindow", "destroyWindow", "destroyAllWindows", "moveWindow", "resizeWindow")


def patch_cv2(module):
    @swallow
    def store(picture):
        done, data = module.imencode(".png", picture)
        if done:
            put(data.tobytes(), ".png")

    wrap_save(module, "imwrite", 0, "filename")
    wrap(module, "imshow", lambda original: lambda winname, mat: store(mat))
    for name in WINDOW_CALLS:
        wrap(module, name, lambda original: lambda *args, **kwargs: None)
    for name in ("waitKey", "waitKeyEx"):
        wrap(module, name, lambda original: lambda delay=0: -1)


PATCHES = {"cv2": patch_cv2}
