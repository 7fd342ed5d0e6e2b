"""Folders of PDFs: which of their files are read, and collections of what was in their sub-folders."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pdfqa_core.errors import UsageError
from pdfqa_core.storage import Collection
from pdfqa_core.storage.owners import Owners
from pdfqa_core.whole_files import DAMAGE

if TYPE_CHECKING:
    from pdfqa_core.services.documents import DocumentService

PDFS = ("*.pdf",)
OFFER = "folder-offer"  # the preference that keeps it


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file of a folder that is not read, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """The files of a folder that are to be read, in the order of their paths, and the others."""

    chosen: tuple[Path, ...]
    left_out: tuple[LeftOut, ...]


def files_of(
    folder: Path, include: Sequence[str] = PDFS, exclude: Sequence[str] = (), *, recursive: bool = True
) -> FolderFiles:
    """Return the files of a folder, with its sub-folders where `recursive`, that one of the patterns names.

    Patterns as of a shell ("*.pdf", "drafts/*"), compared with the name and with the path in the folder, in any case; a
    star crosses folders. What begins with a dot is hidden, and left out. Raises UsageError if there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.", "Check the path.")
    chosen, left_out = list[Path](), list[LeftOut]()
    for path, problem in _walk(folder, recursive):
        name = path.relative_to(folder).as_posix()
        reason = problem or why_not(name, include, exclude)
        if reason:
            left_out.append(LeftOut(name, reason))
        else:
            chosen.append(path)
    return FolderFiles(tuple(chosen), tuple(left_out))


def why_not(path: str, include: Sequence[str] = PDFS, exclude: Sequence[str] = ()) -> str:
    """Return why a file of a folder is not read, by its path there; empty: it is."""
    if any(part.startswith(".") for part in PurePosixPath(path).parts):
        return "hidden"
    if not any(_matches(path, pattern) for pattern in include):
        return f"not {' or '.join(include)}"
    return next((f"left out by {pattern}" for pattern in exclude if _matches(path, pattern)), "")


def _matches(path: str, pattern: str) -> bool:
    path, pattern = path.casefold(), pattern.casefold().removeprefix("./")
    return fnmatchcase(path, pattern) or fnmatchcase(PurePosixPath(path).name, pattern)


def _walk(folder: Path, recursive: bool) -> Iterator[tuple[Path, str]]:
    """Yield each file below a folder, and each folder that cannot be opened with the reason."""
    failed: list[OSError] = []
    for here, folders, files in os.walk(folder, onerror=failed.append):
        folders[:] = sorted(one for one in folders if not one.startswith(".")) if recursive else []
        for name in sorted(files):
            yield Path(here) / name, ""
    for error in failed:
        yield Path(str(error.filename)), f"cannot be opened: {error.strerror}"


# ------------------------------------------------------------ what was uploaded


@dataclass(frozen=True, slots=True)
class FolderOffer:
    """What came of an uploaded folder: its sub-folders with their documents, and the files that were left aside."""

    name: str
    folders: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many documents it has brought."""
        return len({document_id for ids in self.folders.values() for document_id in ids})


class FolderService:
    """Offers each owner collections of the folder that was uploaded last, until that is accepted or declined."""

    def __init__(self, owners: Owners, documents: DocumentService) -> None:
        self._owners = owners
        self._documents = documents

    def note(self, owner: str, files: Mapping[str, str], left_out: Sequence[str] = ()) -> None:
        """Keep what was uploaded: the id of the document by the path of its file ("reports/2024/may.pdf")."""
        folders: dict[str, list[str]] = {}
        for path, document_id in files.items():
            for parent in PurePosixPath(path).parents:
                if parent.name:
                    folders.setdefault(parent.as_posix(), []).append(document_id)
        offer = {"folders": folders, "left_out": list(left_out)}
        if owner and (folders or left_out):
            self._owners.set_preference(owner, OFFER, json.dumps(offer))

    def offer(self, owner: str) -> FolderOffer | None:
        """Return what was uploaded last, as far as it has been read; None where there is nothing to offer."""
        kept = self._owners.preference(owner, OFFER)
        if not kept:
            return None
        try:
            row = json.loads(str(kept))
            folders, left_out = dict(row["folders"]), tuple(map(str, row["left_out"]))
        except DAMAGE:
            return None
        there = {document.id for document in self._documents.kept.list(owner)}
        names = {one.name.casefold() for one in self._documents.collections.kept.list(owner)}
        found = {
            path: ids
            for path, listed in sorted(folders.items())
            if (ids := tuple(dict.fromkeys(i for i in listed if i in there))) and path.casefold() not in names
        }
        if not found and not left_out:
            return None
        first = next(iter(sorted(folders)), "")
        return FolderOffer(first.partition("/")[0], found, left_out)

    def accept(self, owner: str, path: str) -> Collection:
        """Make a collection of a folder. Raises UsageError if it is not offered, or its name is taken."""
        offer = self.offer(owner)
        if offer is None or path not in offer.folders:
            raise UsageError("This folder is not offered any more.", "Load the page again.")
        return self._documents.collections.put_by_name(owner, path, offer.folders[path])

    def decline(self, owner: str) -> None:
        """Offer nothing any more."""
        self._owners.set_preference(owner, OFFER, None)
