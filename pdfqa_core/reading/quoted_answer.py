"""An answer that is put together from quotes, word for word."""

from __future__ import annotations

from dataclasses import dataclass, field

from pdfqa_core.reading.matching import Quote
from pdfqa_core.types import CheckedSentence, Citation, Support, Token


@dataclass(slots=True)
class QuotedAnswer:
    """The text so far, quotes with `between` between them; each one is cited, and supported since it is literal."""

    between: str
    text: str = ""
    citations: list[Citation] = field(default_factory=list)
    sentences: list[CheckedSentence] = field(default_factory=list)

    def add(self, quote: Quote, *, strip: str = "", lead: str = "") -> Token:
        """Add a quote without the characters of `strip` at its beginning; return what the text has gained.

        `lead` stands before it and is not part of what is cited.
        """
        words = " ".join(quote.parts[0].split()).lstrip(strip or None)
        piece = f"{self.between}{lead}{words}" if self.text else f"{lead}{words}"
        self.text += piece
        start, end = len(self.text) - len(words), len(self.text)
        self.citations.append(
            Citation(quote.hit.rank, quote.hit.passage.id, quote.span, quote.text, True, start, end)
        )  # fmt: skip
        self.sentences.append(CheckedSentence(start, end, Support.SUPPORTED))
        return Token(piece)
