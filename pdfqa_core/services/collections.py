"""Collections of documents, and what a choice of documents and collections stands for when a question is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.storage import Collection, Store
from pdfqa_core.storage.collections import PREFIX
from pdfqa_core.storage.versions import REPLACED

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
    """The collections of each owner. A scope is a sequence of ids of documents and of collections; empty: everything.

    A document that was replaced by a newer version stands for that one.
    """

    def __init__(self, store: Store) -> None:
        self.kept = store.collections
        self._versions = store.versions
        self._documents = store.documents

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
        successors = {one.earlier_id: one.document_id for one in self._versions.list(owner) if one.decision == REPLACED}
        chosen, searched, empty = list[str](), list[str](), list[str]()
        gone = {True: 0, False: 0}  # how many collections, how many documents
        for one in scope:
            now = one if one in collections else _newest(one, documents, successors)
            if now in collections:
                usable = [i for i in collections[now].document_ids if documents.get(i)]
                searched += usable
                if not usable:
                    empty.append(collections[now].name)
            elif now in documents:
                searched.append(now)
            else:
                gone[one.startswith(PREFIX)] += 1
                continue
            chosen.append(now)
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


def _newest(document_id: str, documents: dict[str, bool], successors: dict[str, str]) -> str:
    """Return the document itself if it is there, else the newer version that took its place, if any did."""
    seen = set[str]()
    while document_id not in documents and document_id in successors and document_id not in seen:
        seen.add(document_id)
        document_id = successors[document_id]
    return document_id
