"""What every strategy is given, what it has to offer, and where it registers itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from pdfqa_core.extraction.raw_page import RawPage
from pdfqa_core.interfaces import Extractor
from pdfqa_core.registry import Registry


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """Caps and choices for one file, its name as the user knows it, and a callback for progress.

    `on_page` gets the pages read, the pages of the file, and how many of those read were read by OCR. `workers` are
    the processes that may share the pages; each may take `memory_mb`, and `page_seconds` more for a page read by OCR.
    `pages` are the 1-based numbers of those to read, ascending; none: all.
    """

    max_pages: int = 2000
    max_characters: int = 20_000_000
    filename: str = ""
    on_page: Callable[[int, int, int], None] | None = None
    tables: bool = True
    workers: int = 1
    memory_mb: int = 1500
    page_seconds: float = 60
    pages: tuple[int, ...] = ()


extractors: Registry[Callable[..., Extractor]] = Registry("extractor")


class PageReader(Protocol):
    """Reads the lines of single pages. What needs the whole document comes afterwards (`layout.pages.build_pages`).

    `heavy`: a page takes a second or more, so that even two of them are worth two processes.
    """

    heavy: ClassVar[bool]

    def read(
        self, path: Path, document_id: str, numbers: Sequence[int], password: str | None, name: str
    ) -> Iterator[RawPage]:
        """Yield the pages with these ascending 1-based numbers. Raises a `DocumentError` if the file is bad."""
        ...
