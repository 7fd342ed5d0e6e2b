"""How the sources compute their measures, where the defaults here differ, and what to say about that in a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import OTHER_THAN_SOURCE
from pdfqa_core.settings import Settings

SEED = "seed"


@dataclass(frozen=True, slots=True)
class Profile:
    """The choices of a profile. The default ones are those of the field's own tools.

    `idf` and `inner_product` concern BERTScore; `rouge_l` takes ROUGE-L in the place of ROUGE-Lsum for ASQA;
    `entity_sets` counts an entity once; `empty_citations` scores citations where neither side has any; `zero_missing`
    counts insufficient context that applies to no item as 0; `unusable_as_zero` counts a segment without a usable reply
    as 0; `plain_sentences` splits sentences as NLTK does; `all_passages` ranks every passage for MRR. `settings` are
    those of the systems, by section, unless they say otherwise.
    """

    name: str = ""
    idf: bool = False
    inner_product: bool = False
    rouge_l: bool = False
    entity_sets: bool = False
    empty_citations: bool = False
    zero_missing: bool = False
    unusable_as_zero: bool = False
    plain_sentences: bool = False
    all_passages: bool = False
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def said(self) -> dict[str, str]:
        """Return its name as a setting of the results."""
        return {"profile": "as in the sources" if self.name else "default"}


DEFAULT = Profile()
AS_IN_THE_SOURCES = Profile(
    SEED, idf=True, inner_product=True, rouge_l=True, entity_sets=True, empty_citations=True, zero_missing=True,
    unusable_as_zero=True, plain_sentences=True, all_passages=True,
    settings={
        "chunking": {"chunker": "paragraphs", "unmodified": True, "headings": False},
        "retrieval": {"clamp": False, "idf": "okapi"},
    },
)  # fmt: skip
PROFILES: Mapping[str, Profile] = {"": DEFAULT, SEED: AS_IN_THE_SOURCES}

# What a report says beside a measure that is computed in another way than in its source.
DEVIATIONS: Mapping[str, str] = {
    "bertscore_f1": "BERTScore: every token counts the same and vectors are compared by their cosine; the paper weighs "
    "tokens by idf and takes plain inner products.",
    "rouge_l_sum": "ROUGE-Lsum and DR: sentences are matched one by one, as ASQA's authors do; rageval's page says "
    "ROUGE-L.",
    "disambig_f1": "Disambig-F1: entities count as often as they occur; the original compares sets.",
    "entailment_gold_answer": "Entailment: a segment without a usable reply is left out, and sentences end at blank "
    "lines but not after common abbreviations; the original counts it as 0, and takes NLTK's sentences.",
    "MRR": "MRR: a question whose answer is not among the passages that were looked at counts as 0; the paper ranks "
    "all passages.",
}
# And what differs in how passages are made and found, by what a system is.
HYBRID = (
    "hybrid: a similarity of meaning below 0 counts as 0, and passages that share no word with the question come last; "
    "the paper multiplies the two scores as they are."
)
IDF = (
    "BM25: words weigh by Lucene's idf, which is above 0 for all; in the paper's rank-bm25 a word of half the passages "
    "counts nothing."
)
PARAGRAPHS = (
    "paragraphs: short ones are joined, long ones cut, and those that a new page breaks are mended; the paper takes "
    "them as they are."
)
HEADINGS = "Passages are searched together with their title and heading; the paper searches their text alone."
# And where a measure of answers is not there, because it is not scored.
NOT_SCORED: Mapping[str, str] = {
    "citation_f1": "Citations: no gold answer names a place, so they are not scored; the paper scores 1 where neither "
    "side cites anything.",
    "insufficient_context_detection": "Insufficient context: it is no question's gold answer, so it is not scored; "
    "the paper's table says 0.",
}


def profile_named(name: str) -> Profile:
    """Return the profile of a name, "" for the default. Raises UsageError for an unknown one."""
    if name not in PROFILES:
        raise UsageError(f"There is no profile called {name!r}.", f"Choose: {SEED}, or leave it out.")
    return PROFILES[name]


def deviations(measures: tuple[str, ...], profile: Profile) -> tuple[str, ...]:
    """Return a sentence for each of these measures that is computed in another way than in its source."""
    if profile.name == SEED:
        return ()
    told = [text for name, text in DEVIATIONS.items() if name in measures]
    if "answer_em" in measures:
        told += [text for name, text in NOT_SCORED.items() if name not in measures]
    return tuple(f"{text} {OTHER_THAN_SOURCE}" for text in told)


def search_deviations(systems: Iterable[Settings]) -> tuple[str, ...]:
    """Return a sentence for each way in which these systems make or find passages in another way than the sources."""
    told: list[str] = []
    for one in systems:
        told += [HYBRID] if one.retrieval.retriever == "hybrid" and one.retrieval.clamp else []
        told += [IDF] if one.retrieval.retriever != "dense" and one.retrieval.idf != "okapi" else []
        told += [PARAGRAPHS] if one.chunking.chunker == "paragraphs" and not one.chunking.unmodified else []
        told += [HEADINGS] if one.chunking.headings else []
    return tuple(f"{text} {OTHER_THAN_SOURCE}" for text in dict.fromkeys(told))
