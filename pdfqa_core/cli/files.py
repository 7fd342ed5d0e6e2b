"""Result files: written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pdfqa_core.errors import UsageError


def write_file(path: Path, data: bytes) -> None:
    """Write a file, its folder too: whole or not at all. Raises UsageError where that is not possible."""
    draft = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise UsageError(f"{path} is a folder.", "Name a file.")
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".pdfqa-")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        Path(draft).chmod(0o666 & ~umask)
        Path(draft).replace(path)
    except OSError as error:
        if draft:
            Path(draft).unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror}.", "Choose another place.") from error
