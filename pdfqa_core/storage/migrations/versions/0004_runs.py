"""Runs: systems measured on data sets, with the score of every item."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "runs",
        *texts(
            "id", "owner", "protocol", "dataset", "system", "settings_fingerprint", "settings", "versions", "details"
        ),
        moment("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index("ix_runs_owner", "runs", ["owner"])
    op.create_table(
        "scores",
        *texts("run_id", "item_id", "metric"),
        sa.Column("value", sa.Float),
        sa.PrimaryKeyConstraint("run_id", "item_id", "metric", name="pk_scores"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_scores_run_id_runs", ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Drop the runs with their scores."""
    op.drop_table("scores")
    op.drop_table("runs")
