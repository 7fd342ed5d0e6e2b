"""Encoders and a scorer at the protocols of retrieval. FakeEncoder: texts that share words are similar."""

import hashlib

import numpy as np

from pdfqa_core.errors import StoppedError
from pdfqa_core.text import content_terms
from pdfqa_core.types import Passage, Progress, Span, passage_id


class FakeEncoder:
    name = "fake-encoder"

    def __init__(self, dimension=64, model_hash="fake"):
        self.dimension = dimension
        self.model_hash = model_hash
        self.encoded = []

    def encode(self, texts, *, question=False, on_progress=None, stop=None):
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            if stop is not None and stop.is_set():
                raise StoppedError
            if not question:
                self.encoded.append(text)
            vectors[row, 0] = 0.1
            for term in content_terms(text):
                digest = hashlib.sha256(term.encode("utf-8", "replace")).digest()
                vectors[row, digest[0] % self.dimension] += 1 if digest[1] % 4 else -1
            vectors[row] /= np.linalg.norm(vectors[row]) or 1
            if on_progress is not None:
                on_progress(Progress("Embedding passages", row + 1, len(texts)))
        return vectors


class WordVectors:
    """At the `TokenEncoder` protocol: every word is a token whose vector follows from its letters."""

    name = "word-vectors"

    def __init__(self, dimension=24, model_hash="words"):
        self.dimension = dimension
        self.model_hash = model_hash
        self.encoded = []

    def encode_tokens(self, texts, *, question=False, on_progress=None, stop=None):
        found = []
        for text in texts:
            if stop is not None and stop.is_set():
                raise StoppedError
            if not question:
                self.encoded.append(text)
            seeds = [int.from_bytes(word.encode()[:7].ljust(7), "big") for word in text.split()]
            rows = [np.random.default_rng(seed).normal(size=self.dimension) for seed in seeds]
            made = np.asarray(rows, dtype=np.float32).reshape(len(rows), self.dimension)
            found.append(made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9))
        return found


class LengthScorer:
    """At the `PairScorer` protocol: the shorter the text, the better."""

    name = "length"

    def scores(self, question, texts):
        return np.asarray([-float(len(text)) for text in texts])


def passage(text, document_id="doc", number=0, heading=""):
    spans = (Span(document_id, number + 1, 0, len(text)),)
    return Passage(passage_id("test", spans), spans, text, heading)


def passages(*texts, document_id="doc"):
    return [passage(text, document_id, number) for number, text in enumerate(texts)]
