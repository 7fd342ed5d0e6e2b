"""Opening a PDF through PDFium, with every way it can fail named in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pdfqa_core.errors import DocumentError
from pdfqa_core.types import DocumentState

HEADER_WITHIN = 1024  # bytes; PDF 32000-1, annex H, note 13


def check_file(path: Path, name: str, max_bytes: int) -> None:
    """Raise a DocumentError that calls the file `name` if it is empty, larger than `max_bytes` or not a PDF."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(HEADER_WITHIN)
    except OSError as error:
        raise DocumentError(
            DocumentState.BROKEN, f"{name} cannot be opened ({error.strerror}).", "Add the file again."
        ) from error
    if size == 0:
        raise DocumentError(DocumentState.BROKEN, f"{name} is empty (0 bytes).", "Save or download it again.")
    if size > max_bytes:
        raise DocumentError(
            DocumentState.TOO_LARGE,
            f"{name} has {size / 1e6:.1f} MB; the limit is {max_bytes / 1e6:g} MB.",
            "Split it, or raise max_file_mb in the settings.",
        )
    if b"%PDF" not in start:
        raise DocumentError(
            DocumentState.BROKEN, f"{name} is not a PDF.", "Print or export it as a PDF and add that file."
        )


@contextmanager
def open_document(path: Path, password: str | None, name: str) -> Iterator[Any]:
    """Open `path`, called `name`, as a pypdfium2 document. Raises a DocumentError: ENCRYPTED or BROKEN."""
    import pypdfium2
    import pypdfium2.raw as pdfium

    try:
        document = pypdfium2.PdfDocument(path, password=password or None)
    except (pypdfium2.PdfiumError, FileNotFoundError, ValueError) as error:
        code = getattr(error, "err_code", None)
        raise _opening_error(name, code, bool(password), pdfium) from error
    try:
        yield document
    finally:
        document.close()


def _opening_error(name: str, code: int | None, password_given: bool, pdfium: Any) -> DocumentError:
    if code == pdfium.FPDF_ERR_PASSWORD and password_given:
        return DocumentError(
            DocumentState.ENCRYPTED, f"The password does not open {name}.", "Check it and enter it again."
        )
    if code == pdfium.FPDF_ERR_PASSWORD:
        return DocumentError(DocumentState.ENCRYPTED, f"{name} is protected by a password.", "Enter its password.")
    if code == pdfium.FPDF_ERR_SECURITY:
        return DocumentError(
            DocumentState.ENCRYPTED,
            f"{name} is protected in a way that cannot be opened here.",
            "Save a copy without protection and add that.",
        )
    return DocumentError(
        DocumentState.BROKEN,
        f"{name} is damaged: its pages cannot be found.",
        "Download it again, or open it in a PDF viewer and print it to a new PDF.",
    )
