"""The words of pages on PostgreSQL, for finding them: what `page_texts` is on SQLite, with the same answers.

No truth either: the tables are made where they lack, and filled again from the database. The words of a page are taken
apart here, as SQLite's tokenizer does it (letters and digits, without case and accents), and not by PostgreSQL, whose
rules differ by language and for numbers, names of hosts and words with hyphens.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence

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

from pdfqa_core.characters import clean
from pdfqa_core.storage.columns import CleanText
from pdfqa_core.storage.database import Database
from pdfqa_core.storage.page_texts import FoundPage, Key, Phrase

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
        noted = server_insert(_readings).values(row).on_conflict_do_update(
            index_elements=["document_id", "extractor"], set_={"version": version}
        )  # fmt: skip
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
        asked = [query for query in map(_as_query, phrases) if query]
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


def _as_query(phrase: Phrase) -> str:
    words = [f"'{word[:LONGEST_WORD]}'" for part in phrase.words for word in _WORD.findall(_plain(part))]
    return f"({' <-> '.join(words)}{'' if phrase.whole else ':*'})" if words else ""


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFD", text)
    return "".join(c for c in apart if not unicodedata.combining(c)).lower()
