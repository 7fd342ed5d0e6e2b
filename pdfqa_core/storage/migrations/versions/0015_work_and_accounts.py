"""Work that several programs share, and who may sign in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the tables; nothing is under way and nobody has an account so far."""
    op.create_table(
        "work",
        *texts("id", "kind", "owner", "content"),
        moment("added_at"),
        *texts("worker"),
        moment("until", nullable=True),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_work"),
    )
    op.create_table(
        "accounts",
        *texts("name_key", "name", "role", "password_hash"),
        moment("made_at"),
        sa.PrimaryKeyConstraint("name_key", name="pk_accounts"),
    )
    op.create_table(
        "sign_ins",
        *texts("token_hash", "name_key"),
        moment("used_at"),
        moment("ends_at"),
        sa.PrimaryKeyConstraint("token_hash", name="pk_sign_ins"),
        sa.ForeignKeyConstraint(
            ["name_key"], ["accounts.name_key"], name="fk_sign_ins_accounts", ondelete="CASCADE"
        ),
    )  # fmt: skip
    op.create_index("ix_sign_ins_name_key", "sign_ins", ["name_key"])


def downgrade() -> None:
    """Drop the tables."""
    op.drop_index("ix_sign_ins_name_key", "sign_ins")
    op.drop_table("sign_ins")
    op.drop_table("accounts")
    op.drop_table("work")
