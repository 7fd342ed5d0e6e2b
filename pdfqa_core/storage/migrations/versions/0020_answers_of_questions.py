"""Synthetic questions have gold answers, and may be the turns of a conversation."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add the columns; questions that are there already have no answer and belong to no conversation."""
    with op.batch_alter_table("synthetic_questions") as table:
        for name in ("answer", "made_answer", "conversation"):
            table.add_column(sa.Column(name, sa.Text(), nullable=False, server_default=""))
        table.add_column(sa.Column("turn", sa.Integer(), nullable=False, server_default="0"))
