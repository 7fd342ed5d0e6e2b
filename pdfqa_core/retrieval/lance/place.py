"""Where indexes in LanceDB lie, and whether LanceDB is there."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pdfqa_core.errors import ModelError, StorageError

FOLDER = "lance"  # below the folder of all indexes
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
def reported(where: str) -> Iterator[None]:
    """Raise StorageError for what LanceDB raises while it works in `where`."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0][:200]
        raise StorageError(f"The index in {where} could not be used ({reason}).", "Try again.") from error


@dataclass(frozen=True)
class Place:
    """Where an owner's indexes lie: a folder, or an address like s3://bucket/folder."""

    where: str

    @classmethod
    def of(cls, root: Path, address: str = "") -> Place:
        """Return the place below `root`, the folder of all indexes of an owner; `address` names another one for all.

        There each owner has a folder whose name follows from `root`.
        """
        if not address:
            return cls(str(root / FOLDER))
        return cls(f"{address.rstrip('/')}/{hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]}")

    @property
    def folder(self) -> Path | None:
        """The folder; None in object storage."""
        return None if "://" in self.where else Path(self.where)

    @property
    def used(self) -> bool:
        """Whether anything may lie here."""
        return self.folder is None or self.folder.is_dir()

    @cached_property
    def database(self) -> Any:
        """LanceDB's connection. Raises ModelError, StorageError."""
        with reported(self.where):
            return libraries()[0].connect(self.where)

    def names(self) -> list[str]:
        """Return the names of all tables. Raises ModelError, StorageError."""
        found: list[str] = []
        token = None
        with reported(self.where):
            while True:
                page = self.database.list_tables(page_token=token)
                found += page.tables
                token = page.page_token
                if not token:
                    return found

    def drop(self) -> None:
        """Remove everything. Raises ModelError, StorageError, OSError."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            with reported(self.where):
                self.database.drop_all_tables()
