"""The measures of retrieval-augmented answers: citations, insufficient context, claims."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.short_answers import Overlap, harmonic, normalise_answer, overlap
from pdfqa_core.types import Outcome

# ----------------------------------------------------------------------------------------------------
# Citations as sets of ids: how many of the given ones are right, and how many of the right ones are given.


def citation_overlap(predicted: Iterable[Hashable], gold: Iterable[Hashable]) -> Overlap:
    """Return precision, recall and F1 (0..1) of cited ids; both empty: all 1, one empty: all 0."""
    ours, theirs = set(predicted), set(gold)
    if not ours or not theirs:
        same = float(ours == theirs)
        return Overlap(same, same, same)
    return overlap(len(ours & theirs), len(ours), len(theirs))


_SOURCE = "multi-hop question answering with cited passages"


@measure("citation_precision", "Citation precision", "|predicted ∩ gold| / |predicted|", _SOURCE, group=Group.CITATIONS)
def citation_precision(cited: Iterable[Hashable], gold_citations: Iterable[Hashable]) -> float:
    """Return the share (0..1) of cited ids that are right."""
    return citation_overlap(cited, gold_citations).precision


@measure("citation_recall", "Citation recall", "|predicted ∩ gold| / |gold|", _SOURCE, group=Group.CITATIONS)
def citation_recall(cited: Iterable[Hashable], gold_citations: Iterable[Hashable]) -> float:
    """Return the share (0..1) of right ids that are cited."""
    return citation_overlap(cited, gold_citations).recall


@measure("citation_f1", "Citation F1", "2PR / (P + R), per item, then the mean", _SOURCE, group=Group.CITATIONS)
def citation_f1(cited: Iterable[Hashable], gold_citations: Iterable[Hashable]) -> float:
    """Return the harmonic mean (0..1) of precision and recall."""
    return citation_overlap(cited, gold_citations).f1


# ----------------------------------------------------------------------------------------------------
# Whether missing evidence is noticed: the exact phrase, and refusals of answerable and unanswerable questions.

PHRASE = "insufficient context"


@measure(
    "insufficient_context_detection",
    "Insufficient context detection",
    "1 if the prediction is “insufficient context” where a gold answer is; other items are not scored",
    group=Group.MISSING,
    proportion=True,
)
def insufficient_context_detection(prediction: str, references: Sequence[str]) -> float | None:
    """Return whether the prediction normalises to "insufficient context"; None where no reference does."""
    if not any(normalise_answer(reference) == PHRASE for reference in references):
        return None
    return float(normalise_answer(prediction) == PHRASE)


@measure(
    "refusal_recall",
    "Refusal recall",
    "refused unanswerable questions / unanswerable questions",
    group=Group.MISSING,
    proportion=True,
)
def refusal_recall(refused: bool | None, answerable: bool) -> float | None:
    """Return whether an unanswerable question was refused; None for others, and where `refused` is not known."""
    return None if refused is None or answerable else float(refused)


@measure(
    "refusal_precision",
    "Refusal precision",
    "refused unanswerable questions / refused questions",
    group=Group.MISSING,
    proportion=True,
)
def refusal_precision(refused: bool | None, answerable: bool) -> float | None:
    """Return whether a refused question was unanswerable; None for others."""
    return float(not answerable) if refused else None


@measure(
    "answered",
    "Answered",
    "answerable questions that were answered / answerable questions",
    group=Group.MISSING,
    proportion=True,
)
def answered(refused: bool | None, answerable: bool) -> float | None:
    """Return whether an answerable question was answered; None for others, and where `refused` is not known."""
    return None if refused is None or not answerable else float(not refused)


@measure(
    "answered_surely",
    "Answered surely",
    "answerable questions with an answer that is sure / answerable questions",
    group=Group.MISSING,
    proportion=True,
)
def answered_surely(outcome: Outcome, answerable: bool) -> float | None:
    """Return whether the answer to an answerable question is a sure one; None for others."""
    return float(outcome is Outcome.ANSWER) if answerable else None


@measure(
    "wrongly_sure",
    "Wrongly sure",
    "unanswerable questions with an answer that is sure / unanswerable questions",
    higher_is_better=False,
    group=Group.MISSING,
    proportion=True,
)
def wrongly_sure(outcome: Outcome, answerable: bool) -> float | None:
    """Return whether the answer to an unanswerable question is a sure one; None for others."""
    return None if answerable else float(outcome is Outcome.ANSWER)


# ----------------------------------------------------------------------------------------------------
# Claims that were judged one by one: precision, recall and faithfulness from entailment labels. Source: RAGChecker.


def claim_share(entailed: Sequence[bool]) -> float | None:
    """Return the share of claims that are entailed (0..1); None without claims."""
    return sum(entailed) / len(entailed) if entailed else None


def claim_f1(precision: float | None, recall: float | None) -> float | None:
    """Return the harmonic mean; None where one of the two is."""
    return None if precision is None or recall is None else harmonic(precision, recall)


_CLAIM_SOURCE = "Ru et al. 2024 (RAGChecker)"
for _name, _pretty, _formula, _compute in (
    (
        "claim_precision",
        "Claim precision",
        "claims of the answer that the gold answer entails / all of them",
        claim_share,
    ),
    ("claim_recall", "Claim recall", "claims of the gold answer that the answer entails / all of them", claim_share),
    ("claim_f1", "Claim F1", "2PR / (P + R) of claim precision and recall, per item", claim_f1),
):
    measure(_name, _pretty, _formula, _CLAIM_SOURCE, group=Group.ENTAILMENT)(_compute)
