"""The tables as the newest migration leaves them; no other module names a table or a column."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
    false,
)

from pdfqa_core.storage.columns import (
    CleanText,
    Json,
    State,
    StudyStates,
    Thumbs,
    UtcDateTime,
    criteria_list,
    item_details,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)


def _text(name: str, *, key: bool = False) -> Column[str]:
    return Column(name, CleanText, primary_key=key, nullable=False)


def _later(name: str) -> Column[str]:
    """Return a text column that came after its table."""
    return Column(name, CleanText, nullable=False, server_default="")


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=false())


documents = Table(
    "documents",
    metadata,
    _text("id", key=True),
    _text("owner", key=True),
    _text("title"),
    _text("filename"),
    Column("page_count", Integer, nullable=False),
    Column("added_at", UtcDateTime, nullable=False),
    Column("state", State, nullable=False),
    _text("reason"),
    Column("size", BigInteger, nullable=False),
    Column("pages_without_text", Json, nullable=False),
    _text("extractor"),
    _text("authors"),
    Index(None, "owner"),
)

readings = Table(
    "readings",
    metadata,
    _text("document_id", key=True),
    _text("owner", key=True),
    _text("extractor", key=True),
    Column("state", State, nullable=False),
    _text("reason"),
    Column("page_count", Integer, nullable=False),
    Column("pages_without_text", Json, nullable=False),
    Column("ocr_pages", Integer, nullable=False),
    Column("confidence", Float),
    Column("read_at", UtcDateTime, nullable=False),
    _text("version"),
    Column("language", CleanText, nullable=False, server_default=""),
    Index(None, "owner"),
)

pages = Table(
    "pages",
    metadata,
    _text("document_id", key=True),
    _text("extractor", key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
)

summaries = Table(
    "summaries",
    metadata,
    _text("document_id", key=True),
    _text("owner", key=True),
    _text("extractor"),
    _text("version"),
    _text("content"),
    Column("made_at", UtcDateTime, nullable=False),
)

synthetic_questions = Table(
    "synthetic_questions",
    metadata,
    _text("id", key=True),
    _text("owner"),
    _text("document_id"),
    _text("passage_id"),
    _text("spans"),
    _text("passage"),
    _text("text"),
    _text("made"),
    _text("kind"),
    _text("model"),
    Column("seed", BigInteger, nullable=False),
    _text("outcome"),
    _text("reason"),
    Column("made_at", UtcDateTime, nullable=False),
    Column("position", Integer, nullable=False),
    Index(None, "owner", "document_id"),
)

pending_files = Table(
    "pending_files",
    metadata,
    Column("id", Integer, primary_key=True),
    _text("document_id"),
    _text("change"),
    Column("since", UtcDateTime, nullable=False),
)

collections = Table(
    "collections",
    metadata,
    _text("id", key=True),
    _text("owner"),
    _text("name"),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("owner", "name"),
)

collection_documents = Table(
    "collection_documents",
    metadata,
    Column("collection_id", CleanText, ForeignKey("collections.id", ondelete="CASCADE"), primary_key=True),
    _text("document_id", key=True),
    Column("added_at", UtcDateTime, nullable=False),
    Index(None, "document_id"),
)

document_versions = Table(
    "document_versions",
    metadata,
    _text("owner", key=True),
    _text("document_id", key=True),
    _text("earlier_id", key=True),
    Column("same_pages", Integer, nullable=False),
    Column("page_count", Integer, nullable=False),
    _text("decision"),
)

conversations = Table(
    "conversations",
    metadata,
    _text("id", key=True),
    _text("owner"),
    _text("title"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Column("deleted_at", UtcDateTime),
    Column("document_ids", Json, nullable=False),
    Index(None, "owner"),
)

turns = Table(
    "turns",
    metadata,
    _text("id", key=True),
    Column("conversation_id", CleanText, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    _text("question"),
    _text("standalone_question"),
    _text("answer"),
    Column("filenames", Json, nullable=False),
    Column("thumb", Thumbs, nullable=False, server_default=""),
    Column("created_at", UtcDateTime, nullable=False),
    Column("superseded_at", UtcDateTime),
    Column("passages", Integer, nullable=False, server_default="0"),
    Index(None, "conversation_id"),
)

studies = Table(
    "studies",
    metadata,
    _text("id", key=True),
    _text("owner"),
    _text("name"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("seed", BigInteger, nullable=False),
    _later("preset"),
    Column("criteria", criteria_list(), nullable=False, server_default=""),
    _later("guideline"),
    Column("state", StudyStates, nullable=False, server_default="open"),
    _flag("invited"),
    Column("revealed_at", UtcDateTime),
    UniqueConstraint("owner", "name"),
)

study_turns = Table(
    "study_turns",
    metadata,
    Column("study_id", CleanText, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("turn_id", CleanText, ForeignKey("turns.id"), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("details", item_details(), nullable=False, server_default=""),
    Index(None, "turn_id"),
)

annotators = Table(
    "annotators",
    metadata,
    Column("study_id", CleanText, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    _text("name_key", key=True),
    _text("name"),
    Column("joined_at", UtcDateTime, nullable=False),
    _later("drawn_as"),
    Column("removed_at", UtcDateTime),
)

ratings = Table(
    "ratings",
    metadata,
    Column("id", Integer, primary_key=True),
    _text("study_id"),
    _text("turn_id"),
    _text("item_id"),
    _text("annotator_key"),
    _text("criterion"),
    _text("value"),
    _text("comment"),
    Column("seconds", Float, nullable=False),
    Column("rated_at", UtcDateTime, nullable=False),
    _flag("draft"),
    _flag("revision"),
    ForeignKeyConstraint(["study_id", "turn_id"], ["study_turns.study_id", "study_turns.turn_id"]),
    ForeignKeyConstraint(["study_id", "annotator_key"], ["annotators.study_id", "annotators.name_key"]),
    Index(None, "study_id", "annotator_key"),
)

adjudications = Table(
    "adjudications",
    metadata,
    Column("id", Integer, primary_key=True),
    _text("study_id"),
    _text("turn_id"),
    _text("item_id"),
    _text("criterion"),
    _text("value"),
    _text("reason"),
    Column("decided_at", UtcDateTime, nullable=False),
    _later("category"),
    _later("decided_by"),
    ForeignKeyConstraint(["study_id", "turn_id"], ["study_turns.study_id", "study_turns.turn_id"]),
    Index(None, "study_id"),
)

invitations = Table(
    "invitations",
    metadata,
    _text("id", key=True),
    Column("study_id", CleanText, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    _text("name_key"),
    _text("name"),
    _text("role"),
    _text("link_hash"),
    _text("password_hash"),
    Column("session_hash", CleanText, unique=True),
    Column("invited_at", UtcDateTime, nullable=False),
    Column("used_at", UtcDateTime),
    UniqueConstraint("study_id", "name_key"),
)

tokens = Table(
    "tokens",
    metadata,
    _text("id", key=True),
    _text("owner"),
    Column("name", CleanText, nullable=False, unique=True),
    Column("token_hash", CleanText, nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("used_at", UtcDateTime),
)

protocols = Table(
    "protocols",
    metadata,
    Column("study_id", CleanText, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    _text("plan"),
)

held_conversations = Table(
    "held_conversations",
    metadata,
    Column("study_id", CleanText, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    _text("annotator_key", key=True),
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("place", Integer, primary_key=True, autoincrement=False),
    _text("conversation_id"),
    _text("first_question"),
    Column("finished_at", UtcDateTime),
)

skips = Table(
    "skips",
    metadata,
    Column("id", Integer, primary_key=True),
    _text("study_id"),
    _text("turn_id"),
    _text("annotator_key"),
    _text("reason"),
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
    _text("document_id", key=True),
    Column("page", Integer, primary_key=True, autoincrement=False),
    _text("passage_id", key=True),
    _text("mime"),
    Column("image", LargeBinary, nullable=False),
)

preferences = Table(
    "preferences",
    metadata,
    _text("owner", key=True),
    _text("name", key=True),
    Column("value", Json, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
)

evaluations = Table(
    "evaluations",
    metadata,
    _text("id", key=True),
    _text("owner"),
    _text("protocol"),
    _text("dataset"),
    Column("systems", Json, nullable=False),
    _text("content"),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "owner"),
)

rankings = Table(
    "rankings",
    metadata,
    Column("evaluation_id", CleanText, ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True),
    _text("system", key=True),
    _text("item_id", key=True),
    _text("content"),
)

runs = Table(
    "runs",
    metadata,
    _text("id", key=True),
    _text("owner"),
    _text("name"),
    _text("protocol"),
    _text("dataset"),
    _text("key"),
    _text("plan"),
    Column("versions", Json, nullable=False),
    _text("state"),
    _text("error"),
    Column("total", Integer, nullable=False),
    _text("results"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Index(None, "owner"),
)

predictions = Table(
    "predictions",
    metadata,
    Column("run_id", CleanText, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    _text("system", key=True),
    _text("item_id", key=True),
    Column("failed", Boolean, nullable=False),
    _text("content"),
    Column("made_at", UtcDateTime, nullable=False),
)

work = Table(
    "work",
    metadata,
    _text("id", key=True),
    _text("kind"),
    _text("owner"),
    _text("content"),
    Column("added_at", UtcDateTime, nullable=False),
    _text("worker"),
    Column("until", UtcDateTime),
    Column("tries", Integer, nullable=False),
)

accounts = Table(
    "accounts",
    metadata,
    _text("name_key", key=True),
    _text("name"),
    _text("role"),
    _text("password_hash"),
    Column("made_at", UtcDateTime, nullable=False),
)

sign_ins = Table(
    "sign_ins",
    metadata,
    _text("token_hash", key=True),
    Column("name_key", CleanText, ForeignKey("accounts.name_key", ondelete="CASCADE"), nullable=False),
    Column("used_at", UtcDateTime, nullable=False),
    Column("ends_at", UtcDateTime, nullable=False),
    Index(None, "name_key"),
)
