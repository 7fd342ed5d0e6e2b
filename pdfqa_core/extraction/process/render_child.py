"""The child process that draws pages: `python -m pdfqa_core.extraction.process.render_child`, started by `render`.

Each JSON frame on standard input asks for a page; the answer is a BYTES frame (an image) or a JSON frame with
"what" and "hint", and "state" where the file cannot be opened. The last document stays open, since pages are mostly
asked for one after the other. A job may have marks, boxes in points that are drawn over the page like a felt pen, and
a format, that of the image.
"""

from __future__ import annotations

import io
import math
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from pdfqa_core.errors import PdfQAError
from pdfqa_core.extraction.open import open_document
from pdfqa_core.extraction.process.children import BYTES, Frame, quiet_output, read_frame, write_error, write_frame
from pdfqa_core.extraction.process.limits import EXIT_MEMORY, RENDER_MB, limit_memory

_MAX_SIDE = 4000  # pixels
_MAX_PIXELS = 12_000_000
_QUALITY = 80
_MARK = (255, 200, 110)


class _Documents:
    """The document that was asked for last."""

    def __init__(self) -> None:
        self._key: tuple[Any, ...] = ()
        self._opened = ExitStack()

    def get(self, path: Path, password: str | None, name: str) -> Any:
        status = path.stat()
        key = (path, status.st_mtime_ns, status.st_size, password)
        if key != self._key:
            self.close()
            self._document = self._opened.enter_context(open_document(path, password, name))
            self._key = key
        return self._document

    def close(self) -> None:
        self._key = ()
        self._opened.close()


def _draw(documents: _Documents, job: dict[str, Any]) -> bytes:
    import pypdfium2

    name, number = job["filename"], job["number"]
    document = documents.get(Path(job["path"]), job["password"], name)
    if not 1 <= number <= len(document):
        raise PdfQAError(f"{name} has no page {number}.", f"Choose one from 1 to {len(document)}.")
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError as error:
        raise PdfQAError(f"Page {number} of {name} is damaged.", "Its text may still be found.") from error
    try:
        width, height = max(1.0, page.get_width()), max(1.0, page.get_height())
        wanted = job["scale"] or (job["width_px"] - 0.01) / width
        most = min(_MAX_SIDE / max(width, height), math.sqrt(_MAX_PIXELS / (width * height)))
        image = page.render(scale=min(wanted, most), rev_byteorder=True).to_pil().convert("RGB")
    finally:
        page.close()
    image = _marked(image, job["marks"], image.width / width)
    buffer = io.BytesIO()
    options = {"method": 0} if job["format"] == "WEBP" else {"optimize": True}
    image.save(buffer, job["format"], quality=_QUALITY, **options)
    return buffer.getvalue()


def _marked(image: Any, marks: list[list[float]], scale: float) -> Any:
    """Return the image with the boxes (left, top, right, bottom in points) coloured; what is printed stays dark."""
    from PIL import Image, ImageChops, ImageDraw

    if not marks:
        return image
    pen = Image.new("RGB", image.size, "white")
    draw = ImageDraw.Draw(pen)
    for left, top, right, bottom in marks:
        place = [left * scale - 1, top * scale - 1, max(left, right) * scale + 1, max(top, bottom) * scale + 1]
        draw.rounded_rectangle(place, radius=2, fill=_MARK)
    return ImageChops.multiply(image, pen)


def _answer(frame: Frame, documents: _Documents, out: IO[bytes]) -> None:
    job = frame.json()
    try:
        write_frame(out, BYTES, _draw(documents, job))
    except PdfQAError as error:
        write_error(out, error)
    except (RuntimeError, OSError, ValueError, RecursionError) as error:
        documents.close()
        what = f"Page {job['number']} of {job['filename']} cannot be drawn ({type(error).__name__})."
        write_error(out, PdfQAError(what, "Its text can still be read."))


def main() -> int:
    """Answer requests until standard input ends."""
    out = quiet_output()
    import numpy as np  # noqa: F401 - loaded before the limit counts
    import pypdfium2  # noqa: F401
    from PIL import Image  # noqa: F401

    limit_memory(RENDER_MB)
    documents = _Documents()
    while (frame := read_frame(sys.stdin.buffer)) is not None:
        try:
            _answer(frame, documents, out)
        except MemoryError:
            return EXIT_MEMORY
    return 0


if __name__ == "__main__":
    sys.exit(main())
