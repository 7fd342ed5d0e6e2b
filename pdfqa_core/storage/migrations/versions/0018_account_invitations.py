"""Links by which somebody chooses the password of an account, of which only the hashes are kept."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the table; nobody is invited so far."""
    op.create_table(
        "account_invitations",
        *texts("name_key", "name", "role", "token_hash"),
        moment("ends_at"),
        sa.PrimaryKeyConstraint("name_key", name="pk_account_invitations"),
        sa.UniqueConstraint("token_hash", name="uq_account_invitations_token_hash"),
    )


def downgrade() -> None:
    """Drop the table: no link lets anybody in any more."""
    op.drop_table("account_invitations")
