"""Columns that most tables have. Released steps use these functions, so what they return must not change."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa


def texts(*names: str) -> list[sa.Column[str]]:
    """Return a column of text, never NULL, for each name."""
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def moment(name: str, *, nullable: bool = False) -> sa.Column[datetime]:
    """Return a column of times with their zone."""
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)
