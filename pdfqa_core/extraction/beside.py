"""What a file holds beside its pages: attached files, and forms that a viewer makes as it opens (XFA)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pypdfium2.raw as pdfium

from pdfqa_core.extraction.hidden.annotations import utf16

_MOST = 200  # attached files
_NAMED = 20
_FIRST_PAGES = 3  # in which fields of a form are looked for


def attached_names(document: Any) -> list[str]:
    """Return the names of the files attached to an open document (a raw FPDF_DOCUMENT)."""
    found = []
    for number in range(min(pdfium.FPDFDoc_GetAttachmentCount(document), _MOST)):
        attached = pdfium.FPDFDoc_GetAttachment(document, number)
        found.append(
            utf16(lambda *into, one=attached: pdfium.FPDFAttachment_GetName(one, *into)) or "one without a name"
        )
    return found


def told(names: Sequence[str]) -> str:
    """Return the sentences that say which attached files are not read."""
    listed = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    count = "A file is attached and is" if len(names) == 1 else f"{len(names)} files are attached and are"
    return f"{count} not read: {listed}. Save from a PDF viewer what is a PDF, and add it."


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
