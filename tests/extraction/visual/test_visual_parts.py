"""The parts of extractor `visual` on pictures whose text is known: a block of grey stands for a line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from pdfqa_core.extraction.layout.pages import build_pages
from pdfqa_core.extraction.raw_page import PageTable, RawPage, TableCell, TextLine
from pdfqa_core.extraction.visual import page_of
from pdfqa_core.extraction.visual.engine import Recognised, Region, is_garbage, usable_text
from pdfqa_core.extraction.visual.order import ordered_lines
from pdfqa_core.extraction.visual.picture import Ink, find_words, read_picture
from pdfqa_core.types import BlockKind, Box, Page

HEIGHT = 12  # pixels of a line's block
PAD = 8  # pixels around it that the detector takes along
WIDE, HIGH = 600, 800


class Blocks:
    """Models for pictures in which line i is a block whose left half has the grey 2i, its right half 2i + 1."""

    def __init__(self, texts: Sequence[str], regions: Sequence[Region] = (), sure: float = 0.98) -> None:
        self.texts, self.regions, self.sure = texts, list(regions), sure

    def find_lines(self, picture):
        quads = []
        for i in range(len(self.texts)):
            rows, columns = np.nonzero((picture == 2 * i) | (picture == 2 * i + 1))
            if len(rows):
                x0, y0 = columns.min() - PAD, rows.min() - PAD
                x1, y1 = columns.max() + 1 + PAD, rows.max() + 1 + PAD
                quads.append([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
        return np.array(quads, np.float32).reshape(-1, 4, 2)

    def recognise(self, pictures):
        return [self._read(picture) for picture in pictures]

    def _read(self, picture):
        height, width = picture.shape
        left, right = (int(picture[height // 2, x]) for x in (PAD + 4, width - PAD - 4))
        text = self.texts[left // 2]
        upright = left % 2 == 0 and right == left + 1
        letter = (width - 2 * PAD) / max(1, len(text))
        places = [(PAD + (i + 0.5) * letter) / width for i, c in enumerate(text) if c != " "]
        return Recognised(text, self.sure, tuple(places)) if upright and text else Recognised(text[::-1], 0.3)

    def find_regions(self, picture):
        return self.regions


def blocks(*places: tuple[int, int, int]) -> np.ndarray:
    """Return a white picture with a block for each (x, y, width)."""
    picture = np.full((HIGH, WIDE), 255, np.uint8)
    for i, (x, y, width) in enumerate(places):
        picture[y : y + HEIGHT, x : x + width // 2] = 2 * i
        picture[y : y + HEIGHT, x + width // 2 : x + width] = 2 * i + 1
    return picture


def lines_of(picture, models, **choices) -> list[TextLine]:
    return ordered_lines(read_picture(picture, models, reduction=1.0), 1.0, **choices)


def page(models: Blocks, picture, letters: int = 0, warnings: tuple[str, ...] = ()) -> RawPage:
    facts = Page("doc", 3, "3", float(picture.shape[1]), float(picture.shape[0]), "", warnings=warnings)
    found = read_picture(picture, models, reduction=1.0)
    return page_of(RawPage(facts, []), found, 1.0, letters)


# ------------------------------------------------------------------ pictures to lines


@pytest.mark.parametrize("turn", [0, 1, 2, 3])
def test_a_turned_page_is_read_the_right_way_up_and_its_boxes_stay_on_the_page(turn):
    texts = ["the upper line of them", "and the lower line"]
    upright = blocks((60, 100, 400), (60, 130, 300))
    picture = np.ascontiguousarray(np.rot90(upright, -turn))
    found = read_picture(picture, Blocks(texts), reduction=1.0)
    assert (found.turn, found.width, found.height) == (turn, WIDE, HIGH)
    (read,) = build_pages([page(Blocks(texts), picture)])
    assert read.text == " ".join(texts)
    place = np.nonzero((picture == 0) | (picture == 1))
    box = read.lines[0].box
    assert (box.x0 + box.x1) / 2 == pytest.approx(place[1].mean(), abs=6)
    assert (box.top + box.bottom) / 2 == pytest.approx(place[0].mean(), abs=6)


def test_a_line_at_a_right_angle_to_the_others_is_turned_by_itself():
    picture = blocks((100, 100, 400), (100, 140, 400))
    picture[200:500, 40:52] = np.rot90(blocks((0, 0, 1), (0, 0, 1), (0, 0, 300))[:HEIGHT, :300], 1)
    lines = lines_of(picture, Blocks(["first line here", "second line here", "along the edge"]))
    assert [(line.text, line.turn) for line in lines] == [
        ("first line here", 0), ("second line here", 0), ("along the edge", 3),
    ]  # fmt: skip
    raw = RawPage(Page("doc", 1, "1", float(WIDE), float(HIGH), ""), lines)
    (read,) = build_pages([raw])
    box = read.lines[-1].box
    assert (box.x0, box.top, box.x1, box.bottom) == pytest.approx((40, 200, 52, 500), abs=9)


# ------------------------------------------------------------------ order and kinds


def test_two_columns_are_read_one_after_the_other():
    words = ["a running line of the left", "a running line of the right"]
    places = [(40 + 290 * side, 100 + 26 * row, 250) for row in range(8) for side in (0, 1)]
    texts = [f"{words[i % 2]} {i // 2}" for i in range(16)]
    lines = lines_of(blocks(*places), Blocks(texts))
    assert [line.text for line in lines] == texts[0::2] + texts[1::2]
    assert len({line.region for line in lines}) == 2


def test_the_layout_model_names_titles_and_what_stands_in_the_margins():
    places = [(60, 20, 200), (60, 100, 200), (60, 140, 400), (60, 770, 100), (60, 400, 200)]
    regions = [
        Region("header", Box(50, 15, 270, 45), 0.9),
        Region("title", Box(50, 95, 270, 125), 0.9),
        Region("text", Box(50, 135, 470, 165), 0.9),
        Region("footer", Box(50, 765, 170, 795), 0.9),
        Region("header", Box(50, 395, 270, 425), 0.9),  # in the middle of the page: the model errs
    ]
    texts = ["Running head", "Costs of a visit", "The plan pays most of them.", "Page seven", "Other costs"]
    kinds = {line.text: line.kind for line in lines_of(blocks(*places), Blocks(texts, regions))}
    assert kinds == {
        "Running head": BlockKind.HEADER,
        "Costs of a visit": BlockKind.HEADING,
        "The plan pays most of them.": None,
        "Page seven": BlockKind.FOOTER,
        "Other costs": None,
    }


def test_an_unsure_region_says_nothing_and_a_line_outside_all_regions_is_kept():
    regions = [Region("title", Box(50, 95, 270, 125), 0.5)]
    lines = lines_of(blocks((60, 100, 200), (60, 300, 200)), Blocks(["Perhaps a title", "Far from it"], regions))
    assert [(line.text, line.kind) for line in lines] == [("Perhaps a title", None), ("Far from it", None)]


ROWS = [("Plan", "Standard", "Plus"), ("Employee", "45.00", "55.00"), ("Couple", "65.00", "71.00"),
        ("Family", "78.00", "89.00")]  # fmt: skip


@pytest.mark.parametrize("tables", [True, False])
def test_cells_below_each_other_make_a_table(tables):
    places = [(60 + 180 * c, 100 + 40 * r, 12 * len(text)) for r, row in enumerate(ROWS) for c, text in enumerate(row)]
    texts = [text for row in ROWS for text in row]
    lines = lines_of(blocks(*places), Blocks(texts), tables=tables)
    found = [line.table for line in lines if line.table is not None]
    if tables:
        assert [[cell.text for cell in row] for row in found[0].rows] == [list(row) for row in ROWS]
        assert found[0].rows[3][2].box.x0 == pytest.approx(420, abs=3)
    else:
        assert found == []
        assert [line.text for line in lines] == [" ".join(row) for row in ROWS]


# ------------------------------------------------------------------ words


def ink(runs: Sequence[tuple[int, int]], width: int = 200) -> Ink:
    """Return the ink of a line that is dark in these columns."""
    cut = np.full((20, width), 255, np.uint8)
    for start, end in runs:
        cut[4:16, start:end] = 0
    return Ink.of(cut, ())


def test_a_space_that_the_recogniser_overlooked_is_found_in_the_ink():
    found = find_words("aBc de", [5, 25, 35, 55, 65], ink([(0, 10), (20, 40), (50, 70)]), 20)
    assert [word.text for word in found] == ["a", "Bc", "de"]
    assert [(word.start, word.end) for word in found] == [(0, 10), (20, 40), (50, 70)]


def test_digits_that_stand_apart_stay_one_number():
    found = find_words("12,50", [5, 15, 25, 35, 50], ink([(0, 26), (33, 60)]), 20)
    assert [word.text for word in found] == ["12,50"]


def test_groups_of_a_telephone_number_stand_as_far_apart_as_words():
    line = ink([(0, 10), (18, 28), (36, 46), (48, 58), (66, 76), (82, 92)])
    found = find_words("c d 1234", [5, 23, 41, 53, 71, 87], line, 20)
    assert [word.text for word in found] == ["c", "d", "12", "34"]  # the last two are narrow digits, nearer than words


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("（１２％），ｏｋ", "(12%),ok"),
        ("12 一 15", "12 — 15"),
        ("第１章 一", "第１章 一"),
        ("Straße, déjà", "Straße, déjà"),
    ],
)
def test_full_width_forms_become_ordinary_outside_of_chinese(text, plain):
    (line,) = lines_of(blocks((60, 100, 400)), Blocks([text]))
    assert line.text == plain


# ------------------------------------------------------------------ what is told


def test_a_page_says_how_sure_it_is():
    found = page(Blocks(["a line of a scan"], sure=0.972), blocks((60, 100, 400)), warnings=("Page 3 has no text: …",))
    assert (found.facts.source, found.facts.confidence, found.facts.warnings) == ("ocr", 0.972, ())


def test_low_confidence_is_a_warning():
    found = page(Blocks(["a line of a bad scan"], sure=0.71), blocks((60, 100, 400)))
    assert found.facts.confidence == 0.71
    assert found.facts.warnings == ("Page 3 was read by OCR with low confidence (0.71): check it against the picture.",)


def test_what_cannot_be_read_lowers_the_confidence():
    found = read_picture(blocks((60, 100, 400), (60, 140, 400)), Blocks(["a line of letters", ""]), reduction=1.0)
    assert found.lost > 10
    assert found.confidence < 0.6


def test_a_picture_without_text_and_one_in_another_script_say_so():
    picture = blocks((60, 100, 400))
    nothing, foreign = page(Blocks([]), picture), page(Blocks([""]), picture)
    assert (nothing.lines, nothing.facts.source, nothing.facts.confidence) == ([], "ocr", None)
    assert nothing.facts.warnings == ("Page 3 has no text that OCR can find: it is a picture.",)
    assert "it knows Latin letters, Chinese and Japanese" in foreign.facts.warnings[0]


def test_a_text_layer_that_has_more_is_kept():
    found = page(Blocks(["a stamp"]), blocks((60, 100, 400)), letters=30)
    assert found.facts.source == "text"


# ------------------------------------------------------------------ whether a text layer can be used


def line(text: str, **more) -> TextLine:
    return TextLine(text, 70, 300, 90, 101, 100, 11, False, 1, 30, **more)


@pytest.mark.parametrize(
    ("texts", "pictured", "objects", "usable"),
    [
        (["A paragraph with quite enough letters to be one of a page."], 1.0, 2, True),  # a scan with a text layer
        ([], 0.0, 0, True),  # an empty page
        ([], 0.9, 1, False),  # a scan
        ([], 0.0, 800, False),  # text turned into shapes
        (["Scanned by a scanner"], 0.9, 2, False),
        (["Chapter One"], 0.0, 1, True),
        (["17"], 0.0, 900, False),
        (["\ufffd\ufffd\ufffd\ufffd \ufffd\ufffd\ufffd and so on \ufffd\ufffd\ufffd\ufffd\ufffd"], 0.0, 9, False),
        (["\ue001\ue002\ue003\ue004" * 20], 0.0, 9, False),
        (["!\"#$%&'()*+,-./" * 12], 0.0, 9, False),
        (["Name: ........................................ Date: ........................", "x" * 60], 0.0, 9, True),
        (["12 34.5 78 91 0.1 17 2.5 33 41 55 67.8 99 12 34.5 78 91 0.1 17 2.5 33 41 55 67.8"], 0.0, 90, True),
    ],
)
def test_which_pages_are_left_to_their_text_layer(texts, pictured, objects, usable):
    assert usable_text([line(text) for text in texts], pictured, objects) is usable


def test_hidden_text_does_not_count_and_cells_of_tables_do():
    hidden = line("A paragraph with quite enough letters to be one of a page.", hidden=True)
    assert not usable_text([hidden], 0.9, 2)
    cells = tuple(TableCell(f"a cell with words {i}", Box(0, 0, 9, 9)) for i in range(4))
    assert usable_text([line("", table=PageTable((cells,)))], 0.9, 2)
    assert not is_garbage([hidden])
