"""The words of pages, for finding them: a full-text index in a file of its own, which may be deleted at any time.

No truth, like the replies of models (`replies`): a damaged file is begun anew, and what it lacks is put in again from
the database. It knows readings of documents by their versions, and nothing of owners.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    select,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR
from sqlalchemy.dialects.postgresql import insert as server_insert

from pdfqa_core.errors import StorageError
from pdfqa_core.storage import write_ahead
from pdfqa_core.storage.database import Database
from pdfqa_core.storage.files import open_cache
from pdfqa_core.storage.tables import CleanText
from pdfqa_core.text import clean
from pdfqa_core.whole_files import cannot_write, is_full

FILENAME = "words.sqlite"
KEPT = "Documents and conversations are stored as they were."
_VERSION = 1  # of the tables; a file of another one is begun anew
_TABLES = f"""
CREATE TABLE IF NOT EXISTS readings (
    document_id TEXT NOT NULL, extractor TEXT NOT NULL, version TEXT NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (document_id, extractor)
);
CREATE VIRTUAL TABLE IF NOT EXISTS pages USING fts5(
    text, number UNINDEXED, tokenize = 'unicode61 remove_diacritics 2'
);
PRAGMA user_version = {_VERSION};
"""
Key = tuple[str, str, str]
"""A reading: the id of its document, its name, its version."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that stand one behind the other; the last may go on, unless the phrase is `whole`."""

    words: tuple[str, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page that has all phrases; a lower `rank` is better (bm25 of SQLite)."""

    document_id: str
    row: int
    rank: float


class PageTexts:
    """The texts of readings, page by page, in the SQLite file at `path`. Threads may share it; close it when done."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._deleted = True  # since the file's log was empty; a program that was killed may have left one
        self._database = open_cache(path, "words", _make)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def known(self) -> set[Key]:
        """Return the readings that are in it."""
        with self._using() as database:
            return {*database.execute("SELECT document_id, extractor, version FROM readings")}

    def put(self, key: Key, pages: Iterable[tuple[int, str]]) -> None:
        """Put a reading in, as (page number, text), in place of its earlier version."""
        with self._using() as database:
            self._delete(database, "document_id = ? AND extractor = ?", key[:2])
            first = int(database.execute("SELECT coalesce(max(last), 0) + 1 FROM readings").fetchone()[0])
            rows = [(first + n, number, _clean(text)) for n, (number, text) in enumerate(pages)]
            database.executemany("INSERT INTO pages (rowid, number, text) VALUES (?, ?, ?)", rows)
            place = (*key, first, first + max(len(rows), 1) - 1)
            database.execute("INSERT INTO readings VALUES (?, ?, ?, ?, ?)", place)

    def forget(self, document_ids: Collection[str]) -> None:
        """Remove all texts of these documents."""
        with self._using() as database:
            if sum(self._delete(database, "document_id = ?", (one,)) for one in document_ids):
                database.execute("INSERT INTO pages (pages) VALUES ('optimize')")

    def keep_only(self, document_ids: Collection[str]) -> None:
        """Remove the texts of all other documents, and what was deleted from the file's log."""
        with self._using() as database:
            there = {one for (one,) in database.execute("SELECT DISTINCT document_id FROM readings")}
        self._deleted = True  # perhaps by another program, which could not empty the log
        self.forget(there - set(document_ids))

    def find(self, phrases: Sequence[Phrase], keys: Collection[Key]) -> list[FoundPage]:
        """Return the pages of these readings that have all of the phrases, the best first."""
        query = " ".join(_as_query(phrase) for phrase in phrases if phrase.words)
        if not query:
            return []
        with self._using() as database:
            ranges = database.execute("SELECT document_id, extractor, version, first, last FROM readings").fetchall()
            rows = database.execute("SELECT rowid, rank FROM pages WHERE pages MATCH ? ORDER BY rank", (query,))
            wanted = [(key[0], first, last) for *key, first, last in ranges if tuple(key) in keys]
            documents = {row: one for one, first, last in wanted for row in range(first, last + 1)}
            return [FoundPage(documents[row], row, rank) for row, rank in rows if row in documents]

    def page(self, row: int) -> tuple[int, str]:
        """Return number and text of a page that was found; (0, "") if it is gone meanwhile."""
        with self._using() as database:
            found = database.execute("SELECT number, text FROM pages WHERE rowid = ?", (row,)).fetchone()
        return (int(found[0]), str(found[1])) if found else (0, "")

    def _delete(self, database: sqlite3.Connection, where: str, values: tuple[str, ...]) -> int:
        """Delete readings and return how many."""
        found = database.execute(f"SELECT first, last FROM readings WHERE {where}", values).fetchall()  # noqa: S608
        database.executemany("DELETE FROM pages WHERE rowid BETWEEN ? AND ?", found)
        database.execute(f"DELETE FROM readings WHERE {where}", values)  # noqa: S608
        self._deleted = self._deleted or bool(found)
        return len(found)

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """Give the connection, in a transaction. Raises StorageError."""
        try:
            with self._lock:
                with self._database:
                    yield self._database
                if self._deleted:
                    self._deleted = not write_ahead.empty(self._database)
        except sqlite3.Error as error:
            if is_full(error):
                raise cannot_write("the index of words", error, KEPT) from error
            raise StorageError(
                f"The index of words cannot be used: {error}.", f"Close the program, delete {FILENAME}, start it again."
            ) from error


def _as_query(phrase: Phrase) -> str:
    words = " ".join(word.replace('"', "") for word in phrase.words)
    return f'"{words}"' if phrase.whole else f'"{words}" *'


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _make(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA secure_delete = ON")
    if database.execute("PRAGMA user_version").fetchone()[0] not in (0, _VERSION):
        database.execute("DROP TABLE IF EXISTS pages")
        database.execute("DROP TABLE IF EXISTS readings")
    for statement in _TABLES.split(";"):
        database.execute(statement)


# ----------------------------------------------------------------------------------------------------
# The words of pages on PostgreSQL, for finding them: what `page_texts` is on SQLite, with the same answers.
#
# No truth either: the tables are made where they lack, and filled again from the database. The words of a page are
# taken apart here, as SQLite's tokenizer does it (letters and digits, without case and accents), and not by
# PostgreSQL, whose rules differ by language and for numbers, names of hosts and words with hyphens.

MOST_WORDS = 16_383  # of a page, whose places PostgreSQL tells apart
LONGEST_WORD = 500  # characters that count
_WORD = re.compile(r"[^\W_]+")
_metadata = MetaData()

_readings = Table(
    "word_readings",
    _metadata,
    Column("document_id", CleanText, primary_key=True),
    Column("extractor", CleanText, primary_key=True),
    Column("version", CleanText, nullable=False),
)
_pages = Table(
    "word_pages",
    _metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=True),
    Column("document_id", CleanText, nullable=False),
    Column("extractor", CleanText, nullable=False),
    Column("number", Integer, nullable=False),
    Column("text", CleanText, nullable=False),
    Column("words", TSVECTOR, nullable=False),
    Index("ix_word_pages_reading", "document_id", "extractor"),
    Index("ix_word_pages_words", "words", postgresql_using="gin"),
)


class ServerPageTexts:
    """The texts of readings, page by page, in the database; it has the methods of `PageTexts`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            _metadata.create_all(connection)

    def close(self) -> None:
        """Do nothing: the database is closed by who opened it."""

    def known(self) -> set[Key]:
        """Return the readings that are in it."""
        with self._database.read() as connection:
            return {tuple(row) for row in connection.execute(select(_readings))}

    def put(self, key: Key, pages: Iterable[tuple[int, str]]) -> None:
        """Put a reading in, as (page number, text), in place of its earlier version."""
        document_id, extractor, version = key
        rows = [
            {"number": number, "text": text, "vector": _words(text)}
            for number, text in ((number, clean(text)) for number, text in pages)
        ]
        row = {"document_id": document_id, "extractor": extractor, "version": version}
        noted = (
            server_insert(_readings)
            .values(row)
            .on_conflict_do_update(index_elements=["document_id", "extractor"], set_={"version": version})
        )
        with self._database.write() as connection:
            mine = (_pages.c.document_id == document_id, _pages.c.extractor == extractor)
            connection.execute(delete(_pages).where(*mine))
            connection.execute(noted)
            if rows:
                vector = sql_cast(bindparam("vector", type_=Text), TSVECTOR)
                new = insert(_pages).values(document_id=document_id, extractor=extractor, words=vector)
                connection.execute(new.values(number=bindparam("number"), text=bindparam("text")), rows)

    def forget(self, document_ids: Collection[str]) -> None:
        """Remove all texts of these documents."""
        if document_ids:
            with self._database.write() as connection:
                _forget(connection, list(document_ids))

    def keep_only(self, document_ids: Collection[str]) -> None:
        """Remove the texts of all other documents."""
        with self._database.read() as connection:
            there = set(connection.scalars(select(_readings.c.document_id).distinct()))
        self.forget(there - set(document_ids))

    def find(self, phrases: Sequence[Phrase], keys: Collection[Key]) -> list[FoundPage]:
        """Return the pages of these readings that have all of the phrases, the best first.

        The rank is PostgreSQL's `ts_rank`, by how often the words stand there for the length of the page.
        """
        asked = [query for query in map(_as_server_query, phrases) if query]
        if not asked or not keys:
            return []
        query = sql_cast(" & ".join(asked), TSQUERY)
        rank = (-func.ts_rank(_pages.c.words, query, 1)).label("rank")
        found = (
            select(_pages.c.id, _pages.c.document_id, _pages.c.extractor, _readings.c.version, rank)
            .join(
                _readings,
                (_readings.c.document_id == _pages.c.document_id) & (_readings.c.extractor == _pages.c.extractor),
            )
            .where(_pages.c.words.op("@@")(query), _pages.c.document_id.in_({key[0] for key in keys}))
            .order_by(rank, _pages.c.id)
        )
        wanted = set(keys)
        with self._database.read() as connection:
            rows = connection.execute(found)
            return [
                FoundPage(row.document_id, row.id, row.rank)
                for row in rows
                if (row.document_id, row.extractor, row.version) in wanted
            ]

    def page(self, row: int) -> tuple[int, str]:
        """Return number and text of a page that was found; (0, "") if it is gone meanwhile."""
        with self._database.read() as connection:
            found = connection.execute(select(_pages.c.number, _pages.c.text).where(_pages.c.id == row)).one_or_none()
        return (int(found.number), str(found.text)) if found else (0, "")


def _forget(connection: Connection, document_ids: list[str]) -> None:
    connection.execute(delete(_pages).where(_pages.c.document_id.in_(document_ids)))
    connection.execute(delete(_readings).where(_readings.c.document_id.in_(document_ids)))


def _words(text: str) -> str:
    """Return the words of a page with their places, as PostgreSQL writes them."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(_WORD.findall(_plain(text))[:MOST_WORDS], start=1):
        places.setdefault(word[:LONGEST_WORD], []).append(place)
    return " ".join(f"'{word}':{','.join(map(str, found))}" for word, found in places.items())


def _as_server_query(phrase: Phrase) -> str:
    words = [f"'{word[:LONGEST_WORD]}'" for part in phrase.words for word in _WORD.findall(_plain(part))]
    return f"({' <-> '.join(words)}{'' if phrase.whole else ':*'})" if words else ""


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFD", text)
    return "".join(c for c in apart if not unicodedata.combining(c)).lower()
