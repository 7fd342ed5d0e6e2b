"""Where indexes in LanceDB lie, and whether LanceDB is there."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pdfqa_core.errors import ModelError, StorageError
from pdfqa_core.full_disk import cannot_write, is_full

FOLDER = "lance"  # below the folder of all indexes
LIBRARIES = ("lance", "lancedb", "pyarrow")
INSTALL = "Install it with: pip install -r requirements-lance.txt - or set index to memory."
PATIENCE = 5.0  # seconds for each of the about seven short requests that find out whether an object store answers
REQUEST, RETRYING = 60, 30  # seconds for one request later on, and after which a failed one is not tried again
FAULTS = (  # of object storage: what LanceDB's message holds, what happened, what to do
    (("NoSuchBucket",), "The bucket of {where} does not exist.", "Make it, or name another one in index_address."),
    (
        ("InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied", "403 Forbidden", "status: 403", "status: 401"),
        "The object storage refuses access to {where}.",
        "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and whether they may read, write, list and delete there.",
    ),
    (("BadScheme", "scheme is not allowed"), "The address in AWS_ENDPOINT for {where} is not encrypted.",
     "Use https, or set AWS_ALLOW_HTTP=true."),
    (("error sending request", "kind: Connect", "tcp connect error", "TimedOut", "kind: Timeout", "timed out"),
     "The object storage of {where} does not answer.", "Check the network and AWS_ENDPOINT, and try again."),
)  # fmt: skip


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
        if "://" in where:
            for signs, what, hint in FAULTS:
                if any(sign in str(error) for sign in signs):
                    raise StorageError(what.format(where=where), hint) from error
        if is_full(error):
            raise cannot_write(
                f"the index in {where}", error, "Documents are kept; what of it is whole, too."
            ) from error
        reason = (str(error).splitlines() or [""])[0][:200]
        raise StorageError(f"The index in {where} could not be used ({reason}).", "Try again.") from error


@dataclass(frozen=True)
class Place:
    """Where an owner's indexes lie: a folder, or an address like s3://bucket/folder.

    An object store has `patience` seconds for each of the short requests by which it is tried first.
    """

    where: str
    patience: float = PATIENCE

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
        """LanceDB's connection, to an object store once that has answered. Raises ModelError, StorageError."""
        connect = libraries()[0].connect
        with reported(self.where):
            if self.folder is not None:
                return connect(self.where)
            connect(self.where, storage_options=self._options(self.patience, self.patience)).list_tables(limit=1)
            return connect(self.where, storage_options=self._options(REQUEST, RETRYING))

    def _options(self, request: float, retrying: float) -> dict[str, str]:
        """Return LanceDB's storage options: seconds for a request, and after which a failed one is not tried again."""
        limit = f"{round(1000 * request)}ms"
        found = {"timeout": limit, "connect_timeout": f"{round(1000 * min(request, PATIENCE))}ms",
                 "client_retry_timeout": str(max(1, round(retrying))), "client_max_retries": "3"}  # fmt: skip
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        if region and self.where.startswith("s3"):
            found["region"] = region  # LanceDB does not look there for a bucket whose name has dots
        return found

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
