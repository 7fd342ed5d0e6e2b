"""Files for the browser, in one folder of this process that is removed at its end.

Gradio copies a file into its own cache when a handler returns its path, and empties that cache by itself.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from pdfqa_core.whole_files import safe_name

KEPT = 3600.0  # seconds for which a file is kept


def write(name: str, data: bytes) -> str:
    """Write a file that the browser saves under `safe_name(name)`, remove those that are too old; return its path."""
    folder = Path(_folder().name)
    for one in folder.iterdir():
        with suppress(FileNotFoundError):  # another thread was faster
            if one.stat().st_mtime < time.time() - KEPT:
                shutil.rmtree(one, ignore_errors=True)
    path = Path(tempfile.mkdtemp(dir=folder)) / safe_name(name)
    path.write_bytes(data)
    return str(path)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="pdfqa-", ignore_cleanup_errors=True)
