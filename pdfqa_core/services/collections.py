"""Collections of documents, also of uploaded folders, and what a choice of them stands for when a question is asked."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.storage import Collection, Store
from pdfqa_core.storage.collections import PREFIX
from pdfqa_core.whole_files import DAMAGE

# ----------------------------------------------------------------------------------------------------
# Folders of PDFs: which of their files are read, and collections of what was in their sub-folders.

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


# ----------------------------------------------------------------------------------------------------

SOME_GONE = "Some of the documents that were asked about have been removed; the others were searched."
ALL_GONE = "The documents that were asked about have been removed, so all documents were searched."
COLLECTION_GONE = "A collection that was asked about has been removed; the rest was searched."
ALL_COLLECTIONS_GONE = "The collection that was asked about has been removed, so all documents were searched."
EMPTY = "The collection “{}” holds no documents that can be searched; the rest was searched."


@dataclass(frozen=True, slots=True)
class Scope:
    """What a choice of documents and collections stands for now.

    `chosen` is what of it is still there, `document_ids` the documents to search (empty: all of them), `notes` say what
    is gone or empty. `empty` names the collections without a document that can be searched.
    """

    chosen: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()


class CollectionService:
    """The collections of each owner. A scope is a sequence of ids of documents and collections; empty: everything."""

    def __init__(self, store: Store) -> None:
        self.kept = store.collections
        self._documents = store.documents
        self._owners = store.owners

    def make(self, owner: str, name: str, document_ids: Sequence[str] = ()) -> Collection:
        """Make a collection of these documents. Raises UsageError if the name is empty or another one has it."""
        if not owner:
            raise UsageError("This page does not know whose documents these are.", "Open it again.")
        made = self.kept.make(owner, name)
        if document_ids:
            self.kept.put(owner, made.id, document_ids)
        return made

    def put_by_name(self, owner: str, name: str, document_ids: Sequence[str]) -> Collection:
        """Put documents into the collection of this name, which is made if there is none."""
        known = self._by_name(owner).get(name.casefold())
        if known is None:
            return self.make(owner, name, document_ids)
        self.kept.put(owner, known.id, document_ids)
        return known

    def _by_name(self, owner: str) -> dict[str, Collection]:
        return {one.name.casefold(): one for one in self.kept.list(owner)}

    # ------------------------------------------------------------ of a folder that was uploaded

    def note_folder(self, owner: str, files: Mapping[str, str], left_out: Sequence[str] = ()) -> None:
        """Keep what was uploaded: the id of the document by the path of its file ("reports/2024/may.pdf")."""
        folders: dict[str, list[str]] = {}
        for path, document_id in files.items():
            for parent in PurePosixPath(path).parents:
                if parent.name:
                    folders.setdefault(parent.as_posix(), []).append(document_id)
        offer = {"folders": folders, "left_out": list(left_out)}
        if owner and (folders or left_out):
            self._owners.set_preference(owner, OFFER, json.dumps(offer))

    def offered(self, owner: str) -> FolderOffer | None:
        """Return what was uploaded last, as far as it has been read; None where there is nothing to offer."""
        kept = self._owners.preference(owner, OFFER)
        if not kept:
            return None
        try:
            row = json.loads(str(kept))
            folders, left_out = dict(row["folders"]), tuple(map(str, row["left_out"]))
        except DAMAGE:
            return None
        there = {document.id for document in self._documents.list(owner)}
        names = {one.name.casefold() for one in self.kept.list(owner)}
        found = {
            path: ids
            for path, listed in sorted(folders.items())
            if (ids := tuple(dict.fromkeys(i for i in listed if i in there))) and path.casefold() not in names
        }
        if not found and not left_out:
            return None
        first = next(iter(sorted(folders)), "")
        return FolderOffer(first.partition("/")[0], found, left_out)

    def accept_folder(self, owner: str, path: str) -> Collection:
        """Make a collection of a folder. Raises UsageError if it is not offered, or its name is taken."""
        offer = self.offered(owner)
        if offer is None or path not in offer.folders:
            raise UsageError("This folder is not offered any more.", "Load the page again.")
        return self.put_by_name(owner, path, offer.folders[path])

    def decline_folder(self, owner: str) -> None:
        """Offer nothing any more."""
        self._owners.set_preference(owner, OFFER, None)

    # ------------------------------------------------------------ as scope

    def ids(self, owner: str, names: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of the collections with these names. Raises UsageError for another name."""
        known = self._by_name(owner)
        for name in names:
            if name.casefold() not in known:
                there = ", ".join(one.name for one in known.values()) or "none"
                raise UsageError(f"There is no collection {name!r}.", f"Known: {there}.")
        return tuple(dict.fromkeys(known[name.casefold()].id for name in names))

    def names(self, owner: str) -> dict[str, str]:
        """Return what collections are called where a conversation is said to be about them, by id."""
        return {one.id: f"the collection “{one.name}”" for one in self.kept.list(owner)}

    def resolve(self, owner: str, scope: Sequence[str]) -> Scope:
        """Return what a scope stands for now."""
        if not scope:
            return Scope()
        documents = {document.id: document.state.usable for document in self._documents.list(owner)}
        collections = {one.id: one for one in self.kept.list(owner)}
        chosen, searched, empty = list[str](), list[str](), list[str]()
        gone = {True: 0, False: 0}  # how many collections, how many documents
        for one in scope:
            if one in collections:
                usable = [i for i in collections[one].document_ids if documents.get(i)]
                searched += usable
                if not usable:
                    empty.append(collections[one].name)
            elif one in documents:
                searched.append(one)
            else:
                gone[one.startswith(PREFIX)] += 1
                continue
            chosen.append(one)
        notes = [EMPTY.format(name) for name in empty]
        if gone[False]:
            notes.append(SOME_GONE if chosen else ALL_GONE)
        if gone[True] and (chosen or not gone[False]):
            notes.append(COLLECTION_GONE if chosen else ALL_COLLECTIONS_GONE)
        return Scope(
            tuple(dict.fromkeys(chosen)), tuple(dict.fromkeys(searched)), tuple(notes), tuple(dict.fromkeys(empty))
        )

    def searched(self, owner: str, scope: Sequence[str]) -> Scope:
        """Return what a scope stands for. Raises PdfQAError where that is nothing but empty collections."""
        found = self.resolve(owner, scope)
        if found.empty and not found.document_ids:
            names = " and ".join(f"“{name}”" for name in found.empty)
            which = f"The collection {names} holds" if len(found.empty) == 1 else f"The collections {names} hold"
            raise PdfQAError(
                f"{which} no documents that can be searched.",
                "Put documents in on the Documents tab, or ask about something else.",
            )
        return found
