"""Runs of evaluations, and what the systems predicted in them, item by item."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the tables; nothing has been run so far."""
    op.create_table(
        "runs",
        *texts("id", "owner", "name", "protocol", "dataset", "key", "plan", "versions", "state", "error"),
        sa.Column("total", sa.Integer, nullable=False),
        *texts("results"),
        moment("created_at"),
        moment("changed_at"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index("ix_runs_owner", "runs", ["owner"])
    op.create_table(
        "predictions",
        *texts("run_id", "system", "item_id"),
        sa.Column("failed", sa.Boolean, nullable=False),
        *texts("content"),
        moment("made_at"),
        sa.PrimaryKeyConstraint("run_id", "system", "item_id", name="pk_predictions"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_predictions_run_id_runs", ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Drop the runs with their predictions."""
    op.drop_table("predictions")
    op.drop_index("ix_runs_owner", "runs")
    op.drop_table("runs")
