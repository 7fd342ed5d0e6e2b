"""Which documents look like newer versions of others is not noted any more."""

from __future__ import annotations

from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Drop the table, which a database that is made today never had."""
    op.drop_table("document_versions", if_exists=True)
