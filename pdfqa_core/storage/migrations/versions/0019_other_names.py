"""Documents remember the other names of their files."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Add the column: documents that are there have one name."""
    op.add_column("documents", sa.Column("other_names", sa.Text(), nullable=False, server_default="[]"))
