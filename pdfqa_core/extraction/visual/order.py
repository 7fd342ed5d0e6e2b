"""The lines of a picture in reading order, as every extractor hands them on: rows, columns, kinds, tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from pdfqa_core.extraction.layout.lines import join_line
from pdfqa_core.extraction.layout.reading_order import TextSegment, group_rows
from pdfqa_core.extraction.layout.reading_order import regions as columns_of
from pdfqa_core.extraction.raw_page import ASCENT, DESCENT, TextLine, from_text_frame, grouped
from pdfqa_core.extraction.tables.find_tables import with_tables_of_words
from pdfqa_core.extraction.text.words import Word
from pdfqa_core.extraction.visual.engine import Region
from pdfqa_core.extraction.visual.picture import BOX_SIZE, PictureLine, PictureText, ReadWord
from pdfqa_core.types import BlockKind, Box

_ALIKE = 0.12  # sizes that differ less are one
_GAP = 1.2  # of the font size: wider gaps inside a stretch part it
_MARGIN = 0.08  # of the page's height: where headers and footers stand
_SURE_TITLE, _SURE_MARGIN, _SURE_TABLE = 0.6, 0.5, 0.5
_SHORT = 200  # characters of a title


@dataclass(slots=True)
class _Piece:
    """A stretch without a wide gap, in points."""

    segment: TextSegment
    words: tuple[ReadWord, ...]
    region: int  # of the layout model; -1: none


def ordered_lines(found: PictureText, scale: float, *, tables: bool = True) -> list[TextLine]:
    """Return the lines of a picture with `scale` pixels per point in reading order, with `tables` put together."""
    regions = _chosen(found.regions, scale)
    pieces = _pieces([line for line in found.lines if not line.turn], regions, scale)  # numbered by their rank
    height = found.height / scale
    lines: list[TextLine] = []
    words: list[list[Word]] = []
    columns = columns_of([piece.segment for piece in pieces])
    for number, column in enumerate(columns):
        for row in group_rows(column):
            line = join_line(row, found.turn)
            line.region = number
            line.kind = _kind(regions, [pieces[segment.rank] for segment in row], height)
            if line.text:
                lines.append(line)
                words.append(_words([pieces[segment.rank] for segment in row], line, scale))
    if tables and not found.turn:
        lines = with_tables_of_words(lines, words)
    turned = sorted((entry for entry in found.lines if entry.turn), key=lambda entry: (entry.box.top, entry.box.x0))
    lines += [_turned(entry, found, scale, len(columns) + i) for i, entry in enumerate(turned)]
    return lines


def _words(row: Sequence[_Piece], line: TextLine, scale: float) -> list[Word]:
    """Return the words of a row in points, from left to right."""
    found = [
        Word(word.text, word.start / scale, word.end / scale, line.baseline, line.size, line.bold, spaced=True)
        for piece in row
        for word in piece.words
    ]
    return sorted(found, key=lambda word: word.x0)


# ------------------------------------------------------------------ regions


def _chosen(regions: Sequence[Region], scale: float) -> list[Region]:
    """Return the regions whose labels count, in points, the surest of those that cover each other."""
    kept: list[Region] = []
    for region in sorted(regions, key=lambda r: -r.score):
        box = Box(*(value / scale for value in region.box))
        if all(_shared(box, other.box) < 0.6 * min(_area(box), _area(other.box)) for other in kept):
            kept.append(Region(region.label, box, region.score))
    return kept


def _area(box: Box) -> float:
    return max(0.0, box.x1 - box.x0) * max(0.0, box.bottom - box.top)


def _shared(a: Box, b: Box) -> float:
    return _area(Box(max(a.x0, b.x0), max(a.top, b.top), min(a.x1, b.x1), min(a.bottom, b.bottom)))


def _region_of(box: Box, regions: Sequence[Region]) -> int:
    """Return the number of the region that holds most of a box, -1 where none holds half of it."""
    best, number = 0.5 * _area(box), -1
    for i, region in enumerate(regions):
        if (shared := _shared(box, region.box)) > best:
            best, number = shared, i
    return number


def _kind(regions: Sequence[Region], row: Sequence[_Piece], height: float) -> BlockKind | None:
    """Return what the layout model says about a row, where it can be trusted."""
    numbers = {piece.region for piece in row}
    if len(numbers) != 1 or (number := numbers.pop()) < 0:
        return None
    region = regions[number]
    text = sum(len(piece.segment.text) for piece in row)
    if region.label == "title" and region.score >= _SURE_TITLE and text <= _SHORT:
        letters = sum(c.isalpha() for piece in row for c in piece.segment.text)
        return BlockKind.HEADING if letters >= 2 else None
    if region.label == "header" and region.score >= _SURE_MARGIN and region.box.bottom < _MARGIN * height:
        return BlockKind.HEADER
    if region.label == "footer" and region.score >= _SURE_MARGIN and region.box.top > (1 - _MARGIN) * height:
        return BlockKind.FOOTER
    return None


# ------------------------------------------------------------------ pieces


def _pieces(lines: Sequence[PictureLine], regions: Sequence[Region], scale: float) -> list[_Piece]:
    """Return the stretches in points, parted at wide gaps, with their sizes evened out."""
    sizes = _even([_raw_size(line) / scale for line in lines], [len(line.text) for line in lines])
    parts = [
        (line, size, part)
        for line, size in zip(lines, sizes, strict=True)
        for part in _parted(line, _GAP * size * scale)
    ]
    parts.sort(key=lambda entry: (entry[0].baseline, entry[2][1]))
    found = []
    for rank, (line, size, (text, x0, x1, words)) in enumerate(parts):
        baseline = line.baseline / scale
        segment = TextSegment(
            text=text,
            u0=x0 / scale,
            u1=x1 / scale,
            baseline=baseline,
            size=size,
            bold=0,
            rank=rank,
            space_before=True,
            first_word=(words[0].end - words[0].start if words else x1 - x0) / scale,
            digits=sum(map(str.isdigit, text)),
            top=baseline - ASCENT * size,
            bottom=baseline + DESCENT * size,
        )
        box = Box(x0 / scale, line.box.top / scale, x1 / scale, line.box.bottom / scale)
        found.append(_Piece(segment, words, _region_of(box, regions)))
    return found


def _raw_size(line: PictureLine) -> float:
    """Return the font size in pixels; the ink's word is taken where it agrees with the height of the stretch."""
    by_height = BOX_SIZE * (line.box.bottom - line.box.top)
    return line.size if 0.65 * by_height < line.size < 1.5 * by_height else by_height


def _even(sizes: Sequence[float], weights: Sequence[int]) -> list[float]:
    """Return the sizes with those that are nearly the same made the same: what most characters have comes first."""
    left = dict(enumerate(sizes))
    found = [0.0] * len(sizes)
    while left:
        counts: dict[float, int] = defaultdict(int)
        for i, size in left.items():
            for j, other in left.items():
                if abs(size - other) <= _ALIKE * size:
                    counts[size] += weights[j]
            counts[size] += weights[i] == 0
        middle = max(counts, key=lambda size: (counts[size], size))
        same = median(size for size in left.values() if abs(size - middle) <= _ALIKE * middle)
        for i in [i for i, size in left.items() if abs(size - same) <= _ALIKE * same]:
            found[i] = same
            del left[i]
    return found


def _parted(line: PictureLine, gap: float) -> list[tuple[str, float, float, tuple[ReadWord, ...]]]:
    """Return the text, begin, end and words of each part of a stretch that gaps wider than `gap` pixels leave."""
    groups = grouped(line.words, lambda group, word: word.start - group[-1].end <= gap)
    return [(" ".join(w.text for w in group), group[0].start, group[-1].end, tuple(group)) for group in groups]


def _turned(line: PictureLine, found: PictureText, scale: float, region: int) -> TextLine:
    """Return a line that stands at a right angle to the others, in a frame of its own."""
    box = Box(*(value / scale for value in line.box))
    # seen from the line the page is turned the other way
    u0, v0, u1, v1 = from_text_frame(box, 4 - line.turn, found.height / scale, found.width / scale)
    size = BOX_SIZE * (v1 - v0)
    return TextLine(
        text=line.text,
        u0=u0,
        u1=u1,
        top=v0,
        bottom=v1,
        baseline=v1 - 0.22 * (v1 - v0),
        size=size,
        bold=False,
        cells=1,
        first_word=u1 - u0,
        turn=(found.turn + line.turn) % 4,
        region=region,
    )
