"""Studies, annotators, ratings and adjudications."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the tables of the annotation screen."""
    op.create_table(
        "studies",
        *texts("id", "owner", "name"),
        moment("created_at"),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_studies"),
        sa.UniqueConstraint("owner", "name", name="uq_studies_owner"),
    )
    op.create_table(
        "study_turns",
        *texts("study_id", "turn_id"),
        sa.Column("position", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("study_id", "turn_id", name="pk_study_turns"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_study_turns_studies", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name="fk_study_turns_turns"),
    )
    op.create_index("ix_study_turns_turn_id", "study_turns", ["turn_id"])
    op.create_table(
        "annotators",
        *texts("study_id", "name_key", "name"),
        moment("joined_at"),
        sa.PrimaryKeyConstraint("study_id", "name_key", name="pk_annotators"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_annotators_studies", ondelete="CASCADE"),
    )
    op.create_table(
        "ratings",
        sa.Column("id", sa.Integer, nullable=False),
        *texts("study_id", "turn_id", "item_id", "annotator_key", "criterion", "value", "comment"),
        sa.Column("seconds", sa.Float, nullable=False),
        moment("rated_at"),
        sa.PrimaryKeyConstraint("id", name="pk_ratings"),
        sa.ForeignKeyConstraint(
            ["study_id", "turn_id"], ["study_turns.study_id", "study_turns.turn_id"], name="fk_ratings_study_turns"
        ),
        sa.ForeignKeyConstraint(
            ["study_id", "annotator_key"],
            ["annotators.study_id", "annotators.name_key"],
            name="fk_ratings_annotators",
        ),
    )
    op.create_index("ix_ratings_study_id", "ratings", ["study_id", "annotator_key"])
    op.create_table(
        "adjudications",
        sa.Column("id", sa.Integer, nullable=False),
        *texts("study_id", "turn_id", "item_id", "criterion", "value", "reason"),
        moment("decided_at"),
        sa.PrimaryKeyConstraint("id", name="pk_adjudications"),
        sa.ForeignKeyConstraint(
            ["study_id", "turn_id"],
            ["study_turns.study_id", "study_turns.turn_id"],
            name="fk_adjudications_study_turns",
        ),
    )
    op.create_index("ix_adjudications_study_id", "adjudications", ["study_id"])


def downgrade() -> None:
    """Drop the tables with all studies and ratings."""
    for name in ("adjudications", "ratings", "annotators", "study_turns", "studies"):
        op.drop_table(name)
