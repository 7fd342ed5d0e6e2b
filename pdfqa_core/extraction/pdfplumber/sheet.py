"""Where pdfplumber's characters stand on the page as it is shown, and which of them nobody sees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pdfqa_core.extraction.pdfplumber.thresholds import PdfplumberThresholds
from pdfqa_core.extraction.raw_page import to_text_frame
from pdfqa_core.types import Box


@dataclass(slots=True)
class Sheet:
    """The shown part of a page: size in points, where pdfplumber's origin lies on it, and what is hidden there.

    `hidden` holds where glyphs are that nobody sees, by turn (even or odd) and baseline in whole points: the baseline
    and the middle of the glyph along it. `reasons` says in words why they are hidden.
    """

    width: float
    height: float
    left: float
    top: float
    hidden: dict[tuple[int, int], list[tuple[float, float]]] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, page: Any, shown: Any, number: int) -> Sheet:
        """Return the sheet of pdfplumber's `page`, as PDFium shows it; the whole page where PDFium cannot."""
        import numpy as np
        import pypdfium2.raw as pdfium

        from pdfqa_core.extraction.text.glyphs import page_frame

        left, top = -float(page.bbox[0]), -float(page.bbox[1])
        handle = pdfium.FPDF_LoadPage(shown, number - 1)
        if not handle:
            return cls(float(page.width), float(page.height), left, top)
        try:
            frame = page_frame(handle)
            x0, y0, x1, y1 = map(float, page.page_obj.mediabox)
            x, y = frame.map(np.array([x0, x1]), np.array([y0, y1]))
            sheet = cls(frame.width, frame.height, left + float(x.min()), top + float(y.min()))
            sheet._find_hidden(handle)
        finally:
            pdfium.FPDF_ClosePage(handle)
        return sheet

    def _find_hidden(self, handle: Any) -> None:
        import numpy as np

        from pdfqa_core.extraction.hidden.find_hidden import read_characters

        found = read_characters(handle, replaced=False)
        if found is None:
            return
        glyphs, _, flags, self.reasons = found
        for i in np.flatnonzero(flags):
            x0, top, x1, bottom = glyphs.boxes[i].tolist()
            odd = int(glyphs.turn[i]) % 2
            baseline = float(glyphs.x[i] if odd else glyphs.y[i])
            middle = (top + bottom) / 2 if odd else (x0 + x1) / 2
            self.hidden.setdefault((odd, round(baseline)), []).append((baseline, middle))

    def hides(self, box: Box, turn: int, baseline: float, same_place: float) -> bool:
        """Return whether a character (its box, turn in quarters, baseline) is one of the hidden glyphs."""
        if not self.hidden:
            return False
        begin, end = (box.top, box.bottom) if turn % 2 else (box.x0, box.x1)
        return any(
            abs(place - baseline) < same_place and begin <= middle <= end
            for step in (-1, 0, 1)
            for place, middle in self.hidden.get((turn % 2, round(baseline) + step), ())
        )


@dataclass(slots=True)
class MeasuredChar:
    """One of pdfplumber's characters (`raw`), and what that does not say.

    `box` is its rectangle on the shown page; `u0`, `u1` and `v` are its ends and its baseline in the frame of its text,
    which is turned by `turn` quarters; `size` is its font size.
    """

    raw: dict[str, Any]
    turn: int
    size: float
    box: Box
    u0: float
    u1: float
    v: float
    hidden: bool

    @property
    def blank(self) -> bool:
        """Whether it is white space."""
        return not self.raw["text"].strip()


def measure(raw: dict[str, Any], page: Any, sheet: Sheet, thresholds: PdfplumberThresholds) -> MeasuredChar:
    """Return where a character of pdfplumber's `page` stands."""
    a, b, c, d, e, f = raw["matrix"]
    level = abs(a) >= abs(b)
    turn = (0 if a >= 0 else 2) if level else (1 if b < 0 else 3)
    # The box of a character is as high as its font and as wide as its advance, turned by the matrix.
    reach, share = (raw["height"], abs(b)) if level else (raw["width"], abs(a))
    unit = abs(d) if level else abs(c)
    size = (reach - abs(raw["adv"]) * share) / unit * abs(a * d - b * c) ** 0.5 if unit else reach
    box = Box(raw["x0"] + sheet.left, raw["top"] + sheet.top, raw["x1"] + sheet.left, raw["bottom"] + sheet.top)
    x = e + float(page.bbox[0]) + sheet.left
    y = float(page.bbox[3]) - f + sheet.top
    middle_x, middle_y = (box.x0 + box.x1) / 2, (box.top + box.bottom) / 2
    hidden = not (0 <= middle_x <= sheet.width and 0 <= middle_y <= sheet.height)
    hidden = hidden or size < thresholds.tiny or sheet.hides(box, turn, y if level else x, thresholds.same_place)
    u0, u1, v = to_text_frame(box, x, y, turn, sheet.width, sheet.height)
    return MeasuredChar(raw, turn, max(size, 0.0), box, u0, u1, v, hidden)
