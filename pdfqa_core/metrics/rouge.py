"""ROUGE-L: the longest common subsequence of words; ROUGE-Lsum: its union over sentences.

F = (1 + β²) R P / (R + β² P). Source: Lin 2004, with the words and the sentence union of Google's rouge_score.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from rapidfuzz.distance import LCSseq

from pdfqa_core.languages import composed, runs_of_letters
from pdfqa_core.metrics.base import measure
from pdfqa_core.metrics.short_answers import Overlap, overlap
from pdfqa_core.text import sentences

# ----------------------------------------------------------------------------------------------------
# Words as ROUGE and BLEU count them.

_ASCII = re.compile(r"[a-z0-9]+")
_LETTER = re.compile(r"[^\W\d_]")
_OTHER_LETTER = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")  # of another script than Latin
_SHORTEST_STEMMED = 4  # rouge_score leaves words of up to three letters as they are


def word_tokens(text: str) -> list[str]:
    """Return the words of any script in lower case, without punctuation, accents composed (NFC).

    Marks belong to words, and a script without spaces is counted by its characters, as CMRC 2018 does.
    """
    return runs_of_letters(composed(text).lower())


def rouge_tokens(text: str, *, stemming: bool = False) -> list[str]:
    """Return the words as rouge_score makes them: runs of a-z and 0-9 in lower case, Porter stems if asked for.

    For text that is mostly in another script, and where that finds nothing, the words of `word_tokens`.
    """
    found = [] if _elsewhere(text) else _ASCII.findall(composed(text).lower())
    found = found or word_tokens(text)
    return [_stem(word) for word in found] if stemming else found


def _elsewhere(text: str) -> bool:
    return not text.isascii() and 2 * len(_OTHER_LETTER.findall(text)) > len(_LETTER.findall(text))


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    return str(_porter().stem(word)) if len(word) >= _SHORTEST_STEMMED else word


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


# ----------------------------------------------------------------------------------------------------
# BLEU-1: the share of the prediction's words that occur in a reference, each no more often than there.


@measure(
    "bleu_1",
    "BLEU-1",
    "clipped unigram precision; a count is clipped by the largest one among the references",
    "Papineni et al. 2002",
)
def bleu_1(prediction: str, references: Sequence[str], *, brevity_penalty: bool = False) -> float | None:
    """Return the clipped unigram precision (0..1); None without references, 0 for an empty prediction.

    `brevity_penalty` multiplies by exp(1 - r/c) where the prediction (c words) is shorter than the reference of the
    closest length (r words; of two the shorter).
    """
    if not references:
        return None
    from nltk.translate import bleu_score

    ours, tokens = word_tokens(prediction), [word_tokens(reference) for reference in references]
    precision = float(bleu_score.modified_precision(tokens, ours, n=1))
    if not brevity_penalty:
        return precision
    return precision * float(bleu_score.brevity_penalty(bleu_score.closest_ref_length(tokens, len(ours)), len(ours)))


# ----------------------------------------------------------------------------------------------------
# ROUGE-L: the longest common subsequence of words; ROUGE-Lsum: its union over sentences.


def rouge_l_overlap(prediction: str, reference: str, *, beta: float = 1.0, stemming: bool = False) -> Overlap:
    """Return precision, recall and F_β of the longest common subsequence; all 0 where a side has no words."""
    ours, theirs = rouge_tokens(prediction, stemming=stemming), rouge_tokens(reference, stemming=stemming)
    return overlap(LCSseq.similarity(ours, theirs), len(ours), len(theirs), beta)


@measure(
    "rouge_l",
    "ROUGE-L F",
    "(1 + β²)RP / (R + β²P); P, R: longest common subsequence over the words of each side; best reference",
    "Lin 2004",
)
def rouge_l(prediction: str, references: Sequence[str], *, beta: float = 1.0, stemming: bool = False) -> float | None:
    """Return the F_β (0..1) of the reference that fits best; None without references."""
    return max((rouge_l_overlap(prediction, one, beta=beta, stemming=stemming).f1 for one in references), default=None)


def by_sentence(text: str) -> str:
    """Return the text with every sentence on a line of its own."""
    return "\n".join(" ".join(text[start:end].split()) for start, end in sentences(text))


@measure("rouge_l_sum", "ROUGE-Lsum F", "as ROUGE-L, with the union of subsequences over sentences", "Lin 2004")
def rouge_l_sum(prediction: str, references: Sequence[str], *, beta: float = 1.0) -> float | None:
    """Return ROUGE-Lsum F_β (0..1) over Porter stems; None without references."""
    return rouge_l_of_lines(by_sentence(prediction), [by_sentence(one) for one in references], beta=beta)


def rouge_l_of_lines(
    prediction: str, references: Sequence[str], *, beta: float = 1.0, stemming: bool = True
) -> float | None:
    """Return ROUGE-Lsum F_β (0..1) of texts whose sentences are lines; None without references.

    For each reference sentence the words that any sentence of the prediction shares with it in order are counted once.
    """
    return max((_lsum(prediction, one, beta, stemming).f1 for one in references), default=None)


def _sentences(text: str, stemming: bool) -> list[list[str]]:
    return [rouge_tokens(line, stemming=stemming) for line in text.split("\n") if line.strip()]


def _lsum(prediction: str, reference: str, beta: float, stemming: bool) -> Overlap:
    ours, theirs = _sentences(prediction, stemming), _sentences(reference, stemming)
    total_ours, total_theirs = sum(map(len, ours)), sum(map(len, theirs))
    if not total_ours or not total_theirs:
        return Overlap(0.0, 0.0, 0.0)
    left_ours = Counter(word for sentence in ours for word in sentence)
    left_theirs = Counter(word for sentence in theirs for word in sentence)
    hits = 0
    for sentence in theirs:
        shared: set[int] = set()
        for other in ours:
            shared.update(_lcs_places(sentence, other))
        for place in sorted(shared):
            word = sentence[place]
            if left_ours[word] > 0 and left_theirs[word] > 0:
                hits += 1
                left_ours[word] -= 1
                left_theirs[word] -= 1
    return overlap(hits, total_ours, total_theirs, beta)


def _lcs_places(reference: Sequence[str], candidate: Sequence[str]) -> list[int]:
    """Return where in `reference` a longest common subsequence stands; ties go back through the reference first."""
    rows, columns = len(reference), len(candidate)
    table = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(1, rows + 1):
        row, above, word = table[i], table[i - 1], reference[i - 1]
        for j in range(1, columns + 1):
            row[j] = above[j - 1] + 1 if word == candidate[j - 1] else max(above[j], row[j - 1])
    places = []
    i, j = rows, columns
    while i and j:
        if reference[i - 1] == candidate[j - 1]:
            places.append(i - 1)
            i, j = i - 1, j - 1
        elif table[i][j - 1] > table[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return places[::-1]
