"""What stands on a page as annotations: values and buttons of forms, text typed onto it, stamps, notes, strike-outs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pypdfium2.raw as pdfium

from pdfqa_core.extraction.raw_page import TextLine
from pdfqa_core.extraction.text.glyphs import PageFrame, Place
from pdfqa_core.types import BlockKind

_WORDED = frozenset({pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP})
_BUTTONS = frozenset({pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON})
_CHOICES = frozenset({pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX})
_HIDDEN = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
_PASSWORD = 1 << 13  # flag of a text field (PDF 32000-1, table 228)
_MOST = 5000  # annotations of a page that are looked at
_MOST_OPTIONS = 200  # of a list
_LONGEST = 4000  # characters of a value or a note
_TICKED, _EMPTY = "☑", "☐"
_BLACK = 0x000000FF


@dataclass(frozen=True, slots=True)
class FieldValue:
    """What a field of a form holds, or whether a button is ticked: its box in user space, and its colour (RGBA).

    A value is shown by its field already where words stand in its box; a `button` is not.
    """

    text: str
    box: Place
    color: int = _BLACK
    button: bool = False


@dataclass(slots=True)
class Annotations:
    """What the annotations of a page say beside its content: values, notes, boxes of struck-out words, files."""

    values: list[FieldValue] = field(default_factory=list)
    notes: list[tuple[str, Place]] = field(default_factory=list)
    struck: list[Place] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    words: bool = False  # some show words

    def note_lines(self, frame: PageFrame, region: int) -> list[TextLine]:
        """Return a line for each note, in regions of their own from `region` on."""
        found = []
        for number, (text, place) in enumerate(self.notes):
            x0, top, x1, bottom = frame.shown(place)
            size = min(10.0, max(1.0, bottom - top))
            line = TextLine(text, x0, x1, top, bottom, bottom, size, False, 1, 0.0, region=region + number)
            line.kind = BlockKind.FOOTNOTE
            found.append(line)
        return found


def with_annotations(document: Any, page: Any, number: int) -> tuple[Any, Annotations]:
    """Return page `number` (from 1) with what its annotations show drawn on it, and what they say beside.

    `document` and `page` are raw PDFium handles; `page` is closed if another one is returned. PDFium knows the
    characters of the page only, not those of its annotations; flattening, which changes the document in memory, makes
    them characters of the page. Annotations that are hidden, or show nothing, stay away, and so do buttons of forms,
    whose state is among what is said. The page is None if it cannot be loaded again.
    """
    said = _read(document, page)
    if not said.words:
        return page, said
    box = pdfium.FS_RECTF()
    pdfium.FPDF_GetPageBoundingBox(page, box)
    if pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY) != pdfium.FLATTEN_SUCCESS:
        return page, said
    # flattening replaces boxes that the page has inherited
    pdfium.FPDFPage_SetMediaBox(page, box.left, box.bottom, box.right, box.top)
    pdfium.FPDFPage_SetCropBox(page, box.left, box.bottom, box.right, box.top)
    pdfium.FPDF_ClosePage(page)
    return pdfium.FPDF_LoadPage(document, number - 1), said


def _read(document: Any, page: Any) -> Annotations:
    said = Annotations()
    form = None
    count = min(pdfium.FPDFPage_GetAnnotCount(page), _MOST)
    annotations = [pdfium.FPDFPage_GetAnnot(page, index) for index in range(count)]
    try:
        kinds = [pdfium.FPDFAnnot_GetSubtype(one) for one in annotations]
        # before PDFium makes what fields look like, in sizes of its own
        drawn = [
            kind in _WORDED and pdfium.FPDFAnnot_HasKey(one, b"AP")
            for one, kind in zip(annotations, kinds, strict=True)
        ]
        if pdfium.FPDF_ANNOT_WIDGET in kinds:
            info = pdfium.FPDF_FORMFILLINFO(version=2)  # which must live as long as the form
            form = pdfium.FPDFDOC_InitFormFillEnvironment(document, info)
            pdfium.FORM_OnAfterLoadPage(page, form)
        for one, kind, has_looks in zip(annotations, kinds, drawn, strict=True):
            if one and kind != pdfium.FPDF_ANNOT_LINK and not pdfium.FPDFAnnot_GetFlags(one) & _HIDDEN:
                _one(form, one, kind, said, drawn=bool(has_looks))
    finally:
        for one in annotations:
            pdfium.FPDFPage_CloseAnnot(one)
        if form:
            pdfium.FORM_OnBeforeClosePage(page, form)
            pdfium.FPDFDOC_ExitFormFillEnvironment(form)
    return said


def _one(form: Any, annotation: Any, kind: int, said: Annotations, *, drawn: bool) -> None:
    box = _box(annotation)
    value = _value(form, annotation, box) if kind == pdfium.FPDF_ANNOT_WIDGET and form else None
    if value is not None:
        said.values.append(value)
        if value.button:
            flags = pdfium.FPDFAnnot_GetFlags(annotation)
            pdfium.FPDFAnnot_SetFlags(annotation, flags | pdfium.FPDF_ANNOT_FLAG_HIDDEN)
            return
    said.words |= drawn
    contents = utf16(lambda *into: pdfium.FPDFAnnot_GetStringValue(annotation, b"Contents", *into))
    if kind == pdfium.FPDF_ANNOT_STRIKEOUT:
        said.struck += _quads(annotation) or [box]
    if kind == pdfium.FPDF_ANNOT_FILEATTACHMENT:
        attached = pdfium.FPDFAnnot_GetFileAttachment(annotation)
        name = utf16(lambda *into: pdfium.FPDFAttachment_GetName(attached, *into)) if attached else ""
        said.files.append(name or contents or "one without a name")
    elif kind == pdfium.FPDF_ANNOT_FREETEXT:
        said.values += [] if drawn or not contents else [FieldValue(contents, box)]
    elif contents and kind not in _WORDED and kind != pdfium.FPDF_ANNOT_POPUP:
        author = utf16(lambda *into: pdfium.FPDFAnnot_GetStringValue(annotation, b"T", *into))
        said.notes.append((f"[Note{' by ' + author if author else ''}: {' '.join(contents.split())}]", box))


def _value(form: Any, annotation: Any, box: Place) -> FieldValue | None:
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in _BUTTONS:
        state = utf16(lambda *into: pdfium.FPDFAnnot_GetStringValue(annotation, b"AS", *into))
        if not state and kind == pdfium.FPDF_FORMFIELD_CHECKBOX:
            state = utf16(lambda *into: pdfium.FPDFAnnot_GetFormFieldValue(form, annotation, *into))
        return FieldValue(_EMPTY if state in ("", "Off") else _TICKED, box, button=True)
    if kind != pdfium.FPDF_FORMFIELD_TEXTFIELD and kind not in _CHOICES:
        return None
    if kind == pdfium.FPDF_FORMFIELD_TEXTFIELD and pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        return None
    text = ", ".join(_chosen(form, annotation)) if kind in _CHOICES else ""
    text = text or utf16(lambda *into: pdfium.FPDFAnnot_GetFormFieldValue(form, annotation, *into))
    red, green, blue = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    colored = pdfium.FPDFAnnot_GetFontColor(form, annotation, red, green, blue)
    color = red.value << 24 | green.value << 16 | blue.value << 8 | 0xFF if colored else _BLACK
    return FieldValue(text, box, color) if text.strip() else None


def _chosen(form: Any, annotation: Any) -> list[str]:
    """Return the labels of the options of a list that are chosen."""
    count = min(pdfium.FPDFAnnot_GetOptionCount(form, annotation), _MOST_OPTIONS)
    return [
        utf16(lambda *into, n=number: pdfium.FPDFAnnot_GetOptionLabel(form, annotation, n, *into))
        for number in range(count)
        if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, number)
    ]


def _box(annotation: Any) -> Place:
    rect = pdfium.FS_RECTF()
    pdfium.FPDFAnnot_GetRect(annotation, rect)
    return (
        min(rect.left, rect.right),
        min(rect.bottom, rect.top),
        max(rect.left, rect.right),
        max(rect.bottom, rect.top),
    )


def _quads(annotation: Any) -> list[Place]:
    """Return the boxes of the words that a markup annotation lies on."""
    found = []
    quad = pdfium.FS_QUADPOINTSF()
    for number in range(min(pdfium.FPDFAnnot_CountAttachmentPoints(annotation), _MOST_OPTIONS)):
        if pdfium.FPDFAnnot_GetAttachmentPoints(annotation, number, quad):
            x, y = (quad.x1, quad.x2, quad.x3, quad.x4), (quad.y1, quad.y2, quad.y3, quad.y4)
            found.append((min(x), min(y), max(x), max(y)))
    return found


def utf16(call: Callable[..., int]) -> str:
    """Return what a function of PDFium writes into a buffer as UTF-16, its line breaks kept."""
    length = call(None, 0)
    if not 2 < length <= 2 * _LONGEST:
        return ""
    buffer = ctypes.create_string_buffer(length)
    call(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), length)
    text = buffer.raw[: length - 2].decode("utf-16-le", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c for c in text if c.isprintable() or c == "\n").strip()
