"""Languages: the one that a reading's text is in; empty where nobody has looked yet."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the column; it is filled in when a reading is used next."""
    op.add_column("readings", sa.Column("language", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("readings", "language")
