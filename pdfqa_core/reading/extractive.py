"""The extractive reader: the sentences of the hits that fit the question best, word for word. Needs no model."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from pdfqa_core.reading.base import INSUFFICIENT_CONTEXT, readers
from pdfqa_core.reading.matching import Quote, match, quotes
from pdfqa_core.text import content_terms
from pdfqa_core.types import Answer, Citation, Done, Event, Hit, Progress, StopSignal, Token


@readers.register("extractive")
class ExtractiveReader:
    """Answers with at most `count` sentences of the first `passages` hits, in their order, each of them cited.

    A sentence scores the sum of the inverse document frequencies (over the sentences at hand) of the question's content
    terms that it holds, divided by the same sum over all of them, plus a small bonus for the hit's rank. `threshold`
    is that of all readers, the share of a sentence's terms that its quote must hold; a literal sentence holds all.
    """

    needs_llm = False

    def __init__(self, *, passages: int = 2, count: int = 2, threshold: float = 0.5) -> None:
        self.passages = passages
        self.count = count
        self.threshold = threshold

    def read(
        self,
        question: str,
        hits: Sequence[Hit],
        history: Sequence[tuple[str, str]] = (),
        *,
        stop: StopSignal | None = None,
    ) -> Iterator[Event]:
        """Yield Progress, one Token per sentence and one Done; refuses if no sentence shares a term."""
        began = time.perf_counter()
        yield Progress(f"reading {min(len(hits), self.passages)} passages")
        chosen = self.sentences(question, hits)
        text, citations = "", []
        for quote in chosen:
            if stop is not None and stop.is_set():
                break
            sentence = " ".join(quote.text.split())
            piece = f" {sentence}" if text else sentence
            start = len(text) + len(piece) - len(sentence)
            text += piece
            verified = match(sentence, quote).containment >= self.threshold
            citations.append(
                Citation(quote.hit.rank, quote.hit.passage.id, quote.span, quote.text, verified, start, len(text))
            )
            yield Token(piece)
        stopped = stop is not None and stop.is_set()
        refused = not text and not stopped
        seconds = {"read": time.perf_counter() - began}
        text = INSUFFICIENT_CONTEXT if refused else text
        yield Done(Answer(text, tuple(citations), tuple(hits), refused, stopped, reader="extractive", seconds=seconds))

    def sentences(self, question: str, hits: Sequence[Hit]) -> list[Quote]:
        """Return the chosen sentences in the order of the hits and of their text."""
        candidates = [quote for hit in hits[: self.passages] for quote in quotes(hit, longest=1)]
        frequency = Counter(term for quote in candidates for term in quote.terms)
        weights = {term: math.log(1 + len(candidates) / (1 + frequency[term])) for term in set(content_terms(question))}
        total = sum(weights.values())
        scored: dict[tuple[str, ...], tuple[float, int, Quote]] = {}
        for place, quote in enumerate(candidates):
            share = sum(weight for term, weight in weights.items() if term in quote.terms) / total if total else 0.0
            if share > 0:
                score = share + 0.1 / quote.hit.rank
                key = tuple(sorted(quote.terms))  # overlapping passages hold the same sentence twice
                if key not in scored or score > scored[key][0]:
                    scored[key] = (score, place, quote)
        best = sorted(scored.values(), key=lambda entry: -entry[0])[: self.count]
        return [quote for _, _, quote in sorted(best, key=lambda entry: entry[1])]
