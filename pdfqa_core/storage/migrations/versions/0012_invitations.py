"""Who is invited to a study, and the conversations that a guided protocol has its evaluators hold."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Create the tables; nobody has been invited so far, and no study follows a protocol."""
    op.create_table(
        "invitations",
        *texts("id", "study_id", "name_key", "name", "role", "link_hash", "password_hash"),
        sa.Column("session_hash", sa.Text),
        moment("invited_at"),
        moment("used_at", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_invitations"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_invitations_studies", ondelete="CASCADE"),
        sa.UniqueConstraint("study_id", "name_key", name="uq_invitations_study_id"),
        sa.UniqueConstraint("session_hash", name="uq_invitations_session_hash"),
    )
    op.create_table(
        "protocols",
        *texts("study_id", "plan"),
        sa.PrimaryKeyConstraint("study_id", name="pk_protocols"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_protocols_studies", ondelete="CASCADE"),
    )
    op.create_table(
        "held_conversations",
        *texts("study_id", "annotator_key"),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        *texts("conversation_id", "first_question"),
        moment("finished_at", nullable=True),
        sa.PrimaryKeyConstraint("study_id", "annotator_key", "round", "place", name="pk_held_conversations"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_held_conversations_studies", ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Drop the tables: links stop working, and what was held stays as conversations."""
    for name in ("held_conversations", "protocols", "invitations"):
        op.drop_table(name)
