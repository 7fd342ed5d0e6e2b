"""Questions made of passages, with what became of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the table; no question has been made so far."""
    op.create_table(
        "synthetic_questions",
        *texts("id", "owner", "document_id", "passage_id", "spans", "passage", "text", "made", "kind", "model"),
        sa.Column("seed", sa.BigInteger, nullable=False),
        *texts("outcome", "reason"),
        moment("made_at"),
        sa.Column("position", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_synthetic_questions"),
    )
    op.create_index("ix_synthetic_questions_owner", "synthetic_questions", ["owner", "document_id"])


def downgrade() -> None:
    """Drop the table with its questions."""
    op.drop_table("synthetic_questions")
