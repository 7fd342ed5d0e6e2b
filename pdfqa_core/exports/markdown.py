"""Tables in Markdown whose cells show exactly their characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pdfqa_core.exports.conversations import escape


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 1) -> str:
    """Return a table as GitHub's Markdown writes it; `head` is taken as it is.

    From the column `numbers` on, counted from 0, cells hold numbers: they stand right and are taken as they are.
    """
    borders = ["---" if place < numbers else "---:" for place in range(len(head))]
    texts = [[*map(_cell, row[:numbers]), *row[numbers:]] for row in rows]
    lines = [[*head], borders, *texts]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return escape(" ".join(text.split()))
