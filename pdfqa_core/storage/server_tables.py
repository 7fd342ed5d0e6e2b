"""The tables of what several programs and people share on a server: work under way, accounts, tokens."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, Table

from pdfqa_core.storage.columns import CleanText, UtcDateTime, metadata, text_column

tokens = Table(
    "tokens",
    metadata,
    text_column("id", key=True),
    text_column("owner"),
    Column("name", CleanText, nullable=False, unique=True),
    Column("token_hash", CleanText, nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("used_at", UtcDateTime),
)

work = Table(
    "work",
    metadata,
    text_column("id", key=True),
    text_column("kind"),
    text_column("owner"),
    text_column("content"),
    Column("added_at", UtcDateTime, nullable=False),
    text_column("worker"),
    Column("until", UtcDateTime),
    Column("tries", Integer, nullable=False),
)

accounts = Table(
    "accounts",
    metadata,
    text_column("name_key", key=True),
    text_column("name"),
    text_column("role"),
    text_column("password_hash"),
    Column("made_at", UtcDateTime, nullable=False),
)

account_invitations = Table(
    "account_invitations",
    metadata,
    text_column("name_key", key=True),
    text_column("name"),
    text_column("role"),
    Column("token_hash", CleanText, unique=True, nullable=False),
    Column("ends_at", UtcDateTime, nullable=False),
)

sign_ins = Table(
    "sign_ins",
    metadata,
    text_column("token_hash", key=True),
    Column("name_key", CleanText, ForeignKey("accounts.name_key", ondelete="CASCADE"), nullable=False),
    Column("used_at", UtcDateTime, nullable=False),
    Column("ends_at", UtcDateTime, nullable=False),
    Index(None, "name_key"),
)
