"""Files for and from the browser: in one folder of this process, which nobody else may read and which ends with it.

Gradio keeps uploads and copies of downloads in `uploads()`. A program that was killed leaves its folder; the next one
removes it, see `whole_files`.
"""

from __future__ import annotations

import atexit
import math
import shutil
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from pdfqa_core.whole_files import remove_left_over, temporary_prefix

KEPT = 3600.0  # seconds for which a file is kept


@cache
def folder() -> Path:
    """Return the folder; it is made with the first call."""
    remove_left_over()
    atexit.register(remove)
    return Path(tempfile.mkdtemp(prefix=temporary_prefix()))


def uploads() -> Path:
    """Return where uploads arrive and lie until they are read."""
    return folder() / "gradio"


def downloads() -> Path:
    """Return where files for the browser lie."""
    return folder() / "downloads"


def tidy(older_than: float = KEPT) -> None:
    """Remove files that nobody has changed for so many seconds, and folders that are empty then."""
    limit = time.time() - older_than
    found = [(path, _changed(path)) for path in sorted(folder().rglob("*"), reverse=True)]
    for path, changed in found:  # what is in a folder comes before it
        if changed < limit:
            with suppress(OSError):  # in use, gone already, or not empty
                path.rmdir() if path.is_dir() else path.unlink()


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # gone meanwhile
        return math.inf


def remove() -> None:
    """Remove the folder with all that is in it."""
    if folder.cache_info().currsize:
        shutil.rmtree(folder(), ignore_errors=True)
        folder.cache_clear()
