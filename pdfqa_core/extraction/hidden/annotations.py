"""Words that stand on a page as annotations: values of form fields, text typed onto it, stamps."""

from __future__ import annotations

from typing import Any

import pypdfium2.raw as pdfium

_WORDED = frozenset({pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP})
_MOST = 5000  # annotations of a page that are looked at


def with_annotations(document: Any, page: Any, number: int) -> Any:
    """Return page `number` (from 1) with what its annotations show drawn on it; `page` is closed if it is another one.

    `document` and `page` are raw PDFium handles. PDFium knows the characters of the page only, not those of its
    annotations; flattening, which changes the document in memory, makes them characters of the page. Annotations
    that are hidden, or show nothing, stay away. Returns None if the page cannot be loaded again.
    """
    if not _has_words(page):
        return page
    box = pdfium.FS_RECTF()
    pdfium.FPDF_GetPageBoundingBox(page, box)
    if pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY) != pdfium.FLATTEN_SUCCESS:
        return page
    # flattening replaces boxes that the page has inherited
    pdfium.FPDFPage_SetMediaBox(page, box.left, box.bottom, box.right, box.top)
    pdfium.FPDFPage_SetCropBox(page, box.left, box.bottom, box.right, box.top)
    pdfium.FPDF_ClosePage(page)
    return pdfium.FPDF_LoadPage(document, number - 1)


def _has_words(page: Any) -> bool:
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MOST)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            if pdfium.FPDFAnnot_GetSubtype(annotation) in _WORDED and pdfium.FPDFAnnot_HasKey(annotation, b"AP"):
                return True
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)
    return False
