"""Thumbs: what the one who asked thinks of an answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column; nobody has said anything of the answers so far."""
    op.add_column("turns", sa.Column("thumb", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    """Drop the column with what was said of the answers."""
    op.drop_column("turns", "thumb")
