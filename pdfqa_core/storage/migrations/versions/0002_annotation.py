"""Studies, annotators, ratings and adjudications."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def _moment() -> sa.DateTime:
    return sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables of the annotation screen."""
    op.create_table(
        "studies",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", _moment(), nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_studies"),
        sa.UniqueConstraint("owner", "name", name="uq_studies_owner"),
    )
    op.create_table(
        "study_turns",
        sa.Column("study_id", sa.Text, nullable=False),
        sa.Column("turn_id", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("study_id", "turn_id", name="pk_study_turns"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_study_turns_studies", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name="fk_study_turns_turns"),
    )
    op.create_index("ix_study_turns_turn_id", "study_turns", ["turn_id"])
    op.create_table(
        "annotators",
        sa.Column("study_id", sa.Text, nullable=False),
        sa.Column("name_key", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("joined_at", _moment(), nullable=False),
        sa.PrimaryKeyConstraint("study_id", "name_key", name="pk_annotators"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_annotators_studies", ondelete="CASCADE"),
    )
    op.create_table(
        "ratings",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("study_id", sa.Text, nullable=False),
        sa.Column("turn_id", sa.Text, nullable=False),
        sa.Column("item_id", sa.Text, nullable=False),
        sa.Column("annotator_key", sa.Text, nullable=False),
        sa.Column("criterion", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("rated_at", _moment(), nullable=False),
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
        sa.Column("study_id", sa.Text, nullable=False),
        sa.Column("turn_id", sa.Text, nullable=False),
        sa.Column("item_id", sa.Text, nullable=False),
        sa.Column("criterion", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("decided_at", _moment(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_adjudications"),
        sa.ForeignKeyConstraint(
            ["study_id", "turn_id"],
            ["study_turns.study_id", "study_turns.turn_id"],
            name="fk_adjudications_study_turns",
        ),
    )
    op.create_index("ix_adjudications_study_id", "adjudications", ["study_id"])
