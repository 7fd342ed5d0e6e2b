"""How many passages each answer was shown with: what is left to rate is counted without reading the answers."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the column and fill it from the answers."""
    op.add_column("turns", sa.Column("passages", sa.Integer, nullable=False, server_default="0"))
    turns = sa.table("turns", sa.column("id", sa.Text), sa.column("answer", sa.Text), sa.column("passages", sa.Integer))
    connection = op.get_bind()
    for turn_id in connection.scalars(sa.select(turns.c.id)).all():
        answer = connection.scalar(sa.select(turns.c.answer).where(turns.c.id == turn_id))
        try:
            count = len(json.loads(answer or "{}").get("hits") or ())
        except (ValueError, AttributeError, TypeError):
            continue  # an answer that cannot be read cannot be rated either
        if count:
            connection.execute(sa.update(turns).where(turns.c.id == turn_id).values(passages=count))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("turns", "passages")
