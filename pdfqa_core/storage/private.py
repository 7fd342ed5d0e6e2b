"""The workspace is its user's alone: folders 0700, files 0600, where the system knows such rights."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# What the program makes in a workspace. Nothing else is touched: the folder may be somebody's home.
FILES = ("*.sqlite", "*.sqlite-wal", "*.sqlite-shm", "models.json", "pdfqa.toml")
FOLDERS = (
    "pdfs", "unknown-pdfs", "indexes", "visitors", "incoming", "exports", "models", "run_data", "training",
)  # fmt: skip
FOLDER, FILE = 0o700, 0o600
OTHERS = 0o077  # the rights of the group and of everybody
_log = logging.getLogger(__name__)


def make_private(workspace: Path) -> None:
    """Take the rights of everybody else away from a workspace and what the program has put there."""
    if os.name != "posix":
        return
    try:
        _restrict(workspace, FOLDER)
    except OSError as error:  # a mounted disk that knows no rights, or somebody else's folder
        _log.warning("others may be able to read %s: %s", workspace, error)
        return
    for path in _own(workspace):
        with suppress(OSError):  # gone meanwhile
            _restrict(path, FOLDER if path.is_dir() else FILE)


def private_file(path: Path) -> None:
    """Make an empty file that nobody else may read, if there is none. SQLite gives its log the same rights."""
    with suppress(FileExistsError):
        path.touch(mode=FILE, exist_ok=False)


def open_to_others(workspace: Path) -> tuple[Path, ...]:
    """Return what somebody else of this computer has any right to: the workspace, and what the program put there.

    Empty on systems without POSIX rights, and where nobody else has one.
    """
    if os.name != "posix":
        return ()
    found = []
    for path in (workspace, *_own(workspace)):
        with suppress(FileNotFoundError):  # gone meanwhile
            if path.stat().st_mode & OTHERS:
                found.append(path)
    return tuple(found)


def _own(workspace: Path) -> Iterator[Path]:
    for pattern in FILES:
        yield from workspace.glob(pattern)
    for name in FOLDERS:
        folder = workspace / name
        if folder.is_dir() and not folder.is_symlink():
            yield folder
            yield from (path for path in folder.rglob("*") if not path.is_symlink())


def _restrict(path: Path, mode: int) -> None:
    if path.stat().st_mode & 0o777 != mode:
        path.chmod(mode)
