"""What the rows of the two tables hold, and passages as text in them."""

from __future__ import annotations

import hashlib
import json

from pdfqa_core.types import Passage, Span

WORDS, VECTOR = "words", "vector"

# By column: i, l integers of 32 and 64 bits, f a float, s text, S and I lists of text and integers.
PASSAGE_COLUMNS = {
    "key": "l", "place": "i", "length": "i", "text_words": "i", "first_page": "i", "last_page": "i", WORDS: "s",
    "passage": "s",
}  # fmt: skip
DOCUMENT_COLUMNS = {
    "document": "s", "source": "s", "passages": "i", "language": "s", "seconds": "f", "vocabulary": "S",
    "frequencies": "I",
}  # fmt: skip


def document_key(document_id: str) -> int:
    """Return the number that stands for a document in the passages' table."""
    return int.from_bytes(hashlib.sha256(document_id.encode()).digest()[:8], "big", signed=True)


def as_json(passage: Passage) -> str:
    """Return a passage as it stands in its row: ASCII, as broken PDFs hold lone surrogates, which UTF-8 cannot say."""
    spans = [[span.document_id, span.page, span.start, span.end] for span in passage.spans]
    return json.dumps([passage.id, spans, passage.text, passage.heading, passage.language], separators=(",", ":"))


def passage_of(written: str) -> Passage:
    """Return the passage of such a text."""
    number, spans, text, heading, language = json.loads(written)
    return Passage(number, tuple(Span(*span) for span in spans), text, heading, language)
