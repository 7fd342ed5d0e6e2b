"""Runs: systems measured on data sets, with the score of every item."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, nullable=False),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in (
                "owner",
                "protocol",
                "dataset",
                "system",
                "settings_fingerprint",
                "settings",
                "versions",
                "details",
            )
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index("ix_runs_owner", "runs", ["owner"])
    op.create_table(
        "scores",
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("item_id", sa.Text, nullable=False),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("value", sa.Float),
        sa.PrimaryKeyConstraint("run_id", "item_id", "metric", name="pk_scores"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_scores_run_id_runs", ondelete="CASCADE"),
    )
