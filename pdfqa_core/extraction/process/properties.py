"""What a PDF says of itself, and the PDFs attached to it, read in a child process.

It says of itself its document properties, bookmarks and the text of its first page.
"""

from __future__ import annotations

import queue
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdfqa_core.errors import DocumentError
from pdfqa_core.extraction.layout.outline import OutlineEntry
from pdfqa_core.extraction.open import check_file
from pdfqa_core.extraction.process.children import Child
from pdfqa_core.extraction.process.limits import RENDER_MB
from pdfqa_core.types import DocumentState

LONGEST = 20_000  # characters of each text
MOST_ENTRIES = 5_000  # of the outline
LONGEST_ENTRY = 300  # characters


@dataclass(frozen=True, slots=True)
class FileProperties:
    """Title, author and date of making ("D:20230501…", PDF 32000-1, 7.9.4) as they stand in a file, and its first page.

    `outline` are its bookmarks. What the file does not have is empty.
    """

    title: str = ""
    author: str = ""
    created: str = ""
    first_page: str = ""
    outline: tuple[OutlineEntry, ...] = ()


def read_properties(
    path: Path, *, filename: str = "", password: str | None = None, seconds: float = 20
) -> FileProperties:
    """Return what a PDF, called `filename`, says of itself. Raises a DocumentError with the state it ends in."""
    name = filename or path.name
    found = _asked(path, name, password, seconds)
    try:
        title, author, created, first_page = (
            str(found[field])[:LONGEST] for field in ("title", "author", "created", "first_page")
        )
        return FileProperties(title, author, created, first_page, _outline(found["outline"]))
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(name) from error


def take_attached(
    path: Path, folder: Path, *, filename: str = "", password: str | None = None, most: int, seconds: float = 60
) -> list[tuple[Path, str]]:
    """Write the PDFs attached to a PDF into a folder; return where each lies, and its name, which may be anything.

    Together they have at most `most` bytes; what is more is left out. Raises a DocumentError with the state that the
    PDF ends in.
    """
    name = filename or path.name
    names = _asked(path, name, password, seconds, folder=str(folder), most=most).get("names", [])
    return [(folder / f"{number}.pdf", str(one)) for number, one in enumerate(names)]


def _asked(path: Path, name: str, password: str | None, seconds: float, **more: Any) -> dict[str, Any]:
    """Return what a child process answers. Raises a DocumentError."""
    check_file(path, name, sys.maxsize)
    child = Child("pdfqa_core.extraction.process.properties_child", RENDER_MB)
    try:
        child.send(path=str(path.resolve()), filename=name, password=password, seconds=int(seconds) + 1, **more)
        frame = child.receive(seconds)
        if frame is None:
            raise _damaged(name)
        found = frame.json()
        if "what" in found:
            raise frame.error()
        return found
    except queue.Empty as error:
        what = f"{name} could not be opened within {seconds:g} seconds."
        raise DocumentError(DocumentState.TOO_SLOW, what, "Print it to a new PDF in a PDF viewer.") from error
    except (OSError, ValueError) as error:
        raise _damaged(name) from error
    finally:
        child.end()


def _outline(rows: Any) -> tuple[OutlineEntry, ...]:
    """Return the bookmarks of which the child tells, which a file may have taken over."""
    found = [
        OutlineEntry(int(level), str(title)[:LONGEST_ENTRY], int(page)) for level, title, page in rows[:MOST_ENTRIES]
    ]
    return tuple(entry for entry in found if entry.level > 0 and entry.page > 0)


def _damaged(name: str) -> DocumentError:
    return DocumentError(
        DocumentState.BROKEN,
        f"{name} is damaged: what it says of itself cannot be read.",
        "Open it in a PDF viewer and print it to a new PDF, then take that.",
    )
