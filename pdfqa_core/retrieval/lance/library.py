"""LanceDB: whether it is there, its connection to a folder, and what its errors mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pdfqa_core.errors import ModelError, StorageError
from pdfqa_core.whole_files import cannot_write, is_full

FOLDER = "lance"  # below the folder of all indexes of an owner
LIBRARIES = ("lance", "lancedb", "pyarrow")
INSTALL = "Install it with: pip install -r requirements-lance.txt - or set index to memory."


def installed() -> bool:
    """Whether LanceDB is installed; it is not imported for that, since it takes seconds and does not bear forks."""
    return all(find_spec(name) is not None for name in LIBRARIES)


def libraries() -> tuple[Any, Any]:
    """Return the modules lancedb and pyarrow. Raises ModelError if LanceDB is not installed."""
    try:
        import lance  # noqa: F401 - removing needs it
        import lancedb
        import pyarrow
    except ImportError as error:
        raise ModelError("LanceDB is not installed.", INSTALL) from error
    return lancedb, pyarrow


@contextmanager
def reported(folder: Path) -> Iterator[None]:
    """Raise StorageError for what LanceDB raises while it works in a folder."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        if is_full(error):
            raise cannot_write(
                f"the index in {folder}", error, "Documents are kept; what of it is whole, too."
            ) from error
        reason = (str(error).splitlines() or [""])[0][:200]
        raise StorageError(f"The index in {folder} could not be used ({reason}).", "Try again.") from error


def connected(folder: Path) -> Any:
    """Return LanceDB's connection. Raises ModelError, StorageError."""
    connect = libraries()[0].connect
    with reported(folder):
        return connect(str(folder))


def table_names(database: Any, folder: Path) -> list[str]:
    """Return the names of all tables. Raises StorageError."""
    found: list[str] = []
    token = None
    with reported(folder):
        while True:
            page = database.list_tables(page_token=token)
            found += page.tables
            token = page.page_token
            if not token:
                return found
