"""The tables as the newest migration leaves them; those of a server are in `server_tables`.

No other module names a table or a column.
"""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from pdfqa_core.errors import UsageError
from pdfqa_core.json_codec import encode, restore
from pdfqa_core.storage.records import Outcome
from pdfqa_core.study_types import Criterion, ItemDetails, Role, StudyState
from pdfqa_core.text import clean, clean_all
from pdfqa_core.types import DocumentState, Span, Thumb

# ----------------------------------------------------------------------------------------------------
# Column types that behave the same in SQLite and PostgreSQL.


class UtcDateTime(TypeDecorator[datetime]):
    """A moment, stored in UTC and read back with its zone. Raises UsageError for a time without a zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC; SQLite gets it without the zone, which it cannot store."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise UsageError(f"The time {value} has no zone.", "Give times with a zone, as in datetime.now(UTC).")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give the time its zone back."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class CleanText(TypeDecorator[str]):
    """Text of any length; NUL and lone surrogates, which databases refuse, are stored as U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Replace what no database takes."""
        return clean(value) if isinstance(value, str) else value


class Kinds(TypeDecorator[Any]):
    """One of several kinds, an enumeration, as its value."""

    impl = Text
    cache_ok = True

    def __init__(self, kind: type[StrEnum]) -> None:
        super().__init__()
        self.kind = kind

    def process_result_value(self, value: str | None, dialect: Dialect) -> StrEnum | None:
        """Return the kind of this value."""
        return None if value is None else self.kind(value)


class Typed(TypeDecorator[Any]):
    """Values of the program's own types as JSON text; a `kind()` without arguments is stored as nothing."""

    impl = Text
    cache_ok = True

    def __init__(self, hint: Any, kind: Any) -> None:
        super().__init__()
        self.hint, self.kind = hint, kind

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        """Return the value as ASCII, which every database takes."""
        return "" if value == self.kind() else encode(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value as its type."""
        return restore(self.hint, json.loads(value)) if value else self.kind()


class Json(TypeDecorator[Any]):
    """A plain value, a mapping or a tuple of such, as text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        """Return the value as ASCII, which every database takes."""
        return json.dumps(clean_all(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value; a list comes back as a tuple."""
        found = None if value is None else json.loads(value)
        return tuple(found) if isinstance(found, list) else found


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)


def text_column(name: str, *, key: bool = False) -> Column[str]:
    """Return a text column that always has a value."""
    return Column(name, CleanText, primary_key=key, nullable=False)


def later_column(name: str) -> Column[str]:
    """Return a text column that came after its table."""
    return Column(name, CleanText, nullable=False, server_default="")


def flag_column(name: str) -> Column[bool]:
    """Return a column of yes and no, no where nothing was said."""
    return Column(name, Boolean, nullable=False, server_default=false())


# ----------------------------------------------------------------------------------------------------
# Names of people in studies: written in one line, and known however they are spelled.

_LONGEST_NAME = 80


def one_line(name: str) -> str:
    """Return a name with single spaces and without what cannot be seen."""
    visible = "".join(c if c.isprintable() else " " for c in unicodedata.normalize("NFC", name))
    return " ".join(visible.split())


def checked_name(name: str) -> str:
    """Return a name in one line. Raises UsageError if it is empty or too long."""
    name = one_line(name)
    if not 0 < len(name) <= _LONGEST_NAME:
        raise UsageError(f"A name has 1 to {_LONGEST_NAME} characters, this one has {len(name)}.")
    return name


def name_key(name: str) -> str:
    """Return what a name is known by, however it is spelled."""
    return unicodedata.normalize("NFKC", one_line(name)).casefold()


# ----------------------------------------------------------------------------------------------------
# The tables as the newest migration leaves them; those of a server are in `server_tables`.

documents = Table(
    "documents",
    metadata,
    text_column("id", key=True),
    text_column("owner", key=True),
    text_column("title"),
    text_column("filename"),
    Column("page_count", Integer, nullable=False),
    Column("added_at", UtcDateTime, nullable=False),
    Column("state", Kinds(DocumentState), nullable=False),
    text_column("reason"),
    Column("size", BigInteger, nullable=False),
    Column("pages_without_text", Json, nullable=False),
    text_column("extractor"),
    text_column("authors"),
    Column("other_names", Json, nullable=False, server_default="[]"),
    Index(None, "owner"),
)

readings = Table(
    "readings",
    metadata,
    text_column("document_id", key=True),
    text_column("owner", key=True),
    text_column("extractor", key=True),
    Column("state", Kinds(DocumentState), nullable=False),
    text_column("reason"),
    Column("page_count", Integer, nullable=False),
    Column("pages_without_text", Json, nullable=False),
    Column("ocr_pages", Integer, nullable=False),
    Column("confidence", Float),
    Column("read_at", UtcDateTime, nullable=False),
    text_column("version"),
    Column("language", CleanText, nullable=False, server_default=""),
    Index(None, "owner"),
)

pages = Table(
    "pages",
    metadata,
    text_column("document_id", key=True),
    text_column("extractor", key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
)

summaries = Table(
    "summaries",
    metadata,
    text_column("document_id", key=True),
    text_column("owner", key=True),
    text_column("extractor"),
    text_column("version"),
    text_column("content"),
    Column("made_at", UtcDateTime, nullable=False),
)

synthetic_questions = Table(
    "synthetic_questions",
    metadata,
    text_column("id", key=True),
    text_column("owner"),
    text_column("document_id"),
    text_column("passage_id"),
    Column("spans", Typed(tuple[Span, ...], tuple), nullable=False),
    text_column("passage"),
    text_column("text"),
    text_column("made"),
    text_column("kind"),
    text_column("model"),
    Column("seed", BigInteger, nullable=False),
    Column("outcome", Kinds(Outcome), nullable=False),
    text_column("reason"),
    Column("made_at", UtcDateTime, nullable=False),
    Column("position", Integer, nullable=False),
    later_column("answer"),
    later_column("made_answer"),
    later_column("conversation"),
    Column("turn", Integer, nullable=False, server_default="0"),
    Index(None, "owner", "document_id"),
)

pending_files = Table(
    "pending_files",
    metadata,
    Column("id", Integer, primary_key=True),
    text_column("document_id"),
    text_column("change"),
    Column("since", UtcDateTime, nullable=False),
)

collections = Table(
    "collections",
    metadata,
    text_column("id", key=True),
    text_column("owner"),
    text_column("name"),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("owner", "name"),
)

collection_documents = Table(
    "collection_documents",
    metadata,
    Column("collection_id", CleanText, ForeignKey("collections.id", ondelete="CASCADE"), primary_key=True),
    text_column("document_id", key=True),
    Column("added_at", UtcDateTime, nullable=False),
    Index(None, "document_id"),
)

conversations = Table(
    "conversations",
    metadata,
    text_column("id", key=True),
    text_column("owner"),
    text_column("title"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Column("deleted_at", UtcDateTime),
    Column("document_ids", Json, nullable=False),
    Index(None, "owner"),
)

turns = Table(
    "turns",
    metadata,
    text_column("id", key=True),
    Column("conversation_id", CleanText, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    text_column("question"),
    text_column("standalone_question"),
    text_column("answer"),
    Column("filenames", Json, nullable=False),
    Column("thumb", Kinds(Thumb), nullable=False, server_default=""),
    Column("created_at", UtcDateTime, nullable=False),
    Column("superseded_at", UtcDateTime),
    Column("passages", Integer, nullable=False, server_default="0"),
    Index(None, "conversation_id"),
)

studies = Table(
    "studies",
    metadata,
    text_column("id", key=True),
    text_column("owner"),
    text_column("name"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("seed", BigInteger, nullable=False),
    later_column("preset"),
    Column("criteria", Typed(tuple[Criterion, ...], tuple), nullable=False, server_default=""),
    later_column("guideline"),
    Column("state", Kinds(StudyState), nullable=False, server_default="open"),
    flag_column("invited"),
    Column("revealed_at", UtcDateTime),
    UniqueConstraint("owner", "name"),
)

study_turns = Table(
    "study_turns",
    metadata,
    Column("study_id", CleanText, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("turn_id", CleanText, ForeignKey("turns.id"), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("details", Typed(ItemDetails, ItemDetails), nullable=False, server_default=""),
    Index(None, "turn_id"),
)

annotators = Table(
    "annotators",
    metadata,
    Column("study_id", CleanText, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    text_column("name_key", key=True),
    text_column("name"),
    Column("joined_at", UtcDateTime, nullable=False),
    later_column("drawn_as"),
    Column("removed_at", UtcDateTime),
)

ratings = Table(
    "ratings",
    metadata,
    Column("id", Integer, primary_key=True),
    text_column("study_id"),
    text_column("turn_id"),
    text_column("item_id"),
    text_column("annotator_key"),
    text_column("criterion"),
    text_column("value"),
    text_column("comment"),
    Column("seconds", Float, nullable=False),
    Column("rated_at", UtcDateTime, nullable=False),
    flag_column("draft"),
    flag_column("revision"),
    ForeignKeyConstraint(["study_id", "turn_id"], ["study_turns.study_id", "study_turns.turn_id"]),
    ForeignKeyConstraint(["study_id", "annotator_key"], ["annotators.study_id", "annotators.name_key"]),
    Index(None, "study_id", "annotator_key"),
)

adjudications = Table(
    "adjudications",
    metadata,
    Column("id", Integer, primary_key=True),
    text_column("study_id"),
    text_column("turn_id"),
    text_column("item_id"),
    text_column("criterion"),
    text_column("value"),
    text_column("reason"),
    Column("decided_at", UtcDateTime, nullable=False),
    later_column("category"),
    later_column("decided_by"),
    ForeignKeyConstraint(["study_id", "turn_id"], ["study_turns.study_id", "study_turns.turn_id"]),
    Index(None, "study_id"),
)

invitations = Table(
    "invitations",
    metadata,
    text_column("id", key=True),
    Column("study_id", CleanText, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    text_column("name_key"),
    text_column("name"),
    Column("role", Kinds(Role), nullable=False),
    text_column("link_hash"),
    text_column("password_hash"),
    Column("session_hash", CleanText, unique=True),
    Column("invited_at", UtcDateTime, nullable=False),
    Column("used_at", UtcDateTime),
    UniqueConstraint("study_id", "name_key"),
)

protocols = Table(
    "protocols",
    metadata,
    Column("study_id", CleanText, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    text_column("plan"),
)

held_conversations = Table(
    "held_conversations",
    metadata,
    Column("study_id", CleanText, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    text_column("annotator_key", key=True),
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("place", Integer, primary_key=True, autoincrement=False),
    text_column("conversation_id"),
    text_column("first_question"),
    Column("finished_at", UtcDateTime),
)

skips = Table(
    "skips",
    metadata,
    Column("id", Integer, primary_key=True),
    text_column("study_id"),
    text_column("turn_id"),
    text_column("annotator_key"),
    text_column("reason"),
    Column("seconds", Float, nullable=False),
    Column("skipped_at", UtcDateTime, nullable=False),
    ForeignKeyConstraint(["study_id", "turn_id"], ["study_turns.study_id", "study_turns.turn_id"]),
    ForeignKeyConstraint(["study_id", "annotator_key"], ["annotators.study_id", "annotators.name_key"]),
    Index(None, "study_id"),
)

study_pictures = Table(
    "study_pictures",
    metadata,
    Column("study_id", CleanText, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    text_column("document_id", key=True),
    Column("page", Integer, primary_key=True, autoincrement=False),
    text_column("passage_id", key=True),
    text_column("mime"),
    Column("image", LargeBinary, nullable=False),
)

preferences = Table(
    "preferences",
    metadata,
    text_column("owner", key=True),
    text_column("name", key=True),
    Column("value", Json, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
)

evaluations = Table(
    "evaluations",
    metadata,
    text_column("id", key=True),
    text_column("owner"),
    text_column("protocol"),
    text_column("dataset"),
    Column("systems", Json, nullable=False),
    text_column("content"),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "owner"),
)

rankings = Table(
    "rankings",
    metadata,
    Column("evaluation_id", CleanText, ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True),
    text_column("system", key=True),
    text_column("item_id", key=True),
    text_column("content"),
)

runs = Table(
    "runs",
    metadata,
    text_column("id", key=True),
    text_column("owner"),
    text_column("name"),
    text_column("protocol"),
    text_column("dataset"),
    text_column("key"),
    text_column("plan"),
    Column("versions", Json, nullable=False),
    text_column("state"),
    text_column("error"),
    Column("total", Integer, nullable=False),
    text_column("results"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Index(None, "owner"),
)

predictions = Table(
    "predictions",
    metadata,
    Column("run_id", CleanText, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    text_column("system", key=True),
    text_column("item_id", key=True),
    Column("failed", Boolean, nullable=False),
    text_column("content"),
    Column("made_at", UtcDateTime, nullable=False),
)
