"""Tokens by which programs use the server, of which only the hashes are kept."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the table; no program has a token so far."""
    op.create_table(
        "tokens",
        *texts("id", "owner", "name", "token_hash"),
        moment("created_at"),
        moment("used_at", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("name", name="uq_tokens_name"),
        sa.UniqueConstraint("token_hash", name="uq_tokens_token_hash"),
    )


def downgrade() -> None:
    """Drop the table: no token lets anybody in any more."""
    op.drop_table("tokens")
