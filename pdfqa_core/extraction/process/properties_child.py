"""The child process that reads what a PDF says of itself, started by `properties`.

Standard input: one JSON frame with the job. Standard output: one JSON frame with "title", "author", "created",
"first_page" and "outline" (rows of level, title, page), or with "what", "hint" and "state". Where the job names a
folder, the PDFs attached to the file are written there as 0.pdf, 1.pdf, …, and the frame has their "names".
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pdfqa_core.errors import PdfQAError
from pdfqa_core.extraction.beside import attached_pdfs
from pdfqa_core.extraction.layout.outline import read_outline
from pdfqa_core.extraction.open import open_document
from pdfqa_core.extraction.process.children import quiet_output, read_frame, write_error, write_json
from pdfqa_core.extraction.process.limits import RENDER_MB, limit_cpu, limit_memory


def _first_page(document: Any) -> str:
    import pypdfium2

    try:
        page = document[0]
        return str(page.get_textpage().get_text_bounded())
    except (pypdfium2.PdfiumError, IndexError):  # the file has no page, or a damaged one
        return ""


def _properties(document: Any) -> dict[str, Any]:
    title, author, created = (
        str(document.get_metadata_value(name) or "") for name in ("Title", "Author", "CreationDate")
    )
    outline = [(entry.level, entry.title, entry.page) for entry in read_outline(document.raw)]
    return {
        "title": title,
        "author": author,
        "created": created,
        "first_page": _first_page(document),
        "outline": outline,
    }


def _attached(document: Any, folder: Path, most: int) -> dict[str, Any]:
    names: list[str] = []
    for name, content in attached_pdfs(document.raw, most):
        most -= len(content)
        if most >= 0:
            (folder / f"{len(names)}.pdf").write_bytes(content)
            names.append(name)
    return {"names": names}


def main() -> int:
    """Answer the one request; the exit status is 0 when an answer was written."""
    out = quiet_output()
    frame = read_frame(sys.stdin.buffer)
    if frame is None:
        return 2
    job = frame.json()
    import pypdfium2  # noqa: F401 - loaded before the limits count

    limit_memory(RENDER_MB)
    limit_cpu(job["seconds"])
    try:
        with open_document(Path(job["path"]), job["password"], job["filename"]) as document:
            folder = job.get("folder")
            found = _attached(document, Path(folder), job["most"]) if folder else _properties(document)
            write_json(out, **found)
    except PdfQAError as error:
        write_error(out, error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
