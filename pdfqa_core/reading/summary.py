"""Summaries of a document from passages spread over it: by the language model and checked, or in its own sentences.

The sentences that stand most for a document are those nearest to the centre of all (Radev et al. 2000, "Centroid-based
summarization of multiple documents"), each unlike those before it (Carbonell and Goldstein 1998, "The use of MMR").
"""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pdfqa_core.interfaces import GREEDY, LLM, History, Message, Sampling, StopSignal
from pdfqa_core.languages import ENGLISH, stop_words
from pdfqa_core.languages import title as language_title
from pdfqa_core.reading.checking import Checker, strip_markers
from pdfqa_core.reading.evidence import Meaning, Quote, quotes, vectors_of
from pdfqa_core.reading.extractive import QuotedAnswer
from pdfqa_core.reading.generative import write
from pdfqa_core.reading.prompts import DATA, INSUFFICIENT_CONTEXT, Prompt, passages, quoted
from pdfqa_core.reading.tables import read_out
from pdfqa_core.streaming import is_set
from pdfqa_core.text import words
from pdfqa_core.types import Answer, Done, Event, Hit, Progress, Support

ABSTRACT = "abstract"  # names what found a hit that sums up the document by itself
SENTENCES = 5  # quoted
LEAST_WORDS = 6  # of a sentence that is quoted
MOST_WORDS = 60
UNLIKE = 0.4  # how much likeness to a sentence that is quoted already counts against another
BEGINNING = 0.15  # for the first sentence of a document, less for later ones
_LEANS = re.compile(
    r"(?:this|these|those|that|they|it|its|he|she|their|such|however|therefore|thus|also|additionally|finally|moreover|"
    r"see|thank|table|figure|by (?:following|using)|if|sei(?:en)?|dies\w*|sie|es|er|siehe|daher|auch)\b",
    re.IGNORECASE,
)
REQUEST = Path(__file__).with_name("summary_request.json")
ASKED_FROM = 0.7  # probability of a request for a summary, from which on it is taken for one
NOTHING_SUPPORTED = "The document does not say what the model wrote about it, so these are sentences of the document."

SUMMARY = Prompt(
    f'{{passages}}\n\n{DATA} The passages above are from the document "{{title}}", in its order. Write a summary of '
    "the document for somebody who has not read it: four to six full sentences, the most important facts and numbers "
    "first. Use only the passages above. Write no list, no heading and no preface.{language}",
    "passages", "title", "language",
)  # fmt: skip


@cache
def _request() -> tuple[float, npt.NDArray[np.float64]]:
    """Return the constant and the weights of a logistic regression on the bundled encoder's vectors."""
    found = json.loads(REQUEST.read_text(encoding="utf-8"))
    return found["constant"], np.array(found["weights"])


def asks_for_summary(question: str, meaning: Meaning) -> bool:
    """Return whether a question asks what the documents are about; no question does for another encoder's `meaning`.

    Learned from requests that were written for it: `benchmarks/summary_requests.py`. Raises what the encoder raises.
    """
    constant, weights = _request()
    vector = meaning.vectors([question])[0]
    return vector.shape == weights.shape and 1 / (1 + math.exp(-(constant + float(vector @ weights)))) >= ASKED_FROM


class SummaryReader:
    """Reads hits that are spread over the document called `title`; `llm` None: in sentences of the document's own.

    What the model wrote is kept only if a passage supports something of it; else sentences of the hits are quoted, as
    they are where there are several documents: of each the same number. Each sentence that a passage supports cites it.
    """

    def __init__(
        self,
        llm: LLM | None,
        title: str,
        *,
        max_tokens: int = 256,
        sampling: Sampling = GREEDY,
        checker: Checker | None = None,
        count: int = SENTENCES,
    ) -> None:
        self.llm = llm
        self.title = title
        self.max_tokens = max_tokens
        self.sampling = sampling
        self.checker = checker or Checker()
        self.count = count

    def read(
        self, question: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
    ) -> Iterator[Event]:
        """Yield Progress and Tokens, last one Done; the tokens are the model's words, the text in Done is cleaned."""
        began = time.perf_counter()
        if self.llm is None or len(_by_document(hits)) > 1:
            yield Done((yield from self._quoted(hits, began)))
            return
        yield from self.llm.prepare(stop)
        prompt, shown = self._prompt(hits)
        yield Progress(f"reading {len(shown)} passages")
        reply, usage, first = yield from write(
            self.llm,
            prompt,
            max_tokens=self.max_tokens,
            sampling=self.sampling,
            stop=stop,
            reading=f"reading {len(shown)} passages",
        )
        text = strip_markers(reply).strip()
        since = time.perf_counter()
        checked = yield from self.checker.check(text, shown, stop=stop)
        check = time.perf_counter() - since
        if not is_set(stop) and all(one.support is Support.NOT_FOUND for one in checked.sentences):
            yield Done((yield from self._quoted(hits, began, NOTHING_SUPPORTED)))
            return
        total = time.perf_counter() - began
        seconds = {"read": total - check, "check": check, "total": total}
        if first is not None:
            seconds["first_token"] = first - began
        notes = ("The summary was cut: it had become too long.",) if usage.finish_reason == "length" else ()
        yield Done(
            Answer(
                text,
                checked.citations,
                tuple(hits),
                False,
                is_set(stop),
                reader="generative",
                model=self.llm.name,
                seconds=seconds,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                notes=notes,
                sentences=checked.sentences,
                read=tuple(hit.rank for hit in shown),
            )
        )

    # ------------------------------------------------------------ by the model

    def _prompt(self, hits: Sequence[Hit]) -> tuple[list[Message], Sequence[Hit]]:
        """Return the prompt, and the hits that fit the model's context with it; the last ones are left out first."""
        assert self.llm is not None
        room = self.llm.context_size - min(self.max_tokens, self.llm.context_size // 2)
        language = hits[0].passage.language
        own = f" Write in {name}." if language != ENGLISH and (name := language_title(language)) else ""
        for count in range(len(hits), 0, -1):
            shown = hits[:count]
            texts = [read_out(hit.passage.text) for hit in shown]
            prompt = [Message("user", SUMMARY.fill(passages=passages(texts), title=quoted(self.title), language=own))]
            if self.llm.count_tokens(prompt) <= room:
                break
        return prompt, shown

    # ------------------------------------------------------------ in its own sentences

    def _quoted(self, hits: Sequence[Hit], began: float, *notes: str) -> Generator[Event, None, Answer]:
        """Yield a Token per sentence that is quoted; return the summary made of them."""
        yield Progress("looking for the sentences that stand most for it")
        quoted = QuotedAnswer(between="\n")
        documents = _by_document(hits)
        for own in documents:
            count = math.ceil(self.count / len(documents))
            summed_up = [quote for hit in own if hit.retriever == ABSTRACT for quote in quotes(hit, longest=1)]
            for quote in summed_up[:count] or representative(own, count, self.checker.meaning):
                yield quoted.add(quote, strip="•–- ")
        return Answer(
            quoted.text or INSUFFICIENT_CONTEXT,
            tuple(quoted.citations),
            tuple(hits),
            not quoted.text,
            reader="extractive",
            notes=notes,
            seconds={"total": time.perf_counter() - began},
            sentences=tuple(quoted.sentences),
            read=tuple(sorted({one.number for one in quoted.citations})),
        )


def _by_document(hits: Sequence[Hit]) -> list[list[Hit]]:
    """Return the hits of each document, in their order."""
    found: dict[str, list[Hit]] = {}
    for hit in hits:
        found.setdefault(hit.passage.document_id, []).append(hit)
    return list(found.values())


def representative(hits: Sequence[Hit], count: int, meaning: Meaning | None = None) -> list[Quote]:
    """Return at most `count` sentences of the hits that stand most for all of them, in their order.

    Near in `meaning` to the centre of all sentences, or by their words: without it, and where they are not in English,
    which alone the bundled encoder knows. Each is unlike those chosen before it.
    """
    once = {tuple(quote.terms): quote for hit in reversed(hits) for quote in quotes(hit, longest=1) if _says(quote)}
    found = sorted(once.values(), key=lambda quote: (quote.hit.rank, quote.start))
    if len(found) <= count:
        return found
    english = all(quote.language == ENGLISH for quote in found)
    rows = vectors_of(found, meaning) if meaning is not None and english else _by_words(found)
    centre = rows.mean(axis=0)
    centre /= max(1e-9, float(np.linalg.norm(centre)))
    worth = rows @ centre + BEGINNING * np.linspace(1, 0, len(found))
    chosen: list[int] = []
    while len(chosen) < count:
        likeness = (rows @ rows[chosen].T).max(axis=1) if chosen else np.zeros(len(found))
        score = worth - UNLIKE * likeness
        score[chosen] = -np.inf
        chosen.append(int(score.argmax()))
    return [found[place] for place in sorted(chosen)]


def _by_words(found: Sequence[Quote]) -> npt.NDArray[np.float64]:
    """Return a row of length 1 per sentence: how often it has each word that several of them have."""
    counts = Counter(term for quote in found for term in set(quote.terms) - stop_words(quote.language))
    known = {term: place for place, term in enumerate(sorted(term for term, count in counts.items() if count > 1))}
    rows = np.zeros((len(found), max(1, len(known))))
    for row, quote in enumerate(found):
        for term in quote.terms:
            if term in known:
                rows[row, known[term]] = 1.0
    lengths = np.asarray([[max(1.0, sum(quote.terms.values()) ** 0.5)] for quote in found])
    weighed: npt.NDArray[np.float64] = rows / lengths
    return weighed


def _says(quote: Quote) -> bool:
    """Whether a quote is a whole sentence of some length that can be read out of its context."""
    text = quote.text.lstrip("•–- “\"'")
    whole = not text[:1].islower() and text.rstrip("”\"')’ ").endswith((".", "!")) and not _LEANS.match(text)
    return whole and LEAST_WORDS <= len(words(quote.text)) <= MOST_WORDS
