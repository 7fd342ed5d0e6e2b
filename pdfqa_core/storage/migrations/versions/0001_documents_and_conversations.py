"""Documents, their pages, conversations and preferences."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "documents",
        *texts("id", "owner", "title", "filename"),
        sa.Column("page_count", sa.Integer, nullable=False),
        moment("added_at"),
        *texts("state", "reason"),
        sa.Column("size", sa.BigInteger, nullable=False),
        *texts("pages_without_text"),
        sa.PrimaryKeyConstraint("id", "owner", name="pk_documents"),
    )
    op.create_index("ix_documents_owner", "documents", ["owner"])
    op.create_table(
        "pages",
        *texts("document_id", "extractor"),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("document_id", "extractor", "number", name="pk_pages"),
    )
    op.create_table(
        "conversations",
        *texts("id", "owner", "title"),
        moment("created_at"),
        moment("changed_at"),
        moment("deleted_at", nullable=True),
        *texts("document_ids"),
        sa.PrimaryKeyConstraint("id", name="pk_conversations"),
    )
    op.create_index("ix_conversations_owner", "conversations", ["owner"])
    op.create_table(
        "turns",
        *texts("id", "conversation_id"),
        sa.Column("number", sa.Integer, nullable=False),
        *texts("question", "standalone_question", "answer", "filenames"),
        moment("created_at"),
        moment("superseded_at", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_turns"),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name="fk_turns_conversations", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_turns_conversation_id", "turns", ["conversation_id"])
    op.create_table(
        "preferences",
        *texts("owner", "name", "value"),
        moment("changed_at"),
        sa.PrimaryKeyConstraint("owner", "name", name="pk_preferences"),
    )


def downgrade() -> None:
    """Drop the tables: the database is empty."""
    for name in ("preferences", "turns", "conversations", "pages", "documents"):
        op.drop_table(name)
