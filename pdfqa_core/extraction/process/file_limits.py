"""What a file from outside may hold, counted while it is read: bytes and parts of a ZIP, values and depth of its texts.

Nothing that a file says of itself is believed; what is counted is what came out of it.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from itertools import accumulate

from pdfqa_core.errors import UsageError

MB = 1_000_000
_SEPARATORS = (b",", b";", b"\t")
_BOM = b"\xef\xbb\xbf"
_QUOTED = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
_TO_QUOTE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_OTHERS = bytes(set(range(256)) - set(b"[{]}"))


@dataclass(frozen=True, slots=True)
class FileLimits:
    """What one file from outside may hold, and what reading it may take.

    `unpacked` are bytes of all parts of a ZIP together, `text` those of one text, which is parsed as a whole. `values`
    counts what stands in JSON (objects, lists, texts, numbers) and, up to twice as many, cells and rows of tables.
    """

    unpacked: int
    text: int
    parts: int
    values: int
    depth: int
    memory_mb: int
    seconds: int
    hint: str


OWNERS = FileLimits(4000 * MB, 1000 * MB, 100_000, 20_000_000, 100, 1500, 600, "Split it.")
"""What they bring whose computer it is, or who have an account."""

SMALL = FileLimits(4 * MB, 4 * MB, 200, 100_000, 100, 0, 0, "")
"""What is harmless wherever it is read: some 20 MB of memory, a tenth of a second."""


def of_visitors(megabytes: int) -> FileLimits:
    """Return what a visitor of a demo may bring who may keep so many MB."""
    hint = "Take a smaller file, or use the program on your own computer."
    return FileLimits(megabytes * MB, megabytes * MB * 2 // 5, 2000, 500_000, 100, 400, 30, hint)


class TooMuchError(UsageError):
    """A file holds more than its limits allow."""


class Count:
    """Counts what comes out of one file, and raises TooMuchError as soon as it is too much."""

    def __init__(self, limits: FileLimits, name: str) -> None:
        self._limits = limits
        self._name = name
        self._unpacked = self._parts = self._values = self._cells = 0

    def part(self) -> None:
        """Count a part of a ZIP."""
        self._parts += 1
        self._check(self._parts, self._limits.parts, "{:,} parts")

    def bytes(self, size: int) -> None:
        """Count unpacked bytes."""
        self._unpacked += size
        self._check(self._unpacked, self._limits.unpacked, "{:,.0f} MB unpacked", MB)

    def text(self, size: int, part: str) -> None:
        """Look at the bytes that a text has so far; `part` is what it is called inside a ZIP, else empty."""
        self._check(size, self._limits.text, f"{{:,.0f}} MB of text{f' in {part}' if part else ''}", MB)

    def values(self, count: int) -> None:
        """Count values of JSON."""
        self._values += count
        self._check(self._values, self._limits.values, "{:,} values")

    def cells(self, count: int) -> None:
        """Count cells and rows of tables."""
        self._cells += count
        self._check(self._cells, 2 * self._limits.values, "{:,} cells")

    def depth(self, depth: int) -> None:
        """Look at how deep a list or object lies in others."""
        if depth > self._limits.depth:
            raise TooMuchError(
                f"{self._name} is nested too deeply: over {self._limits.depth} lists or objects in each other.",
                "Write plain lists and objects.",
            )

    def _check(self, count: int, most: int, words: str, unit: int = 1) -> None:
        if count > most:
            raise TooMuchError(
                f"{self._name} holds too much: over {words.format(most if unit == 1 else most / unit)}.",
                self._limits.hint,
            )


class TextCount:
    """Counts values and depth, or cells and rows, in a text that comes block by block.

    It need not be valid: what lies outside of quotes is counted as it stands, so that no reader makes more of it.
    """

    def __init__(self, count: Count, part: str = "") -> None:
        self._count = count
        self._part = part
        self._size = self._depth = 0
        self._json: bool | None = None  # not known before the first letter
        self._quoted = False
        self._left = b""

    def take(self, block: bytes) -> None:
        """Count a block. Raises TooMuchError."""
        self._size += len(block)
        self._count.text(self._size, self._part)
        self._count.cells(max(map(block.count, _SEPARATORS)) + block.count(b"\n") + block.count(b"\r"))
        if self._json is None and (begun := block.removeprefix(_BOM).lstrip()):
            self._json = begun[:1] in (b"{", b"[")
        if self._json:
            self._structure(block)

    def _structure(self, block: bytes) -> None:
        block, self._left = self._left + block, b""
        if (len(block) - len(block.rstrip(b"\\"))) % 2:  # what it escapes comes with the next block
            block, self._left = block[:-1], b"\\"
        if self._quoted:
            end = _TO_QUOTE.match(block)
            if end is None:
                return
            block = block[end.end() :]
        self._quoted = bool(block.replace(b"\\\\", b"").replace(b'\\"', b"").count(b'"') % 2)
        block = _QUOTED.sub(b"", block)
        self._count.values(block.count(b",") + block.count(b"[") + block.count(b"{"))
        heights = list(accumulate(array("b", block.translate(_STEPS, _OTHERS)), initial=self._depth))
        self._count.depth(max(heights))
        self._depth = heights[-1]
