"""What every extractor is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """Caps for one file, its name as the user knows it, and who is told (pages read, pages of the file)."""

    max_pages: int = 2000
    max_characters: int = 20_000_000
    filename: str = ""
    on_page: Callable[[int, int], None] | None = None
