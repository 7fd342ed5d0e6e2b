"""How likely the hits answer the question, judged without a language model."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pdfqa_core.languages import ENGLISH, NONE
from pdfqa_core.retrieval.analysis import AUTO, Analyser
from pdfqa_core.retrieval.encoder import Vectors
from pdfqa_core.retrieval.index import index_text
from pdfqa_core.text import sentences, terms
from pdfqa_core.types import Hit

TextVectors: TypeAlias = Callable[[Sequence[str]], Vectors]

COVERING = 5  # hits whose words count
READ = 3  # hits whose sentences are compared with the question
# Words that ask rather than name: a passage that answers "how many flats" need not say "many".
ASKING = frozenset(("describe", "explain", "far", "list", "long", "many", "much", "often", "old", "tell"))

# Weights of two logistic regressions ("vectors" and "words", see `confidence`), fitted and written by
# `benchmarks/refusal.py --fit` with the bundled encoder; data sets and both kinds of question weigh the same.
WEIGHTS_FILE = Path(__file__).with_name("confidence_weights.json")
WEIGHTS: Mapping[str, Mapping[str, float]] = json.loads(WEIGHTS_FILE.read_text(encoding="utf-8"))


def confidence(
    question: str, hits: Sequence[Hit], vectors: TextVectors | None = None, *, language: str = AUTO
) -> float:
    """Return the retrieval confidence in 0..1; 0 without hits or without a word in the question.

    A logistic regression of two features: the cosine of the question and the nearest single sentence (see `nearest`),
    which needs `vectors` (texts to rows of length 1, from the bundled encoder: cosines of another one lie elsewhere),
    and the share of the question's words that the hits hold (see `covered`). Without `vectors`, and where the best hit
    is not in English, which alone that encoder knows, the words decide alone.
    """
    words = covered(question, hits, language)
    if words is None:
        return 0.0
    if vectors is None or hits[0].passage.language != ENGLISH:
        return weighed(WEIGHTS["words"], covered=words)
    return weighed(WEIGHTS["vectors"], covered=words, nearest=nearest(question, hits, vectors))


def weighed(weights: Mapping[str, float], **features: float) -> float:
    """Return the probability (0..1) of a logistic regression: the features times their weights, and the constant."""
    x = weights["constant"] + sum(weights[name] * value for name, value in features.items())
    return 1 / (1 + math.exp(-x))


def covered(question: str, hits: Sequence[Hit], language: str = AUTO) -> float | None:
    """Return the share of the question's terms that stand in the five best hits (heading or text); None without any.

    Terms are compared by stem, by the rules of `language` (AUTO: of each passage's own); stop words and words that only
    ask are left out unless there are no others.
    """
    if not hits:
        return None
    naming = " ".join(term for term in terms(question) if term not in ASKING)
    shares = []
    for one in dict.fromkeys(hit.passage.language for hit in hits[:COVERING]):
        rules = one if language == AUTO else language
        analyser = Analyser(rules, stemming=rules != NONE)
        asked = set(analyser.question_terms(naming) or analyser.question_terms(question))
        if not asked:
            return None
        texts = (index_text(hit.passage) for hit in hits[:COVERING] if language != AUTO or hit.passage.language == one)
        found = {term for text in texts for term in terms(text)}
        shares.append(len(asked & set(analyser.stems(sorted(found)))) / len(asked))
    return max(shares)


def nearest(question: str, hits: Sequence[Hit], vectors: TextVectors) -> float:
    """Return the cosine of the question and the sentence of the three best hits that is nearest in meaning.

    Whole passages say less: a passage of 120 words about several things is far from each question that it answers.
    """
    found = [
        hit.passage.text[start:end]
        for hit in hits[:READ]
        for start, end in sentences(hit.passage.text, hit.passage.language)
    ]
    if not found:
        return 0.0
    rows = vectors([question, *found])
    return max(0.0, float((rows[1:] @ rows[0]).max()))
