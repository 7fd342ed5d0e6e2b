"""A page's picture to lines of text: turned upright, made level, each line cut out, recognised and measured.

Works in pixels. Knows nothing about PDFs.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium

from pdfqa_core.extraction.visual.engine import Picture, PictureModels, Quads, Recognised, Region
from pdfqa_core.types import Box

# ----------------------------------------------------------------------------------------------------
# Pages as pictures, and how much of a page pictures cover.

DPI = 300
_MAX_PIXELS = 12_000_000
_MAX_SIDE = 8000
_MIN_SIDE = 16
_MAX_OBJECTS = 20_000
_MAX_DEPTH = 3


def draw(page: Any, dpi: int = DPI) -> tuple[Picture, float]:
    """Return a pypdfium2 page in shades of grey, as it is shown, and the pixels per point.

    Very large pages come out coarser than `dpi`.
    """
    width, height = max(1.0, page.get_width()), max(1.0, page.get_height())
    scale = min(dpi / 72, _MAX_SIDE / max(width, height), math.sqrt(_MAX_PIXELS / (width * height)))
    scale = max(scale, _MIN_SIDE / max(width, height))
    bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=True)
    try:
        picture = np.array(bitmap.to_numpy(), dtype=np.uint8)
    finally:
        bitmap.close()
    return (picture[:, :, 0] if picture.ndim == 3 else picture), scale


def pictured_share(page: Any) -> float:
    """Return how much of a page (a raw FPDF_PAGE) pictures cover, 0..1; those that overlap count twice, up to 1."""
    box = pdfium.FS_RECTF()
    pdfium.FPDF_GetPageBoundingBox(page, box)
    area = abs((box.right - box.left) * (box.top - box.bottom))
    covered = 0.0
    for i in range(min(max(0, pdfium.FPDFPage_CountObjects(page)), _MAX_OBJECTS)):
        item = pdfium.FPDFPage_GetObject(page, i)
        if not _holds_picture(item, 0):
            continue
        edges = [ctypes.c_float() for _ in range(4)]
        if pdfium.FPDFPageObj_GetBounds(item, *edges):
            left, bottom, right, top = (edge.value for edge in edges)
            wide = min(right, max(box.left, box.right)) - max(left, min(box.left, box.right))
            high = min(top, max(box.top, box.bottom)) - max(bottom, min(box.top, box.bottom))
            covered += max(0.0, wide) * max(0.0, high)
    return min(1.0, covered / area) if area else 0.0


def drawn_objects(page: Any) -> int:
    """Return how many objects a page (a raw FPDF_PAGE) is drawn with."""
    return max(0, int(pdfium.FPDFPage_CountObjects(page)))


def _holds_picture(item: Any, depth: int) -> bool:
    kind = pdfium.FPDFPageObj_GetType(item)
    if kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
        count = min(max(0, pdfium.FPDFFormObj_CountObjects(item)), _MAX_OBJECTS)
        return any(_holds_picture(pdfium.FPDFFormObj_GetObject(item, i), depth + 1) for i in range(count))
    return bool(kind == pdfium.FPDF_PAGEOBJ_IMAGE)


# ----------------------------------------------------------------------------------------------------
# A page's picture to lines of text: turned upright, made level, each line cut out, recognised and measured.

_TALL = 1.5  # height over width from which a stretch may be turned by a quarter
_SLENDER = 3.0  # from which it must be
_SAMPLE = 5  # lines looked at to tell which way up a page is
_SURE = 0.9  # mean confidence of the sample above which the page is the right way up
_BETTER = 0.08  # by which the other way has to be surer
_LEVEL = 0.2  # degrees: less is level
_SLOPES = 4  # wide stretches that it takes to tell how a page lies
_STEEPEST = 12.0  # degrees that a scan may lie askew
_INK = 0.45  # of the fullest rows of a line: what the rows between the baseline and the top of an x have
_LETTER = 1.6  # letters in a stretch as wide as it is high
BOX_SIZE = 0.72  # font size over the height of a stretch, where its ink does not tell
X_HEIGHT, CAP_HEIGHT = 0.48, 0.70  # of the font size
_WORD_GAP = 0.25  # of the font size: wider gaps between letters part words
_LOW = set("acemnorsuvwxz")
_HIGH = set("bdfhkltiABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


@dataclass(frozen=True, slots=True)
class ReadWord:
    """A word of a line, from `start` to `end` in pixels."""

    text: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class PictureLine:
    """One stretch of text, in the frame of the upright, level picture (pixels).

    `turn`: clockwise quarter turns of this line against the others. `size` is the font size as far as the ink tells,
    0 where it does not; `baseline` is where the letters stand.
    """

    text: str
    confidence: float
    box: Box
    baseline: float
    size: float
    words: tuple[ReadWord, ...] = ()
    turn: int = 0


@dataclass(frozen=True, slots=True)
class PictureText:
    """What a picture says. `turn`: clockwise quarter turns of the text against it; `width`, `height` as turned back.

    `lost` is about how many characters there are in stretches of which nothing was recognised.
    """

    lines: tuple[PictureLine, ...]
    regions: tuple[Region, ...]
    turn: int
    width: int
    height: int
    lost: int = 0

    @property
    def confidence(self) -> float:
        """The mean confidence of the characters, 0..1; those lost count as 0."""
        read = sum(len(line.text) for line in self.lines)
        sure = sum(line.confidence * len(line.text) for line in self.lines)
        return sure / (read + self.lost) if read else 0.0


def read_picture(picture: Picture, models: PictureModels, *, reduction: float) -> PictureText:
    """Return what the picture of a page says; text is looked for in a picture `reduction` (0..1) as large."""
    upright, quads, turn = _upright(picture, models, reduction)
    height, width = upright.shape
    if not len(quads):
        return PictureText((), (), turn, width, height)
    level = _Level.of(quads, width, height)
    lines, lost = _read(upright, quads, models, level)
    regions = models.find_regions(_reduced(upright, reduction))
    scaled = tuple(Region(r.label, Box(*(value / reduction for value in r.box)), r.score) for r in regions)
    return PictureText(tuple(lines), scaled, turn, width, height, lost)


# ------------------------------------------------------------------ which way up


def _upright(picture: Picture, models: PictureModels, reduction: float) -> tuple[Picture, Quads, int]:
    """Return the picture with its text the right way up, where text stands, and the quarter turns that were undone."""
    quads = _find(picture, models, reduction)
    turn = 0
    across, down = (_length(quads, which) for which in ("wide", "tall"))
    if down > across:
        picture, turn = _turned_back(picture, 1), 1
        quads = _find(picture, models, reduction)
    longest = sorted(range(len(quads)), key=lambda i: -_size(quads[i])[0])[:_SAMPLE]
    cuts = [cut_out(picture, quads[i]) for i in longest if _size(quads[i])[0] > _TALL * _size(quads[i])[1]]
    if cuts:
        sure = _confidence(models.recognise(cuts))
        if sure < _SURE and _confidence(models.recognise([_turned_back(c, 2) for c in cuts])) > sure + _BETTER:
            picture, turn = _turned_back(picture, 2), (turn + 2) % 4
            quads = _find(picture, models, reduction)
    return picture, quads, turn


def _find(picture: Picture, models: PictureModels, reduction: float) -> Quads:
    return np.asarray(models.find_lines(_reduced(picture, reduction)) / reduction, np.float32)


def _reduced(picture: Picture, reduction: float) -> Picture:
    import cv2

    if reduction >= 1:
        return picture
    size = max(1, round(picture.shape[1] * reduction)), max(1, round(picture.shape[0] * reduction))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)


def _turned_back(picture: Picture, quarters: int) -> Picture:
    """Return the picture turned counter-clockwise, which puts text upright that is turned clockwise."""
    return np.ascontiguousarray(np.rot90(picture, quarters))


def _size(quad: npt.NDArray[np.float32]) -> tuple[float, float]:
    """Return the width and height of a stretch of text."""
    sides = np.hypot(*(quad - np.roll(quad, -1, axis=0)).T)
    return float(max(sides[0], sides[2])), float(max(sides[1], sides[3]))


def _length(quads: Quads, which: str) -> float:
    sizes = [_size(quad) for quad in quads]
    if which == "wide":
        return sum(w for w, h in sizes if w > 2 * h)
    return sum(h for w, h in sizes if h > 2 * w)


def _confidence(found: Sequence[Recognised]) -> float:
    """Return the mean confidence by characters, 0 where there are none."""
    letters = sum(len(entry.text) for entry in found)
    return sum(entry.confidence * len(entry.text) for entry in found) / letters if letters else 0.0


# ------------------------------------------------------------------ lines


@dataclass(frozen=True, slots=True)
class _Level:
    """The turn about the middle of the picture that makes its lines level."""

    angle: float  # radians
    x: float
    y: float

    @classmethod
    def of(cls, quads: Quads, width: int, height: int) -> _Level:
        """Return the turn that undoes the usual slope of the wide stretches."""
        slopes, weights = [], []
        for quad in quads:
            wide, high = _size(quad)
            if wide > 6 * high:
                dx, dy = quad[1] - quad[0] + quad[2] - quad[3]
                slopes.append(math.atan2(float(dy), float(dx)))
                weights.append(wide)
        if len(slopes) < _SLOPES:  # the slope of a few lines is mostly noise
            return cls(0.0, width / 2, height / 2)
        angle = _weighted_median(slopes, weights)
        spread = _weighted_median([abs(slope - angle) for slope in slopes], weights)
        askew = max(_LEVEL, 2 * math.degrees(spread)) < math.degrees(abs(angle)) < _STEEPEST
        return cls(angle if askew else 0.0, width / 2, height / 2)

    def box(self, quad: npt.NDArray[np.float32]) -> Box:
        """Return the level box that a stretch fills after the turn."""
        middle = quad.mean(axis=0)
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        dx, dy = middle[0] - self.x, middle[1] - self.y
        x, y = self.x + cos * dx + sin * dy, self.y - sin * dx + cos * dy
        wide, high = _size(quad)
        return Box(float(x - wide / 2), float(y - high / 2), float(x + wide / 2), float(y + high / 2))


def _weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    order = sorted(range(len(values)), key=lambda i: values[i])
    half, total = sum(weights) / 2, 0.0
    for i in order:
        total += weights[i]
        if total >= half:
            return values[i]
    return values[order[-1]]


def _read(picture: Picture, quads: Quads, models: PictureModels, level: _Level) -> tuple[list[PictureLine], int]:
    """Return the lines, and about how many characters are lost in stretches that cannot be read.

    A stretch that is higher than wide is tried upright and turned both ways.
    """
    tries: list[tuple[int, int, Picture]] = []  # number of the stretch, its turn, its picture
    for number, quad in enumerate(quads):
        wide, high = _size(quad)
        cut = cut_out(picture, quad)
        if high < _SLENDER * wide:
            tries.append((number, 0, cut))
        if high > _TALL * wide:
            tries += [(number, 1, _turned_back(cut, 1)), (number, 3, _turned_back(cut, 3))]
    best: dict[int, tuple[Recognised, int, Picture]] = {}
    for (number, turn, cut), entry in zip(tries, models.recognise([t[2] for t in tries]), strict=True):
        if entry.text.strip() and (number not in best or entry.confidence > best[number][0].confidence):
            best[number] = entry, turn, cut
    found = []
    for number, (entry, turn, cut) in best.items():
        box = level.box(quads[number])
        if turn:
            found.append(PictureLine(_plain(entry.text), entry.confidence, box, 0.0, 0.0, turn=turn))
            continue
        found.append(_line(entry, cut, box))
    unread = [_size(quad) for number, quad in enumerate(quads) if number not in best]
    lost = sum(max(1, round(_LETTER * max(sides) / max(1.0, min(sides)))) for sides in unread)
    return found, lost


def _line(entry: Recognised, cut: Picture, box: Box) -> PictureLine:
    """Return an upright line from its picture, which shows `box`."""
    ink = Ink.of(cut, entry.places)
    baseline, size = ink.baseline_and_size(entry.text)
    words = find_words(_plain(entry.text), [place * cut.shape[1] for place in entry.places], ink, size)
    return PictureLine(
        text=" ".join(word.text for word in words),
        confidence=entry.confidence,
        box=Box(box.x0 + ink.left, box.top, box.x0 + ink.right, box.bottom),
        baseline=box.top + baseline,
        size=size,
        words=tuple(ReadWord(word.text, box.x0 + word.start, box.x0 + word.end) for word in words),
    )


def cut_out(picture: Picture, quad: npt.NDArray[np.float32]) -> Picture:
    """Return the picture of one stretch of text, level."""
    import cv2

    wide, high = (max(2, round(side)) for side in _size(quad))
    corners = np.array([[0, 0], [wide, 0], [wide, high], [0, high]], np.float32)
    matrix = cv2.getPerspectiveTransform(np.ascontiguousarray(quad, np.float32), corners)
    cut = cv2.warpPerspective(picture, matrix, (wide, high), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(cut, np.uint8)


@dataclass(frozen=True, slots=True)
class Ink:
    """The dark (or light, whichever is rarer) pixels of a line's picture.

    `rows` (height,) counts them; `gaps` (n, 2) are the stretches of columns without any between `left` and `right`.
    """

    rows: npt.NDArray[np.float64]
    gaps: npt.NDArray[np.float64]
    left: float
    right: float

    @classmethod
    def of(cls, cut: Picture, places: Sequence[float]) -> Ink:
        """Return the ink of a line; what lies well before its first or after its last character is a neighbour's."""
        import cv2

        height, width = cut.shape
        _, mask = cv2.threshold(cut, 0, 1, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
        ink = np.asarray(mask if mask.mean() < 0.5 else 1 - mask)
        inner = ink[round(0.1 * height) : max(1, round(0.9 * height))].any(axis=0).astype(np.int8)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], inner, [0]]))).astype(np.float64).reshape(-1, 2)
        if len(places) > 1 and len(edges):
            reach = 0.7 * (places[-1] - places[0]) / (len(places) - 1) * width
            kept = (edges[:, 1] >= places[0] * width - reach) & (edges[:, 0] <= places[-1] * width + reach)
            edges = edges[kept] if kept.any() else edges
        left, right = (edges[0, 0], edges[-1, 1]) if len(edges) else (0.0, width)
        gaps = np.stack([edges[:-1, 1], edges[1:, 0]], axis=1) if len(edges) else np.zeros((0, 2))
        rows = ink[:, int(left) : int(right)].sum(axis=1).astype(np.float64)
        return cls(rows, gaps, float(left), float(right))

    def baseline_and_size(self, text: str) -> tuple[float, float]:
        """Return where the letters stand and the font size in pixels; a size of 0: too few letters to tell.

        The rows between the baseline and the top of a small x hold most of the ink.
        """
        height = len(self.rows)
        low, high = (sum(letter in letters for letter in text) for letters in (_LOW, _HIGH))
        if not self.rows.any() or low + high < 3:
            return 0.78 * height, 0.0
        full = np.flatnonzero(self.rows > _INK * np.sort(self.rows)[-max(2, height // 6)])
        top, bottom = float(full[0]), float(full[-1] + 1)
        return bottom, (bottom - top) / (X_HEIGHT if low >= 0.25 * (low + high) else CAP_HEIGHT)


def find_words(text: str, places: Sequence[float], ink: Ink, size: float) -> list[ReadWord]:
    """Return the words of a line with their places; a wide gap in the ink parts words that the recogniser joined.

    `places` are the middles of the characters (without white space), `size` is the font size, both in pixels.
    """
    letters = [c for c in text if not c.isspace()]
    if len(places) != len(letters) or not letters:
        return [ReadWord(" ".join(text.split()), ink.left, ink.right)]
    breaks = _breaks(text, places, ink, _WORD_GAP * (size or BOX_SIZE * len(ink.rows)))
    found: list[ReadWord] = []
    first, start = 0, ink.left
    for number in sorted(breaks):
        end, begin = breaks[number]
        found.append(ReadWord("".join(letters[first:number]), start, max(start, end)))
        first, start = number, begin
    return [*found, ReadWord("".join(letters[first:]), start, max(start, ink.right))]


def _breaks(text: str, places: Sequence[float], ink: Ink, wide: float) -> dict[int, tuple[float, float]]:
    """Return the numbers of the characters that begin a word, each with the gap before it.

    The recogniser knows places to about a character, so a gap is looked for a character around a space; only wide
    gaps that belong to no space are spaces that it overlooked. Between digits they are as wide as the line's spaces.
    """
    letters: list[str] = []
    spaced: list[int] = []
    for letter in text.strip():
        if letter.isspace():
            spaced.append(len(letters))
        else:
            letters.append(letter)
    middles = ink.gaps.mean(axis=1)
    widths = ink.gaps[:, 1] - ink.gaps[:, 0]
    free = np.ones(len(middles), dtype=bool)
    found: dict[int, tuple[float, float]] = {}
    for number in dict.fromkeys(spaced):
        around = places[max(0, number - 2)], places[min(len(places) - 1, number + 1)]
        near = np.flatnonzero(free & (middles > around[0]) & (middles < around[1]))
        if len(near):
            best = near[np.argmax(widths[near])]
            free[best] = False
            found[number] = float(ink.gaps[best, 0]), float(ink.gaps[best, 1])
        else:
            found[number] = ((places[number - 1] + places[number]) / 2,) * 2
    seen = [end - start for start, end in found.values() if end > start]
    usual = float(np.median(seen)) if seen else float("inf")  # between two narrow digits it is less than a space
    for i in np.flatnonzero(free & (widths > wide)):
        number = int(np.searchsorted(places, middles[i]))
        if not 0 < number < len(letters) or number in found:
            continue
        digits = letters[number - 1].isdecimal() and letters[number].isdecimal()
        if widths[i] >= usual if digits else not _together(letters[number - 1], letters[number]):
            found[number] = float(ink.gaps[i, 0]), float(ink.gaps[i, 1])
    return found


def _together(before: str, after: str) -> bool:
    """Return whether two characters may stand far apart without white space between them."""
    return not (before.isalpha() and after.isalpha()) or max(before, after) > "\u024f"


def _plain(text: str) -> str:
    """Return text that is not Chinese or Japanese with full-width forms of ASCII made ordinary, and 一 a dash."""
    if any("\u3040" <= c <= "\u9fff" and c != "一" for c in text):
        return text
    text = text.replace("一", "—")
    return "".join(chr(ord(c) - 0xFEE0) if "\uff01" <= c <= "\uff5e" else c for c in text.replace("\u3000", " "))
