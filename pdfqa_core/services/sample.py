"""The document that comes with the program, and the questions made for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pdfqa_core.errors import PdfQAError

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"


def sample_pdf() -> Path:
    """Return where the sample document lies. Raises PdfQAError if it is missing."""
    found = sorted(SAMPLE.glob("*.pdf"))
    if not found:
        raise PdfQAError("The sample document is missing.", f"It belongs into {SAMPLE}.")
    return found[0]


def sample_questions() -> list[dict[str, Any]]:
    """Return the rows of the sample's questions, in their order."""
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
