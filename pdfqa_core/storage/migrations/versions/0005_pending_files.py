"""Pending files: what is about to be written to the folder of PDFs, or deleted from it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "pending_files",
        sa.Column("id", sa.Integer, nullable=False),
        *texts("document_id", "change"),
        moment("since"),
        sa.PrimaryKeyConstraint("id", name="pk_pending_files"),
    )


def downgrade() -> None:
    """Drop the table: what was being written or deleted at this moment is not known any more."""
    op.drop_table("pending_files")
