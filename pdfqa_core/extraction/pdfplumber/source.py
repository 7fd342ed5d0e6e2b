"""Opening a file with pdfplumber, and what its pages raise where they are damaged."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from pdfqa_core.errors import DocumentError
from pdfqa_core.types import DocumentState

_ODD_FAULTS = (  # what pdfminer is known to raise on damaged files besides its own errors
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


def faults() -> tuple[type[Exception], ...]:
    """Return what pdfplumber raises on damaged files."""
    from pdfminer.psexceptions import PSException
    from pdfplumber.utils.exceptions import MalformedPDFException, PdfminerException

    return (PSException, PdfminerException, MalformedPDFException, *_ODD_FAULTS)


def cause(error: Exception) -> object:
    """Return the error that pdfplumber wrapped, or the error itself. Raises MemoryError where it is one."""
    inner = error.args[0] if error.args and isinstance(error.args[0], Exception) else error
    if isinstance(inner, MemoryError):
        raise inner
    return inner


def source_pages(file: Any, password: str | None, name: str) -> Iterator[tuple[Any, Any]]:
    """Yield pdfplumber's document with each of pdfminer's pages. Raises a DocumentError if the file does not open.

    Ends where the page tree breaks off.

    pdfplumber's own list of pages is all or nothing: one page without a size would hide the others.
    """
    import pdfplumber
    from pdfminer.pdfdocument import PDFEncryptionError
    from pdfminer.pdfpage import PDFPage

    try:
        document = pdfplumber.open(file, password=password or None)
    except faults() as error:
        if isinstance(cause(error), PDFEncryptionError):
            raise DocumentError(
                DocumentState.ENCRYPTED,
                f"{name} is protected in a way that pdfplumber cannot open.",
                "Read it with the extractor direct.",
            ) from error
        raise DocumentError(
            DocumentState.BROKEN,
            f"{name} is damaged: pdfplumber cannot find its pages.",
            "Read it with the extractor direct, or print it to a new PDF in a PDF viewer.",
        ) from error
    pages = PDFPage.create_pages(document.doc)
    while True:
        try:
            page = next(pages)
        except StopIteration:
            return
        except faults() as error:
            cause(error)
            return
        yield document, page


def upright(box: Sequence[float]) -> tuple[float, float, float, float]:
    """Return a box of PDF user space with its lower left corner first, which pdfminer does not see to."""
    x0, y0, x1, y1 = map(float, box)
    return (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
