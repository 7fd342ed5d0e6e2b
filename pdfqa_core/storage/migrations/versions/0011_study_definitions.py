"""What a study asks, its state, drafts and revisions of ratings, skipped items, pages kept with items."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0011"
down_revision = "0010"

TEXTS: dict[str, tuple[str, ...]] = {
    "studies": ("preset", "criteria", "guideline"),
    "study_turns": ("details",),
    "annotators": ("drawn_as",),
    "adjudications": ("category", "decided_by"),
}
FLAGS: dict[str, tuple[str, ...]] = {"studies": ("invited",), "ratings": ("draft", "revision")}
MOMENTS: dict[str, tuple[str, ...]] = {"studies": ("revealed_at",), "annotators": ("removed_at",)}


def upgrade() -> None:
    """Add columns and tables. Studies so far ask MaHuEval's questions and are open; all their ratings are submitted."""
    for table, names in TEXTS.items():
        for name in names:
            op.add_column(table, sa.Column(name, sa.Text, nullable=False, server_default=""))
    op.add_column("studies", sa.Column("state", sa.Text, nullable=False, server_default="open"))
    for table, names in FLAGS.items():
        for name in names:
            op.add_column(table, sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false()))
    for table, names in MOMENTS.items():
        for name in names:
            op.add_column(table, moment(name, nullable=True))
    op.create_table(
        "skips",
        sa.Column("id", sa.Integer, nullable=False),
        *texts("study_id", "turn_id", "annotator_key", "reason"),
        sa.Column("seconds", sa.Float, nullable=False),
        moment("skipped_at"),
        sa.PrimaryKeyConstraint("id", name="pk_skips"),
        sa.ForeignKeyConstraint(
            ["study_id", "turn_id"], ["study_turns.study_id", "study_turns.turn_id"], name="fk_skips_study_turns"
        ),
        sa.ForeignKeyConstraint(
            ["study_id", "annotator_key"], ["annotators.study_id", "annotators.name_key"], name="fk_skips_annotators"
        ),
    )
    op.create_index("ix_skips_study_id", "skips", ["study_id"])
    op.create_table(
        "study_pictures",
        *texts("study_id", "document_id"),
        sa.Column("page", sa.Integer, nullable=False),
        *texts("passage_id", "mime"),
        sa.Column("image", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("study_id", "document_id", "page", "passage_id", name="pk_study_pictures"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_study_pictures_studies", ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Drop what was added. Drafts and revisions go: the step before would count them."""
    op.drop_table("study_pictures")
    op.drop_index("ix_skips_study_id", "skips")
    op.drop_table("skips")
    ratings = sa.table("ratings", sa.column("draft", sa.Boolean), sa.column("revision", sa.Boolean))
    op.execute(sa.delete(ratings).where(sa.or_(ratings.c.draft, ratings.c.revision)))
    for table, names in MOMENTS.items():
        for name in names:
            op.drop_column(table, name)
    for table, names in FLAGS.items():
        for name in names:
            op.drop_column(table, name)
    op.drop_column("studies", "state")
    for table, names in TEXTS.items():
        for name in names:
            op.drop_column(table, name)
