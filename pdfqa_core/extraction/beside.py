"""What a file holds beside its pages: attached files, and forms that a viewer makes as it opens (XFA)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import pypdfium2.raw as pdfium

from pdfqa_core.extraction.hidden.annotations import utf16
from pdfqa_core.extraction.open import HEADER_WITHIN

_MOST = 200  # attached files
_NAMED = 20
_FIRST_PAGES = 3  # in which fields of a form are looked for
_PDF = ".pdf"
PDFS_ATTACHED = "The PDFs among them can be added as documents."


def _attached(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and handle of each file that is attached to an open document (a raw FPDF_DOCUMENT)."""
    for number in range(min(pdfium.FPDFDoc_GetAttachmentCount(document), _MOST)):
        yield _named(pdfium.FPDFDoc_GetAttachment(document, number))


def _attached_to_pages(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and handle of each file that is attached to a page of an open document."""
    left = _MOST
    for number in range(pdfium.FPDF_GetPageCount(document)):
        page = pdfium.FPDF_LoadPage(document, number)
        for index in range(pdfium.FPDFPage_GetAnnotCount(page) if page else 0):
            annotation = pdfium.FPDFPage_GetAnnot(page, index)
            attached = pdfium.FPDFAnnot_GetFileAttachment(annotation)
            if attached and left:
                left -= 1
                yield _named(attached)
            pdfium.FPDFPage_CloseAnnot(annotation)
        pdfium.FPDF_ClosePage(page)


def _named(attached: Any) -> tuple[str, Any]:
    return utf16(lambda *into: pdfium.FPDFAttachment_GetName(attached, *into)) or "one without a name", attached


def attached_names(document: Any) -> list[str]:
    """Return the names of the files attached to an open document (a raw FPDF_DOCUMENT)."""
    return [name for name, _ in _attached(document)]


def attached_pdfs(document: Any, most: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the PDFs attached to an open document and its pages, those of at most `most` bytes."""
    for name, attached in (*_attached(document), *_attached_to_pages(document)):
        size = ctypes.c_ulong()
        if not pdfium.FPDFAttachment_GetFile(attached, None, 0, size) or not 0 < size.value <= most:
            continue
        content = ctypes.create_string_buffer(size.value)
        if pdfium.FPDFAttachment_GetFile(attached, content, size.value, size) and b"%PDF" in content[:HEADER_WITHIN]:
            yield name, content.raw


def told(names: Sequence[str]) -> str:
    """Return the sentences that say which attached files are not read."""
    listed = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    count = "A file is attached and is" if len(names) == 1 else f"{len(names)} files are attached and are"
    pdfs = any(name.lower().endswith(_PDF) for name in names)
    return f"{count} not read: {listed}.{' ' + PDFS_ATTACHED if pdfs else ''}"


def is_xfa(document: Any) -> bool:
    """Return whether an open document is a form whose pages a viewer makes: it has XFA, and no fields on its pages."""
    kind = pdfium.FPDF_GetFormType(document)
    if kind not in (pdfium.FORMTYPE_XFA_FULL, pdfium.FORMTYPE_XFA_FOREGROUND):
        return False
    return not any(
        _has_fields(document, number) for number in range(min(_FIRST_PAGES, pdfium.FPDF_GetPageCount(document)))
    )


def _has_fields(document: Any, number: int) -> bool:
    page = pdfium.FPDF_LoadPage(document, number)
    if not page:
        return False
    try:
        return bool(pdfium.FPDFPage_GetAnnotCount(page) > 0)
    finally:
        pdfium.FPDF_ClosePage(page)
