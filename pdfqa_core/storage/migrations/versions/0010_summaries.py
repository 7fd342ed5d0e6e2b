"""Summaries of documents, one for each owner and document."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the table; nothing has been summarised so far."""
    op.create_table(
        "summaries",
        *texts("document_id", "owner", "extractor", "version", "content"),
        moment("made_at"),
        sa.PrimaryKeyConstraint("document_id", "owner", name="pk_summaries"),
    )


def downgrade() -> None:
    """Drop the table with its summaries."""
    op.drop_table("summaries")
