"""What a PDF says of itself: its document properties and the text of its first page, read in a child process."""

from __future__ import annotations

import queue
import sys
from dataclasses import dataclass
from pathlib import Path

from pdfqa_core.errors import DocumentError
from pdfqa_core.extraction.open import check_file
from pdfqa_core.extraction.process.children import Child
from pdfqa_core.extraction.process.limits import RENDER_MB
from pdfqa_core.types import DocumentState

LONGEST = 20_000  # characters of each text


@dataclass(frozen=True, slots=True)
class FileProperties:
    """Title, author and date of making ("D:20230501…", PDF 32000-1, 7.9.4) as they stand in a file, and its first page.

    What the file does not have is empty.
    """

    title: str = ""
    author: str = ""
    created: str = ""
    first_page: str = ""


def read_properties(
    path: Path, *, filename: str = "", password: str | None = None, seconds: float = 20
) -> FileProperties:
    """Return what a PDF, called `filename`, says of itself. Raises a DocumentError with the state it ends in."""
    name = filename or path.name
    check_file(path, name, sys.maxsize)
    child = Child("pdfqa_core.extraction.process.properties_child", RENDER_MB)
    try:
        child.send(path=str(path.resolve()), filename=name, password=password, seconds=int(seconds) + 1)
        frame = child.receive(seconds)
        if frame is None:
            raise _damaged(name)
        found = frame.json()
        if "what" in found:
            raise frame.error()
        return FileProperties(**{field: str(found[field])[:LONGEST] for field in FileProperties.__slots__})
    except queue.Empty as error:
        what = f"{name} could not be opened within {seconds:g} seconds."
        raise DocumentError(DocumentState.TOO_SLOW, what, "Print it to a new PDF in a PDF viewer.") from error
    except (OSError, ValueError, KeyError) as error:
        raise _damaged(name) from error
    finally:
        child.end()


def _damaged(name: str) -> DocumentError:
    return DocumentError(
        DocumentState.BROKEN,
        f"{name} is damaged: what it says of itself cannot be read.",
        "Open it in a PDF viewer and print it to a new PDF, then take that.",
    )
