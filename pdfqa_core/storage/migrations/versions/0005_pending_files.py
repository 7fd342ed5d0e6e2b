"""Pending files: what is about to be written to the folder of PDFs, or deleted from it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "pending_files",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("document_id", sa.Text, nullable=False),
        sa.Column("change", sa.Text, nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_pending_files"),
    )
