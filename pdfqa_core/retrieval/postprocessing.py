"""What becomes of the hits: overlapping ones as one, not too many of one page, and how likely they answer."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from rapidfuzz import process
from rapidfuzz.distance import OSA, JaroWinkler

from pdfqa_core.errors import UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.languages import ENGLISH, NONE, STOP_WORDS
from pdfqa_core.retrieval.base import PageRange, Searcher, check_k
from pdfqa_core.retrieval.bm25 import AUTO, Analyser
from pdfqa_core.retrieval.encoder import OnProgress, Vectors
from pdfqa_core.retrieval.index import index_text
from pdfqa_core.text import JOINER, ROW_JOINER, sentences, terms
from pdfqa_core.types import Hit, Passage, Query, Span, passage_id

# ----------------------------------------------------------------------------------------------------
# Misspelt words of a question, and the words of the documents that are meant.

SHORTEST = 4  # letters of a word that may be misspelt
LONG = 8  # letters from which on it may have two mistakes, below one
SHORTEST_HALF = 3  # letters of each of the two words that one may be written for

_LETTERS = re.compile(r"[^\W\d_]+", re.UNICODE)
# British endings and how they are written in America: "summarise", "analysed", "colour", "centre".
_BRITISH = (
    (re.compile(r"is(?=(?:e|es|ed|er|ers|ing|ation|ations)$)"), "iz"), (re.compile(r"ys(?=(?:e|es|ed|ing)$)"), "yz"),
    (re.compile(r"our(?=s|ed|ing|ful|$)"), "or"), (re.compile(r"re(?=s?$)"), "er"),
    (re.compile(r"ll(?=ed$|ing$)"), "l"),
)  # fmt: skip


class Spelling:
    """Finds the words that are meant by those that no passage has and that are no words at all.

    `is_word` tells a word that the documents happen not to have ("contract" beside "contact") from a misspelt one; rare
    words and names it does not know, so what is found is searched for beside the word and not in its place. It is the
    word of the passages that begins with the same letter and is nearest by optimal string alignment (a letter more,
    fewer, other, or two exchanged), of several the one that is nearer by Jaro and Winkler's similarity, then the more
    frequent. A word near to none may be two that are written as one.
    """

    def __init__(self, passages_by_term: Mapping[str, int], is_word: Callable[[str], bool]) -> None:
        self._is_word = is_word
        self._passages = passages_by_term
        self._by_letter: dict[str, list[str]] = defaultdict(list)
        for term in passages_by_term:
            if len(term) >= SHORTEST and _LETTERS.fullmatch(term):
                self._by_letter[term[0]].append(term)

    def corrections(self, text: str) -> dict[str, str]:
        """Return the misspelt words of a text, each with the word of the passages that is meant."""
        words = dict.fromkeys(_LETTERS.findall(text))
        return {word: right for word in words if (right := self._right(word)) != word}

    def _right(self, word: str) -> str:
        if len(word) < SHORTEST or (word.isupper() and len(word) < LONG):
            return word
        (term, *others) = terms(word) or [""]
        if others or term in self._passages or not term or self._is_word(term):
            return word
        if any((american := ending.sub(other, term)) != term and self._is_word(american) for ending, other in _BRITISH):
            return word
        mistakes = 2 if len(term) >= LONG else 1
        near = process.extract(
            term, self._by_letter.get(term[0], ()), scorer=OSA.distance, score_cutoff=mistakes, limit=None
        )
        if not near:
            return self._apart(term) or word

        def order(found: tuple[str, float, int]) -> tuple[float, float, int]:
            return found[1], -JaroWinkler.similarity(term, found[0]), -self._passages[found[0]]

        best, *_ = min(near, key=order)
        return best.capitalize() if word[0].isupper() else str(best)

    def _apart(self, term: str) -> str:
        """Return the two words of the passages that a word is made of ("keycard": "key card"), "" if there are none.

        Of several pairs it is the one whose rarer word is the more frequent.
        """
        pairs = [(term[:end], term[end:]) for end in range(SHORTEST_HALF, len(term) - SHORTEST_HALF + 1)]
        known = [
            pair
            for pair in pairs
            if all(half in self._passages and self._is_word(half) and half not in STOP_WORDS for half in pair)
        ]
        return " ".join(max(known, key=lambda pair: min(self._passages[half] for half in pair), default=()))


def in_both_spellings(query: Query, corrections: Callable[[str], Mapping[str, str]]) -> Query:
    """Return the query with the words that are meant by misspelt ones beside them.

    Words are searched for in both spellings, the meaning is the mean of the text in both.
    """
    lexical, dense = query.lexical or ((query.text, 1.0),), query.dense or ((query.text, 1.0),)
    meant = [(" ".join(found.values()), weight) for text, weight in lexical if (found := corrections(text))]
    if not meant:
        return query
    texts = []
    for text, weight in dense:
        texts += [(text, weight / 2), (_replaced(text, corrections(text)), weight / 2)]
    return Query(query.text, (*lexical, *meant), tuple(texts))


def _replaced(text: str, words: Mapping[str, str]) -> str:
    return _LETTERS.sub(lambda word: words.get(word[0], word[0]), text)


# ----------------------------------------------------------------------------------------------------
# What of the hits is shown: overlapping passages as one, and not too many of one page.

LONGEST = 2.0  # a merged passage is at most so many times as long as the best of its parts
WIDER = 3  # how many times as many hits are fetched as are shown


@dataclass(frozen=True, eq=False)
class Postprocessed:
    """Another retriever whose hits are merged where they overlap (`merge`), at most `per_page` of a page (0: any)."""

    inner: Searcher
    per_page: int = 0
    merge: bool = False

    def __post_init__(self) -> None:
        if self.per_page < 0:
            raise UsageError(f"per_page is {self.per_page}.", "It must be 0 (no limit) or more.")

    def prepare(self, *, on_progress: OnProgress | None = None, stop: StopSignal | None = None) -> None:
        """Prepare the inner retriever. Raises ModelError, StoppedError."""
        self.inner.prepare(on_progress=on_progress, stop=stop)

    def search(
        self,
        question: str | Query,
        k: int,
        document_ids: frozenset[str] | None = None,
        *,
        pages: PageRange | None = None,
    ) -> list[Hit]:
        """Return at most `k` hits, best first; more are fetched until there are as many, or no more."""
        check_k(k)
        wide = WIDER * k
        while True:
            hits = self.inner.search(question, wide, document_ids, pages=pages)
            shown = merged(hits) if self.merge else hits
            shown = spread(shown, self.per_page) if self.per_page else shown
            if len(shown) >= k or len(hits) < wide:
                return [replace(hit, rank=rank) for rank, hit in enumerate(shown[:k], 1)]
            wide *= WIDER


def spread(hits: Sequence[Hit], per_page: int) -> list[Hit]:
    """Return the hits without those that would be more than `per_page` of the page where they begin."""
    seen: Counter[tuple[str, int]] = Counter()
    kept = []
    for hit in hits:
        page = (hit.passage.document_id, hit.passage.spans[0].page)
        if seen[page] < per_page:
            seen[page] += 1
            kept.append(hit)
    return kept


def merged(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with those that share characters made one, at the place and with the scores of the best of them.

    A merged passage is at most twice as long as that best one; what would be longer stays a hit of its own.
    """
    kept: list[tuple[Hit, float]] = []
    for hit in hits:
        for place, (other, most) in enumerate(kept):
            together = joined(other.passage, hit.passage)
            if together is not None and len(together.text) <= most:
                kept[place] = (replace(other, passage=together), most)
                break
        else:
            kept.append((hit, LONGEST * len(hit.passage.text)))
    return [hit for hit, _ in kept]


def joined(one: Passage, other: Passage) -> Passage | None:
    """Return the passage that holds the text of both, or None where they share no characters of a page."""
    if one.document_id != other.document_id:
        return None
    first, second = pieces(one), pieces(other)
    if first is None or second is None or not any(_overlap(a, b) for a, _ in first for b, _ in second):
        return None
    union: list[tuple[Span, str]] = []
    for span, text in sorted(first + second):
        if union and _overlap(union[-1][0], span):
            before, so_far = union[-1]
            if span.end > before.end:
                union[-1] = (replace(before, end=span.end), so_far + text[before.end - span.start :])
        else:
            union.append((span, text))
    spans = tuple(span for span, _ in union)
    text = JOINER.join(text for _, text in union)
    return Passage(passage_id("merged", spans), spans, text, one.heading, one.language)


def _overlap(one: Span, other: Span) -> bool:
    return one.page == other.page and one.start < other.end and other.start < one.end


def pieces(passage: Passage) -> list[tuple[Span, str]] | None:
    """Return each span with its text; None where the passage's text is not that of its spans one after the other."""
    pieces, place = [], 0
    for span in passage.spans:
        end = place + span.end - span.start
        pieces.append((span, passage.text[place:end]))
        if passage.text[end : end + len(JOINER)] not in (JOINER, ""):
            return None
        place = end + len(JOINER)
    return pieces if place - len(JOINER) == len(passage.text) else None


# ----------------------------------------------------------------------------------------------------
# Hits that begin or end in the middle of a sentence or of a short table, completed from their page.
#
# Half a sentence misleads a reader, and half a table does where its largest number is asked for.

LONGEST_ADDED = 400  # characters that are added at most at either end
LONGEST_TABLE = 1500  # characters of a table that is shown whole, with what names it

PageText = Callable[[str, int], str]  # (document id, page number) to the page's text


def completed(hits: Sequence[Hit], page_text: PageText) -> list[Hit]:
    """Return the hits with the sentences whole in which they begin and end.

    A sentence is looked for on the page itself, not on the one before or after. Of a table in parts the whole is given,
    if it is short, to the best of them; the others are left out.
    """
    found: list[Hit] = []
    left_out = 0
    for hit in hits:
        passage = _completed(hit.passage, page_text)
        if not any(passage.spans == other.passage.spans for other in found):
            found.append(replace(hit, passage=passage, rank=hit.rank - left_out))
        else:
            left_out += 1
    return found


def _completed(passage: Passage, page_text: PageText) -> Passage:
    if (table := _whole_table(passage, page_text)) is not None:
        return table
    parts = pieces(passage)
    if parts is None:
        return passage
    (first, opening), (last, closing) = parts[0], parts[-1]
    before = page_text(first.document_id, first.page)
    after = page_text(last.document_id, last.page)
    if before[first.start : first.end] != opening or after[last.start : last.end] != closing:
        return passage  # the page has been read anew since
    start, end = _beginning(before, first, passage.language), _ending(after, last, passage.language)
    if (start, end) == (first.start, last.end):
        return passage
    parts[0] = (replace(first, start=start), before[start : first.end])
    last, closing = parts[-1]
    parts[-1] = (replace(last, end=end), closing + after[last.end : end])
    spans = tuple(span for span, _ in parts)
    text = JOINER.join(text for _, text in parts)
    return Passage(passage_id("whole", spans), spans, text, passage.heading, passage.language)


def _whole_table(passage: Passage, page_text: PageText) -> Passage | None:
    """Return a passage that ends in the middle of a short table, or leaves rows of it out, with all its rows."""
    first, last = passage.spans[0], passage.spans[-1]
    if not passage.text.endswith("|") or any(span.page != first.page for span in passage.spans):
        return None
    page = page_text(first.document_id, first.page)
    if ROW_JOINER.join(page[span.start : span.end] for span in passage.spans) != passage.text:
        return None
    end = last.end
    while page.startswith("\n|", end):
        following = page.find("\n", end + 1)
        end = following if following >= 0 else len(page)
    left_out = page[passage.spans[0].end : end].splitlines()
    if (len(passage.spans) == 1 and end == last.end) or end - first.start > LONGEST_TABLE:
        return None
    if not all(line.startswith("|") for line in left_out if line.strip()):
        return None
    spans = (replace(first, end=end),)
    return Passage(passage_id("whole", spans), spans, page[first.start : end], passage.heading, passage.language)


def _beginning(text: str, span: Span, language: str) -> int:
    """Return where the sentence begins that the span begins in."""
    for start, end in sentences(text, language):
        if start < span.start < end and span.start - start <= LONGEST_ADDED:
            return start
    return span.start


def _ending(text: str, span: Span, language: str) -> int:
    """Return where the sentence ends that the span ends in."""
    for start, end in sentences(text, language):
        if start < span.end < end and end - span.end <= LONGEST_ADDED:
            return end
    return span.end


# ----------------------------------------------------------------------------------------------------
# How likely the hits answer the question, judged without a language model.

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
