"""Examples for few-shot prompts: pairs of question and passage, from a JSON or JSONL file."""

from __future__ import annotations

from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.json_rows import load_rows

HINT = 'Write one {"question": …, "passage": …} per line.'


def read_pairs(path: Path) -> tuple[tuple[str, str], ...]:
    """Return (question, passage) of every row; "quote" counts as the passage too. Raises UsageError naming the row."""
    pairs = []
    for row in load_rows(path, "examples", HINT):
        question, passage = row.values.get("question"), row.values.get("passage", row.values.get("quote"))
        for name, value in (("question", question), ("passage", passage)):
            if not isinstance(value, str) or not value.strip():
                raise UsageError(f"{row.where}: there is no {name}.", HINT)
        pairs.append((str(question), str(passage)))
    return tuple(pairs)
