"""The tables of version 0.2. A new database is made from `storage/tables.py`; a step changes what is there already."""

from __future__ import annotations

revision = "0018"
down_revision = None


def upgrade() -> None:
    """Change nothing: this is where the steps begin."""
