"""Passages, questions and vectors that no document has, to measure speed at sizes that would take hours to encode."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pdfqa_core.types import Passage, Span, passage_id

WORDS = 100
DIMENSION = 384
TOPICS = 500
PER_DOCUMENT = 500


def passages(count: int, rng: np.random.Generator, per_document: int = PER_DOCUMENT) -> list[Passage]:
    """Return passages of 100 words, drawn from 50,000 words by Zipf's law."""
    ids = np.minimum(rng.zipf(1.2, size=(count, WORDS)), 50_000)
    made = []
    for number, row in enumerate(ids):
        text = " ".join(f"w{i}" for i in row)
        spans = (Span(f"doc{number // per_document}", number % per_document + 1, 0, len(text)),)
        made.append(Passage(passage_id("synthetic", spans), spans, text))
    return made


def questions(made: Sequence[Passage], count: int, rng: np.random.Generator, words: int = 10) -> list[str]:
    """Return questions of 10 words that stand in one passage each."""
    rows = rng.choice(len(made), count)
    return [" ".join(rng.choice(made[row].text.split(), words)) for row in rows]


def by_document(made: Sequence[Passage]) -> dict[str, Callable[[], list[Passage]]]:
    """Return the passages as the providers that `Index.open_or_build` takes."""
    groups: dict[str, list[Passage]] = {}
    for passage in made:
        groups.setdefault(passage.document_id, []).append(passage)
    return {name: (lambda group=group: group) for name, group in groups.items()}


class TopicVectors:
    """At the encoder protocols: a text's vector is that of one of 500 topics, perturbed; nothing is understood.

    Real sentence embeddings crowd like this; vectors without any topics have no near neighbours for a graph to find.
    """

    name = "topic-vectors"
    model_hash = "topics"

    def __init__(self, dimension: int = DIMENSION, tokens: int = 130) -> None:
        rng = np.random.default_rng(1)
        self.topics = rng.normal(size=(TOPICS, dimension)).astype(np.float32)
        self.rng = rng
        self.tokens = tokens

    def encode(self, texts: Sequence[str], **_: object) -> np.ndarray:
        """Return one vector of length 1 per text."""
        return self._unit(self.topics[self.rng.integers(0, TOPICS, len(texts))])

    def encode_tokens(self, texts: Sequence[str], *, question: bool = False, **_: object) -> list[np.ndarray]:
        """Return the vectors of 130 tokens per text, of 24 for a question."""
        length = 24 if question else self.tokens
        return [self._unit(self.topics[self.rng.integers(0, TOPICS, length)]) for _ in texts]

    def _unit(self, centres: np.ndarray) -> np.ndarray:
        vectors = centres + 0.7 * self.rng.normal(size=centres.shape).astype(np.float32)
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def milliseconds(call: Callable[[str], object], asked: Sequence[str]) -> tuple[float, float]:
    """Return the median and the 95th percentile of a call per question, after one call that warms up."""
    call(asked[0])
    taken = []
    for question in asked:
        began = time.perf_counter()
        call(question)
        taken.append(1000 * (time.perf_counter() - began))
    return float(np.median(taken)), float(np.percentile(taken, 95))
