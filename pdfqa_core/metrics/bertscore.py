"""BERTScore: every token looks for its most similar token in the other text, by contextual vectors.

P = Σ idf(w) max cos / Σ idf(w) over the tokens of the prediction, R the same over those of the reference, F1 their
harmonic mean; without idf every weight is 1. idf(w) = ln((N + 1) / (df + 1)) over the N references, ln(N + 1) for a
token that is in none. Special tokens weigh 0 but can be matched, as in the authors' own implementation. What makes the
vectors is given. Source: Zhang et al. 2020, "BERTScore: Evaluating text generation with BERT".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from pdfqa_core.errors import StoppedError, UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.replies import OnDone
from pdfqa_core.metrics.short_answers import Overlap

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.floating]

NAMES = ("bertscore_precision", "bertscore_recall", "bertscore_f1")
BLOCK = 256  # pairs whose vectors are in memory together
LEAST_REFERENCES = 2  # for idf: with one reference every idf is 0


class TokenVectors(NamedTuple):
    """The tokens of a text: `ids` and whether each is `special` ([CLS], …), and their (tokens, dimension) `vectors`."""

    ids: tuple[Hashable, ...]
    vectors: Floats
    special: tuple[bool, ...]


class TokenEmbedder(Protocol):
    """What BERTScore needs of an encoder."""

    @property
    def name(self) -> str:
        """The encoder's name, named in every result."""
        ...

    def token_ids(self, texts: Sequence[str]) -> list[tuple[Hashable, ...]]:
        """Return the tokens of each text without the special ones; loads no weights."""
        ...

    def embed(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the tokens of each text with their vectors, of any length, in the order of the texts."""
        ...


class Baseline(NamedTuple):
    """What texts that have nothing to do with each other get: (x - b) / (1 - b) rescales to 0 there."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class BertScores:
    """P, R and F1 of each item, None where it could not be scored. `encoder`, `idf` and `baseline` say how."""

    items: tuple[Overlap | None, ...]
    encoder: str
    idf: bool = False
    baseline: Baseline | None = None
    inner_product: bool = False

    @property
    def setting(self) -> str:
        """How the values came about, for tables: encoder, weights, rescaling."""
        rescaled = f"rescaled with {', '.join(f'{b:.3f}' for b in self.baseline)}" if self.baseline else ""
        compared = "inner products" if self.inner_product else ""
        weighed = "idf" if self.idf else "no idf"
        return ", ".join(part for part in (self.encoder, weighed, compared, rescaled) if part)

    def metrics(self) -> list[dict[str, float | None]]:
        """Return the values of each item by measure."""
        return [dict(zip(NAMES, item or (None, None, None), strict=True)) for item in self.items]


def idf_weights(references: Sequence[Sequence[Hashable]]) -> Mapping[Hashable, float]:
    """Return the idf of each token of the references. Raises UsageError below 2 references: every idf would be 0."""
    count = len(references)
    if count < LEAST_REFERENCES:
        raise UsageError(
            f"idf weights need at least {LEAST_REFERENCES} references, there {'is' if count == 1 else 'are'} {count}.",
            "Score without idf, or score more items together.",
        )
    df = Counter(token for reference in references for token in set(reference))
    return {token: log((count + 1) / (found + 1)) for token, found in df.items()}


def greedy_match(
    prediction: Floats,
    reference: Floats,
    prediction_weights: Sequence[float] | None = None,
    reference_weights: Sequence[float] | None = None,
    *,
    inner_product: bool = False,
) -> Overlap | None:
    """Return P, R and F1 of two (tokens, dimension) arrays of vectors, of any length; weights are 1 if not given.

    Vectors are compared by their cosine; with `inner_product` as they are, so that values have no bounds. F1 is 0 where
    P or R is not positive. None where the weights of one side add up to 0.
    """
    import numpy as np

    ours, theirs = (prediction, reference) if inner_product else (_unit(prediction), _unit(reference))
    cosines = ours @ theirs.T
    ours_weights = np.ones(len(ours)) if prediction_weights is None else np.asarray(prediction_weights, dtype=float)
    theirs_weights = np.ones(len(theirs)) if reference_weights is None else np.asarray(reference_weights, dtype=float)
    if not cosines.size or ours_weights.sum() <= 0 or theirs_weights.sum() <= 0:
        return None
    precision = float(np.average(cosines.max(axis=1), weights=ours_weights))
    recall = float(np.average(cosines.max(axis=0), weights=theirs_weights))
    f1 = 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0
    return Overlap(precision, recall, f1)


def bertscore(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    embedder: TokenEmbedder,
    *,
    idf: bool = False,
    baseline: Baseline | None = None,
    inner_product: bool = False,
    stop: StopSignal | None = None,
    on_done: OnDone | None = None,
) -> BertScores:
    """Return P, R and F1 of each prediction against the one of its references that has the largest F1.

    `inner_product` compares vectors as they are, not by their cosine.

    A prediction and a reference without tokens: all 1, only one of them: all 0. An item is None without references, or
    with idf where all tokens of a text are in every reference. Pairs go to the embedder sorted by length, in blocks,
    each text of a block once. Raises UsageError if the lists differ in length, for idf below 2 references, and for a
    baseline of 1 or more; ModelError of the embedder; StoppedError.
    """
    if len(predictions) != len(references):
        raise UsageError(f"There are {len(predictions)} predictions and {len(references)} lists of references.")
    if baseline is not None and max(baseline) >= 1:
        raise UsageError(f"A baseline of {max(baseline)} leaves nothing to rescale.", "Give numbers below 1.")
    weights: Mapping[Hashable, float] | None = None
    unseen = 0.0
    if idf:
        listed = [text for several in references for text in several]
        weights, unseen = idf_weights(embedder.token_ids(listed)), log(len(listed) + 1)
    pairs = [(row, text) for row, several in enumerate(references) for text in several]
    pairs.sort(key=lambda pair: (len(predictions[pair[0]]) + len(pair[1]), pair[0]), reverse=True)
    best: list[Overlap | None] = [None] * len(predictions)
    for first in range(0, len(pairs), BLOCK):
        if stop is not None and stop.is_set():
            raise StoppedError
        block = pairs[first : first + BLOCK]
        texts = list(dict.fromkeys(text for row, reference in block for text in (predictions[row], reference)))
        vectors = dict(zip(texts, embedder.embed(texts), strict=True))
        for row, reference in block:
            found = _compare(
                vectors[predictions[row]], vectors[reference], weights, unseen, inner_product=inner_product
            )
            if found is not None and (best[row] is None or found.f1 > best[row].f1):  # type: ignore[union-attr]
                best[row] = found
        if on_done is not None:
            on_done(min(len(pairs), first + BLOCK), len(pairs))
    return BertScores(tuple(_rescaled(item, baseline) for item in best), embedder.name, idf, baseline, inner_product)


def _compare(
    ours: TokenVectors,
    theirs: TokenVectors,
    weights: Mapping[Hashable, float] | None,
    unseen: float,
    *,
    inner_product: bool = False,
) -> Overlap | None:
    if all(ours.special) or all(theirs.special):
        same = float(all(ours.special) and all(theirs.special))
        return Overlap(same, same, same)
    return greedy_match(
        ours.vectors,
        theirs.vectors,
        _weights(ours, weights, unseen),
        _weights(theirs, weights, unseen),
        inner_product=inner_product,
    )


def _weights(text: TokenVectors, weights: Mapping[Hashable, float] | None, unseen: float) -> list[float]:
    return [
        0.0 if special else 1.0 if weights is None else weights.get(token, unseen)
        for token, special in zip(text.ids, text.special, strict=True)
    ]


def _rescaled(item: Overlap | None, baseline: Baseline | None) -> Overlap | None:
    if item is None or baseline is None:
        return item
    return Overlap(*((value - b) / (1 - b) for value, b in zip(item, baseline, strict=True)))


def _unit(vectors: Floats) -> Floats:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1.0, lengths))


for _name, _pretty, _low, _formula in zip(
    NAMES,
    ("BERTScore P", "BERTScore R", "BERTScore F1"),
    (-1.0, -1.0, 0.0),
    (
        "Σ idf(w) max cos / Σ idf(w) over the tokens w of the prediction",
        "Σ idf(w) max cos / Σ idf(w) over the tokens w of the reference",
        "2PR / (P + R), 0 where P or R is not positive; best reference; may leave the range when rescaled",
    ),
    strict=True,
):
    measure(_name, _pretty, _formula, "Zhang et al. 2020", low=_low, group=Group.MEANING)(bertscore)
