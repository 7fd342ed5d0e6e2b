"""The child process that reads one PDF: `python -m pdfqa_core.extraction.process.worker_child`, started by `worker`.

Standard input: one JSON frame with the job. Standard output: JSON frames with progress ("done" of "total" pages, "ocr"
of them read by OCR), a PAGE frame per page, and a last JSON frame with either "title" and "authors" or "state", "what"
and "hint".
"""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path
from typing import IO, Any

from pdfqa_core.errors import DocumentError, PdfQAError
from pdfqa_core.extraction.base import ExtractionOptions, extractors
from pdfqa_core.extraction.open import open_document
from pdfqa_core.extraction.process.children import PAGE, quiet_output, read_frame, write_error, write_frame, write_json
from pdfqa_core.extraction.process.limits import (
    EXIT_MEMORY,
    EXIT_SLOW,
    SIGXCPU,
    limit_cpu,
    limit_memory,
    near_limit,
    peak_memory,
)
from pdfqa_core.extraction.process.worker import CrashedError
from pdfqa_core.json_codec import encode_page
from pdfqa_core.types import DocumentState

_PROGRESS_EVERY = 0.1  # seconds


def _metadata(path: Path, password: str | None, name: str) -> tuple[str, str]:
    with open_document(path, password, name) as document:
        return str(document.get_metadata_value("Title") or ""), str(document.get_metadata_value("Author") or "")


def _read(job: dict[str, Any], out: IO[bytes]) -> None:
    from pdfqa_core.extraction.layout.outline import choose_authors, choose_title

    path, name, password = Path(job["path"]), job["options"]["filename"], job["password"]

    told = -1.0

    def on_page(done: int, total: int, by_ocr: int) -> None:
        nonlocal told
        if done in (1, total) or time.monotonic() > told + _PROGRESS_EVERY:
            told = time.monotonic()
            write_json(out, done=done, total=total, ocr=by_ocr)

    options = ExtractionOptions(**job["options"] | {"on_page": on_page})
    importlib.import_module(job["module"])  # registers the extractor
    extractor = extractors.get(job["extractor"])(options, **job["parameters"])
    pages = tuple(extractor.extract(path, job["document_id"], password=password))
    for page in pages:
        write_frame(out, PAGE, encode_page(page))
    title, author = _metadata(path, password, name)
    write_json(out, title=choose_title(title, pages, Path(name).stem), authors=choose_authors(author))


def main() -> int:
    """Read the job, do it within its limits, report; the exit status is 0 when a last frame was written."""
    out = quiet_output()
    frame = read_frame(sys.stdin.buffer)
    if frame is None:
        return 2
    job = frame.json()
    import numpy as np  # noqa: F401 - loaded before the limits count
    import pypdfium2  # noqa: F401

    memory_mb = job["options"]["memory_mb"]
    limit_memory(memory_mb)
    limit_cpu(job["seconds"] + 1)
    try:
        _read(job, out)
    except PdfQAError as error:
        write_error(out, error)
    except MemoryError:
        return EXIT_MEMORY
    except (RecursionError, ArithmeticError, LookupError, ValueError, TypeError, RuntimeError, OSError) as error:
        if isinstance(error, CrashedError) and error.status == -SIGXCPU:
            return EXIT_SLOW
        if near_limit(peak_memory(), memory_mb):
            return EXIT_MEMORY
        write_error(out, DocumentError(DocumentState.BROKEN, "", type(error).__name__))
    return 0


if __name__ == "__main__":
    sys.exit(main())
