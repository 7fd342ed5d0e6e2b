"""Column types that behave the same in SQLite and PostgreSQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Boolean, Column, DateTime, MetaData, Text, false
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from pdfqa_core.characters import clean, clean_all
from pdfqa_core.errors import UsageError
from pdfqa_core.json_codec import plain, restore
from pdfqa_core.study_types import Criterion, ItemDetails, StudyState
from pdfqa_core.types import DocumentState, Thumb


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


class State(TypeDecorator[DocumentState]):
    """How reading a PDF ended, as its value."""

    impl = Text
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> DocumentState | None:
        """Return the state of this value."""
        return None if value is None else DocumentState(value)


class Thumbs(TypeDecorator[Thumb]):
    """What the one who asked thinks of an answer, as its value."""

    impl = Text
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> Thumb | None:
        """Return the thumb of this value."""
        return None if value is None else Thumb(value)


class StudyStates(TypeDecorator[StudyState]):
    """What can be done with a study, as its value."""

    impl = Text
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> StudyState | None:
        """Return the state of this value."""
        return None if value is None else StudyState(value)


class Typed(TypeDecorator[Any]):
    """Values of the program's own types as JSON text; a `kind()` without arguments is stored as nothing."""

    impl = Text
    cache_ok = True

    def __init__(self, hint: Any, kind: Any) -> None:
        super().__init__()
        self.hint, self.kind = hint, kind

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        """Return the value as ASCII, which every database takes."""
        return "" if value == self.kind() else json.dumps(plain(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value as its type."""
        return restore(self.hint, json.loads(value)) if value else self.kind()


def criteria_list() -> Typed:
    """Return the type of a column that holds criteria."""
    return Typed(tuple[Criterion, ...], tuple)


def item_details() -> Typed:
    """Return the type of a column that holds what belongs to an item."""
    return Typed(ItemDetails, ItemDetails)


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
