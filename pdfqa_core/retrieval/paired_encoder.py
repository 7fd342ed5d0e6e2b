"""A pair of encoders as DPR has: one for questions, one for passages, whose vectors share a space.

Source: Karpukhin et al. 2020, "Dense Passage Retrieval". Vectors have length 1 here: they are compared by cosine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.encoder import BATCH, Encoder, OnProgress, Vectors

BETWEEN = " + "  # the encoder of questions, then that of passages


def parts_of(path_or_name: str) -> tuple[str, ...]:
    """Return the name of an encoder, or the two of a pair ("QUESTIONS + PASSAGES"). Raises UsageError for more."""
    parts = tuple(part.strip() for part in path_or_name.split(BETWEEN))
    if len(parts) > 2 or (len(parts) == 2 and not all(parts)):
        raise UsageError(
            f"{path_or_name!r} names {len(parts)} encoders.", "Name one, or two: QUESTIONS + PASSAGES."
        )  # fmt: skip
    return parts


@dataclass(frozen=True)
class PairedEncoder:
    """Encodes questions with one model and passages with another one. Raises ModelError where their sizes differ."""

    questions: Encoder
    passages: Encoder

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.questions.name}{BETWEEN}{self.passages.name}"

    @property
    def model_hash(self) -> str:
        """16 hex digits over both models."""
        both = f"{self.questions.model_hash} {self.passages.model_hash}"
        return hashlib.sha256(both.encode()).hexdigest()[:16]

    @property
    def texts_per_call(self) -> int:
        """How many passages the encoder of passages wants at a time."""
        return int(getattr(self.passages, "texts_per_call", BATCH))

    def encode(
        self, texts: Sequence[str], *, question: bool = False, on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> Vectors:  # fmt: skip
        """Return one vector of length 1 per text, see `Encoder.encode`."""
        if self.questions.dimension != self.passages.dimension:
            raise ModelError(
                f"{self.questions.name} makes vectors of {self.questions.dimension} numbers, {self.passages.name} of "
                f"{self.passages.dimension}.",
                "Name two encoders that were trained together.",
            )
        encoder = self.questions if question else self.passages
        return encoder.encode(texts, question=question, on_progress=on_progress, stop=stop)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) of the tokens that the model of passages makes of a text."""
        return self.passages.token_spans(text)
