"""The models that look at a page's picture: where lines of text stand, what they say, what the parts of a page are.

Everything is read from the installed packages; nothing is ever downloaded. The recogniser knows the letters of the
Latin script with the accents of European languages, Chinese and Japanese. It leaves out letters with two accents
(Vietnamese) and reads no Cyrillic, Greek, Arabic or Hebrew.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pdfqa_core.errors import PdfQAError
from pdfqa_core.extraction.raw_page import TextLine
from pdfqa_core.types import Box

# ----------------------------------------------------------------------------------------------------
# Whether the text layer of a page can be used, or the page has to be read from its picture.

_FEW = 40  # letters: with fewer, what is drawn decides
_PICTURE = 0.3  # of the page: from this share on a page with few letters is a scan
_MANY_OBJECTS = 150  # text turned into shapes, one object per letter
_FOREIGN = 0.3  # of the characters: from this share of signs that stand for nothing on, the text is garbage
_MEANT = 0.35  # of the characters: with a smaller share of letters and digits the text is garbage
_ENOUGH = 100  # characters that it takes to call text with few letters garbage


def readable_letters(lines: Sequence[TextLine]) -> int:
    """Return how many letters and digits a person sees."""
    return sum(c.isalnum() for text in _texts(lines) for c in text)


def is_garbage(lines: Sequence[TextLine]) -> bool:
    """Return whether the characters stand for nothing: a font without a map to Unicode, or a broken one."""
    characters = [c for text in _texts(lines) for c in text if not c.isspace()]
    if not characters:
        return False
    foreign = sum(c == "\ufffd" or unicodedata.category(c) in ("Co", "Cn", "Cc", "Cs") for c in characters)
    meant = sum(unicodedata.category(c)[0] in "LNM" for c in characters)
    if foreign >= _FOREIGN * len(characters):
        return True
    dots = sum(c in ".…_-–—·" for c in characters)  # leaders and blanks of forms
    return len(characters) >= _ENOUGH and meant < _MEANT * (len(characters) - dots)


def usable_text(lines: Sequence[TextLine], pictured: float, objects: int) -> bool:
    """Return whether a page's text says what the page shows.

    `pictured` is the share of the page that pictures cover, `objects` the number it is drawn with; a page on which
    nothing is drawn is empty, and that is what it says.
    """
    if is_garbage(lines):
        return False
    letters = readable_letters(lines)
    if letters >= _FEW:
        return True
    if letters == 0:
        return objects == 0
    return pictured < _PICTURE and objects < _MANY_OBJECTS


def _texts(lines: Sequence[TextLine]) -> list[str]:
    texts = [line.text for line in lines if not line.hidden]
    tables = [line.table for line in lines if line.table is not None and not line.hidden]
    return texts + [cell.text for table in tables for row in table.rows for cell in row if cell is not None]


# ----------------------------------------------------------------------------------------------------
# The models that look at a page's picture: where lines of text stand, what they say, what the parts of a page are.

Picture = npt.NDArray[np.uint8]  # (height, width), 0 black to 255 white
Quads = npt.NDArray[np.float32]  # (n, 4, 2): corners x, y in pixels, clockwise from where the text begins, above

INSTALL = "Install it with: pip install -r requirements.txt"
SYSTEM = "Install the system's libraries for OpenCV (Debian, Ubuntu: apt install libgl1 libglib2.0-0)."

_MANY = 4000  # lines of one page
_LAYOUT_SCORE = 0.4


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a line's picture says; `confidence` is the mean probability of its characters, 0..1.

    `places` are the middles of the characters that are no white space, as shares (0..1) of the picture's width;
    they may be missing.
    """

    text: str
    confidence: float
    places: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a page as the layout model sees it. `box` is in pixels, `score` in 0..1.

    `label`: text, title, figure, figure_caption, table, table_caption, header, footer, reference, equation.
    """

    label: str
    box: Box
    score: float


class PictureModels(Protocol):
    """What reads pictures of pages; the tests have one that knows its answers."""

    def find_lines(self, picture: Picture) -> Quads:
        """Return the corners of each stretch of text."""
        ...

    def recognise(self, pictures: Sequence[Picture]) -> list[Recognised]:
        """Return what each picture of one line says."""
        ...

    def find_regions(self, picture: Picture) -> list[Region]:
        """Return the parts of a page."""
        ...


def _model_file(module: Any, pattern: str, package: str) -> Path:
    found = sorted((Path(module.__file__).parent / "models").glob(pattern))
    if not found:
        raise PdfQAError(
            f"OCR does not work: the package {package} lacks its model {pattern}.",
            f"Install it again with: pip install --force-reinstall {package}",
        )
    return found[0]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the packages from reporting on the terminal which files they load."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


class RapidModels:
    """RapidOCR's detector and recogniser (PP-OCRv6) and RapidLayout's model (CDLA), run by onnxruntime on the CPU.

    `threads` compute side by side. Raises PdfQAError where a package, a model or a system library is missing.
    """

    def __init__(self, threads: int = 1) -> None:
        try:
            with _quiet():
                import rapid_layout
                import rapidocr

                self._ocr: Any = rapidocr.RapidOCR(params=self._parameters(rapidocr, threads))
                self._layout: Any = rapid_layout.RapidLayout(
                    model_type="pp_layout_cdla",
                    model_dir_or_path=_model_file(rapid_layout, "layout_cdla.onnx", "rapid-layout"),
                    conf_thresh=_LAYOUT_SCORE,
                    engine_cfg={"intra_op_num_threads": threads, "inter_op_num_threads": 1},
                )
        except ModuleNotFoundError as error:
            raise PdfQAError(f"OCR needs the package {error.name}, which is not installed.", INSTALL) from error
        except ImportError as error:
            raise PdfQAError(f"OCR does not work: {error}.", SYSTEM) from error

    @staticmethod
    def _parameters(rapidocr: Any, threads: int) -> dict[str, Any]:
        return {
            "Global.log_level": "critical",
            "Global.use_cls": False,  # it turns upright lines upside down: see `picture`
            "Global.use_preprocess_img": False,
            "Global.return_word_box": True,
            "Det.model_path": str(_model_file(rapidocr, "*_det_*.onnx", "rapidocr")),
            "Rec.model_path": str(_model_file(rapidocr, "*_rec_*.onnx", "rapidocr")),
            "Rec.rec_batch_num": 1,  # no padding: less memory and less time
            "Det.limit_side_len": 32,
            "Det.max_candidates": _MANY,
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }

    def find_lines(self, picture: Picture) -> Quads:
        """Return the corners of each stretch of text."""
        with _quiet():
            found = self._ocr(_colours(picture), use_det=True, use_cls=False, use_rec=False).boxes
        return np.zeros((0, 4, 2), np.float32) if found is None else np.asarray(found, np.float32).reshape(-1, 4, 2)

    def recognise(self, pictures: Sequence[Picture]) -> list[Recognised]:
        """Return what each picture of one line says."""
        if not pictures:
            return []
        found = self._ocr.recognize_txt([_colours(picture) for picture in pictures])
        return [
            _recognised(text, float(score), info)
            for text, score, info in zip(found.txts, found.scores, found.word_results, strict=True)
        ]

    def find_regions(self, picture: Picture) -> list[Region]:
        """Return the parts of a page."""
        found = self._layout(_colours(picture))
        return [
            Region(str(label), Box(*map(float, box)), float(score))
            for box, label, score in zip(found.boxes or (), found.class_names or (), found.scores or (), strict=True)
        ]


def _colours(picture: Picture) -> npt.NDArray[np.uint8]:
    return np.repeat(picture[:, :, None], 3, axis=2)


def _recognised(text: str, score: float, info: Any) -> Recognised:
    """Return the line with the places of its characters, which are columns of the recogniser's output."""
    columns = float(info.line_txt_len) if info is not None else 0.0
    places = [(place + 0.5) / columns for word in info.word_cols for place in word] if columns else []
    complete = len(places) == sum(not c.isspace() for c in text)
    return Recognised(text, score, tuple(min(1.0, place) for place in places) if complete else ())
