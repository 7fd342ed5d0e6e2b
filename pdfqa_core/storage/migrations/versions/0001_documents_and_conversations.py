"""Documents, their pages, conversations and preferences."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _moment() -> sa.DateTime:
    return sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "documents",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("filename", sa.Text, nullable=False),
        sa.Column("page_count", sa.Integer, nullable=False),
        sa.Column("added_at", _moment(), nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("pages_without_text", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", "owner", name="pk_documents"),
    )
    op.create_index("ix_documents_owner", "documents", ["owner"])
    op.create_table(
        "pages",
        sa.Column("document_id", sa.Text, nullable=False),
        sa.Column("extractor", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("document_id", "extractor", "number", name="pk_pages"),
    )
    op.create_table(
        "conversations",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("created_at", _moment(), nullable=False),
        sa.Column("changed_at", _moment(), nullable=False),
        sa.Column("deleted_at", _moment()),
        sa.Column("document_ids", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_conversations"),
    )
    op.create_index("ix_conversations_owner", "conversations", ["owner"])
    op.create_table(
        "turns",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("conversation_id", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("standalone_question", sa.Text, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("filenames", sa.Text, nullable=False),
        sa.Column("created_at", _moment(), nullable=False),
        sa.Column("superseded_at", _moment()),
        sa.PrimaryKeyConstraint("id", name="pk_turns"),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name="fk_turns_conversations", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_turns_conversation_id", "turns", ["conversation_id"])
    op.create_table(
        "preferences",
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("changed_at", _moment(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "name", name="pk_preferences"),
    )
