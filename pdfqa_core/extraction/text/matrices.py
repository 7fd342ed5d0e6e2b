"""Matrices of PDF: (a, b, c, d, e, f) takes (x, y) to (ax + cy + e, bx + dy + f) (PDF 32000-1, 8.3.3)."""

from __future__ import annotations

from typing import Any

import pypdfium2.raw as pdfium

Matrix = tuple[float, float, float, float, float, float]
IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def matrix_of(item: Any) -> Matrix:
    """Return the matrix of a page object (a PDFium handle), the identity where it has none."""
    found = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(item, found):
        return IDENTITY
    return (found.a, found.b, found.c, found.d, found.e, found.f)


def times(first: Matrix, then: Matrix) -> Matrix:
    """Return the matrix that applies `first`, then `then` (PDF 32000-1, 8.3.4)."""
    a, b, c, d, e, f = first
    g, h, i, j, k, m = then
    return (a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m)
