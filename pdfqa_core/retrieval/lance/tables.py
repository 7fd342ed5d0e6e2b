"""The two tables of an index in LanceDB: a row per passage, and a row per document with the words it has.

What stands in the second table is whole in the first: passages are written before their document, and removed after it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pdfqa_core.errors import StorageError
from pdfqa_core.languages import RULES
from pdfqa_core.retrieval.bm25 import Ints
from pdfqa_core.retrieval.encoder import Vectors
from pdfqa_core.retrieval.lance.library import FOLDER, connected, installed, libraries, reported, table_names
from pdfqa_core.text import words
from pdfqa_core.types import Passage, Span

# ----------------------------------------------------------------------------------------------------
# What the rows of the two tables hold, and passages as text in them.

WORDS, VECTOR = "words", "vector"

# By column: i, l integers of 32 and 64 bits, f a float, s text, S and I lists of text and integers.
PASSAGE_COLUMNS = {
    "key": "l", "place": "i", "length": "i", "text_words": "i", "first_page": "i", "last_page": "i", WORDS: "s",
    "passage": "s",
}  # fmt: skip
DOCUMENT_COLUMNS = {
    "document": "s", "source": "s", "passages": "i", "language": "s", "seconds": "f", "vocabulary": "S",
    "frequencies": "I",
}  # fmt: skip


def document_key(document_id: str) -> int:
    """Return the number that stands for a document in the passages' table."""
    return int.from_bytes(hashlib.sha256(document_id.encode()).digest()[:8], "big", signed=True)


def as_json(passage: Passage) -> str:
    """Return a passage as it stands in its row: ASCII, as broken PDFs hold lone surrogates, which UTF-8 cannot say."""
    spans = [[span.document_id, span.page, span.start, span.end] for span in passage.spans]
    return json.dumps([passage.id, spans, passage.text, passage.heading, passage.language], separators=(",", ":"))


def passage_of(written: str) -> Passage:
    """Return the passage of such a text."""
    number, spans, text, heading, language = json.loads(written)
    return Passage(number, tuple(Span(*span) for span in spans), text, heading, language)


# ----------------------------------------------------------------------------------------------------
# The two tables of an index in LanceDB: a row per passage, and a row per document with the words it has.

SCHEMA = f"1.{RULES}"  # and what a term is: part of the tables' names: those of another form are not read
DOCUMENTS = "-documents"
OLD = timedelta(days=1)  # versions that another process may still be reading


@dataclass(frozen=True)
class Entry:
    """What the second table says of a document: the text its passages were made of, how many, seconds of building."""

    source: str
    passages: int
    language: str
    seconds: float


@dataclass(frozen=True, eq=False)
class Columns:
    """What is kept in memory of each passage, by row: its number in the table, words, pages (first, last).

    `lengths` count the terms of heading and text, `words` those of the text.
    """

    ids: Ints
    lengths: Ints
    words: Ints
    pages: Ints

    @cached_property
    def _order(self) -> Ints:
        return np.argsort(self.ids)

    def rows_of(self, ids: Ints) -> Ints:
        """Return the rows of passages by their numbers in the table."""
        return np.asarray(self._order[np.searchsorted(self.ids, ids, sorter=self._order)], dtype=np.int64)


class Tables:
    """The two tables of one index, by the name of the first."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self._database = connected(folder)
        self._there = set(table_names(self._database, folder))

    # ------------------------------------------------------------ reading

    @cached_property
    def _passages(self) -> Any:
        with reported(self.folder):
            return self._database.open_table(self.name) if self.name in self._there else None

    @cached_property
    def _documents(self) -> Any:
        name = self.name + DOCUMENTS
        with reported(self.folder):
            return self._database.open_table(name) if name in self._there else None

    @property
    def table(self) -> Any:
        """LanceDB's table of passages; None before the first one was added."""
        return self._passages

    @property
    def dimension(self) -> int:
        """How many numbers a vector has; 0 where there are none."""
        if self._passages is None or VECTOR not in self._passages.schema.names:
            return 0
        return int(self._passages.schema.field(VECTOR).type.list_size)

    def entries(self) -> dict[str, Entry]:
        """Return what is known of each document. Raises StorageError."""
        if self._documents is None:
            return {}
        with reported(self.folder):
            columns = ["document", "source", "passages", "language", "seconds"]
            found = self._documents.to_lance().to_table(columns=columns).to_pylist()
        return {row.pop("document"): Entry(**row) for row in found}

    def vocabulary(self) -> dict[str, dict[str, int]]:
        """Return by language in how many passages each word stands. Raises StorageError."""
        if self._documents is None:
            return {}
        pyarrow = libraries()[1]
        with reported(self.folder):
            read = self._documents.to_lance().to_table(columns=["language", "vocabulary", "frequencies"])
        lists = read["vocabulary"].combine_chunks()
        parents = lists.value_lengths().to_numpy(zero_copy_only=False)
        flat = pyarrow.table(
            {
                "language": pyarrow.array(np.repeat(read["language"].to_numpy(), parents), pyarrow.string()),
                "word": lists.flatten(),
                "passages": read["frequencies"].combine_chunks().flatten(),
            }
        )
        sums = flat.group_by(["language", "word"]).aggregate([("passages", "sum")])
        found: dict[str, dict[str, int]] = {}
        for language, word, passages in zip(*(sums[name].to_pylist() for name in sums.column_names), strict=True):
            found.setdefault(language, {})[word] = passages
        return found

    def columns(self, counts: dict[str, int]) -> tuple[Columns, set[str]]:
        """Return what is kept in memory, documents in the order of `counts` (passages by document).

        And those of which not every passage is there exactly once: they have to be removed and built again. Raises
        StorageError.
        """
        names, size = list(counts), np.asarray(list(counts.values()), dtype=np.int64)
        starts = np.concatenate(([0], np.cumsum(size)))
        keys = np.asarray([document_key(name) for name in names], dtype=np.int64)
        order = np.argsort(keys)
        filled = np.full((5, int(starts[-1])), -1, dtype=np.int64)
        wrong = np.zeros(len(names), dtype=np.bool_)
        if self._passages is None:
            wrong[:] = size > 0
            return Columns(filled[0], filled[1], filled[2], filled[3:].T), {names[i] for i in np.flatnonzero(wrong)}
        with reported(self.folder):
            wanted = ["key", "place", "length", "text_words", "first_page", "last_page"]
            read = self._passages.to_lance().to_table(columns=wanted, with_row_id=True)
        key, place = read["key"].to_numpy(), read["place"].to_numpy().astype(np.int64)
        at = np.searchsorted(keys, key, sorter=order) if len(keys) else np.zeros(0, dtype=np.int64)
        known = np.asarray([], dtype=np.int64) if not len(keys) else order[np.minimum(at, len(keys) - 1)]
        mine = np.flatnonzero(keys[known] == key) if len(keys) else np.asarray([], dtype=np.int64)
        document, place = known[mine], place[mine]
        inside = place < size[document]
        wrong[document[~inside]] = True
        mine, rows = mine[inside], starts[document[inside]] + place[inside]
        times = np.bincount(rows, minlength=int(starts[-1]))
        wrong[np.repeat(np.arange(len(names)), size)[times != 1]] = True
        for number, name in enumerate(("_rowid", "length", "text_words", "first_page", "last_page")):
            filled[number][rows] = read[name].to_numpy()[mine].astype(np.int64)
        return Columns(filled[0], filled[1], filled[2], filled[3:].T), {names[i] for i in np.flatnonzero(wrong)}

    def take(self, ids: Ints, column: str) -> Any:
        """Return a column of the passages with these numbers (each once), in their order, as an Arrow array."""
        pyarrow = libraries()[1]
        with reported(self.folder):
            chosen = self._passages.take_row_ids(ids.tolist()).select([column]).with_row_id().to_arrow()
            found = chosen["_rowid"].to_numpy().astype(np.int64)
            if len(found) != len(ids):
                raise ValueError(f"{len(found)} of {len(ids)} passages are there")
            to_sorted, back = np.argsort(found), np.argsort(np.argsort(ids))
            return chosen[column].combine_chunks().take(pyarrow.array(to_sorted[back]))

    def vectors(self, ids: Ints) -> Vectors:
        """Return the vectors of the passages with these numbers, row by row. Raises StorageError."""
        flat = self.take(ids, VECTOR).flatten().to_numpy(zero_copy_only=False)
        return np.asarray(flat, dtype=np.float32).reshape(len(ids), -1)

    def passages(self, ids: Ints) -> list[Passage]:
        """Return the passages with these numbers, in their order. Raises StorageError."""
        return [passage_of(one) for one in self.take(ids, "passage").to_pylist()] if len(ids) else []

    # ------------------------------------------------------------ writing

    def add(
        self, documents: Sequence[tuple[str, Entry, Sequence[Passage], Sequence[Sequence[str]], Vectors | None]]
    ) -> None:
        """Write documents: id, entry, passages, the terms of each passage, vectors row by row. Raises StorageError."""
        pyarrow = libraries()[1]
        rows: dict[str, list[Any]] = {name: [] for name in PASSAGE_COLUMNS}
        entries: dict[str, list[Any]] = {name: [] for name in DOCUMENT_COLUMNS}
        for document_id, entry, passages, terms, _ in documents:
            for place, (passage, found) in enumerate(zip(passages, terms, strict=True)):
                values = (
                    document_key(document_id),
                    place,
                    len(found),
                    len(words(passage.text)),
                    passage.pages[0],
                    passage.pages[-1],
                    " ".join(found),
                    as_json(passage),
                )
                for column, value in zip(rows.values(), values, strict=True):
                    column.append(value)
            frequencies = Counter(term for found in terms for term in set(found))
            values_of = (
                document_id,
                entry.source,
                entry.passages,
                entry.language,
                entry.seconds,
                list(frequencies),
                list(frequencies.values()),
            )
            for column, value in zip(entries.values(), values_of, strict=True):
                column.append(value)
        types = {
            "i": pyarrow.int32(),
            "l": pyarrow.int64(),
            "s": pyarrow.string(),
            "f": pyarrow.float64(),
            "S": pyarrow.list_(pyarrow.string()),
            "I": pyarrow.list_(pyarrow.int32()),
        }
        arrays = {name: pyarrow.array(rows[name], types[kind]) for name, kind in PASSAGE_COLUMNS.items()}
        filled = [vectors for *_, vectors in documents if vectors is not None and len(vectors)]
        if filled:
            whole = np.ascontiguousarray(np.concatenate(filled), dtype=np.float32)
            arrays[VECTOR] = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(whole.ravel()), whole.shape[1])
        described = {name: pyarrow.array(entries[name], types[kind]) for name, kind in DOCUMENT_COLUMNS.items()}
        with reported(self.folder):
            if rows["key"]:
                self._write(self.name, "_passages", pyarrow.table(arrays))
            self._write(self.name + DOCUMENTS, "_documents", pyarrow.table(described))

    def _write(self, name: str, attribute: str, rows: Any) -> None:
        table = getattr(self, attribute)
        if table is not None:
            table.add(rows)
            return
        setattr(self, attribute, self._database.create_table(name, rows))
        self._there.add(name)

    def remove(self, document_ids: Sequence[str]) -> None:
        """Remove documents, and the bytes that held them; indexes over their passages are built anew when needed.

        Raises StorageError.
        """
        quoted = ", ".join("'" + one.replace("'", "''") + "'" for one in document_ids)
        keys = ", ".join(str(document_key(one)) for one in document_ids)
        try:
            self._delete(self._documents, f"document IN ({quoted})", finish=True)
        finally:  # passages go even where the other table's files cannot be deleted
            self._delete(self._passages, f"key IN ({keys})", finish=True)

    def remove_others(self, document_ids: Sequence[str]) -> None:
        """Remove passages of other documents than these: what an interrupted writing left. Raises StorageError."""
        keys = ", ".join(str(document_key(one)) for one in document_ids)
        self._delete(self._passages, f"key NOT IN ({keys})" if keys else "true")

    def _delete(self, table: Any, which: str, *, finish: bool = False) -> None:
        """Delete rows, and the files that held them; `finish` removes files that an earlier try could not."""
        if table is None:
            return
        with reported(self.folder):
            found = table.count_rows(which)
            if found:
                table.delete(which)
                for index in table.list_indices():
                    table.drop_index(index.name)
            elif not finish:
                return
            stored = table.to_lance()
            if found:
                stored.optimize.compact_files(materialize_deletions=True, materialize_deletions_threshold=0.0)
            stored.cleanup_old_versions(timedelta(0), delete_unverified=True)
            table.checkout_latest()
            if len(table.list_versions()) > 1:  # LanceDB says nothing where files cannot be deleted
                raise StorageError(
                    f"What was removed still lies in files in {self.folder}: they could not be deleted.",
                    "See that the program may delete there: the next removal deletes these too.",
                )

    # ------------------------------------------------------------ indexes

    def index_words(self) -> None:
        """Make the full-text index, or take in what was added since; small pieces become large. Raises StorageError."""
        if self._passages is None:
            return
        from lancedb.index import FTS

        with reported(self.folder):
            if self._indexed(WORDS) is None:
                plain = FTS(
                    base_tokenizer="whitespace",
                    lower_case=False,
                    stem=False,
                    remove_stop_words=False,
                    ascii_folding=False,
                    max_token_length=None,
                    with_position=False,
                )
                self._passages.create_index(WORDS, config=plain)
            for table in (self._passages, self._documents):
                table.optimize(cleanup_older_than=OLD)

    def index_vectors(self) -> None:
        """Make the index of the vectors if there is none. Raises StorageError."""
        from lancedb.index import IvfSq

        with reported(self.folder):
            if self._indexed(VECTOR) is None:
                self._passages.create_index(VECTOR, config=IvfSq(distance_type="dot"))

    @property
    def vectors_indexed(self) -> bool:
        """Whether the vectors have an index."""
        return self._passages is not None and self._indexed(VECTOR) is not None

    def _indexed(self, column: str) -> Any:
        return next((one for one in self._passages.list_indices() if one.columns == [column]), None)

    @property
    def words_lack(self) -> bool:
        """Whether passages are not in the full-text index: after a removal, or where building was interrupted."""
        if self._passages is None:
            return False
        found = self._indexed(WORDS)
        return found is None or bool(found.num_unindexed_rows)

    def size(self) -> int:
        """Return the bytes of both tables and their indexes."""
        both = [self.folder / f"{name}.lance" for name in (self.name, self.name + DOCUMENTS)]
        return sum(file.stat().st_size for one in both for file in one.rglob("*") if file.is_file())

    # ------------------------------------------------------------ searching

    @staticmethod
    def of_documents(document_ids: Sequence[str]) -> str:
        """Return what limits a search to these documents."""
        return f"key IN ({', '.join(str(document_key(one)) for one in document_ids)})"

    @staticmethod
    def of_passages(ids: Ints) -> str:
        """Return what limits a search to the passages with these numbers."""
        return f"_rowid IN ({', '.join(map(str, ids.tolist()))})"

    def by_words(self, weights: dict[str, float], count: int, where: str) -> Ints:
        """Return the numbers of about the `count` best passages by LanceDB's BM25; only `where` it says so.

        `weights` are of words. Raises StorageError.
        """
        from lancedb.query import BooleanQuery, MatchQuery, Occur

        groups: dict[float, list[str]] = {}
        for word, weight in weights.items():
            groups.setdefault(round(weight, 6), []).append(word)
        parts = [MatchQuery(" ".join(words), WORDS, boost=weight) for weight, words in groups.items()]
        query = parts[0] if len(parts) == 1 else BooleanQuery([(Occur.SHOULD, part) for part in parts])
        with reported(self.folder):
            search = self._passages.search(query, query_type="fts").with_row_id(True).select(["_score"]).limit(count)
            search = search.where(where) if where else search
            return np.asarray(search.to_arrow()["_rowid"].to_numpy().astype(np.int64))

    def by_vector(self, vector: Vectors, count: int, probes: int, where: str) -> Ints:
        """Return the numbers of the `count` nearest passages: all compared (`probes` 0), or those of so many cells.

        Only `where` it says so ("": of all). Raises StorageError.
        """
        with reported(self.folder):
            search = self._passages.search(vector, vector_column_name=VECTOR).distance_type("dot").with_row_id(True)
            search = search.select(["_distance"]).limit(count)
            search = search.nprobes(probes) if probes else search.bypass_vector_index()
            search = search.where(where) if where else search
            return np.asarray(search.to_arrow()["_rowid"].to_numpy().astype(np.int64))


def forget_document(root: Path, document_id: str) -> None:
    """Remove a document's passages, vectors and words from all indexes below `root`. Raises StorageError, OSError.

    Where LanceDB is not installed (any more), the whole folder goes.
    """
    folder = root / FOLDER
    if not folder.is_dir():
        return
    if not installed():
        shutil.rmtree(folder)
        return
    failed: StorageError | None = None
    for name in table_names(connected(folder), folder):
        if not name.endswith(DOCUMENTS):
            try:
                Tables(folder, name).remove([document_id])
            except StorageError as error:  # the other indexes are to be rid of it all the same
                failed = error
    if failed is not None:
        raise failed
