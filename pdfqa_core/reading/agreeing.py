"""A second look at the sentences of an answer: a model trained for it says whether their passages say so.

The rules of `checking.py` judge by words and facts alone. Where the language model has an adapter that was trained on
right sentences beside the same with a fact changed (benchmarks/adapter_data.py), it is asked about each sentence after
them: it takes a tick away that it does not believe, and gives one that the rules did not.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import replace

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.interfaces import AdaptedLLM, Message, StopSignal
from pdfqa_core.languages import ENGLISH
from pdfqa_core.reading.checking import FEW, Checked
from pdfqa_core.reading.prompts import IS_TRUE, PASSAGE, quoted
from pdfqa_core.reading.yes_or_no import NO, YES, of_shares
from pdfqa_core.text import content_terms, sentences
from pdfqa_core.types import CheckedSentence, Hit, Progress, Support

# Log-odds of yes, chosen with benchmarks/verdict_adapter.py on the odd sources.
DOUBTED = -2.0  # below it a sentence has no tick, whatever the rules say
BELIEVED = 2.0  # from it on it has one
MOST = 6  # sentences of an answer that are asked about
PASSAGES = 2  # that a sentence is compared with
WORDS = 100  # of these together, around the quotes: reading them is what takes time
LONG = 1.3  # times its share of them: a passage that has more words is cut

_YES_OR_NO = re.compile(r"\W*(?:yes|no)\b", re.IGNORECASE)


def agreed(
    llm: object, text: str, checked: Checked, hits: Sequence[Hit], *, stop: StopSignal | None = None
) -> Generator[Progress, None, Checked]:
    """Yield Progress; return what was checked with the model's verdict on its sentences, where it can give one.

    Sentences in other languages than English, very short ones, rows of tables, and sentences that begin with yes or no
    are left as they are: the model was trained on few of them or none. Nothing that is not asked about any more keeps
    its tick once `stop` is set.
    """
    if not isinstance(llm, AdaptedLLM) or not llm.adapted:
        return checked
    places = [place for place, one in enumerate(checked.sentences) if _can_be_asked(text, one)][:MOST]
    for number, place in enumerate(places, 1):
        one = checked.sentences[place]
        passages = _passages(one, checked, hits)
        if not passages:
            continue
        yield Progress("comparing with the passages", number, len(places))
        try:
            odds = says_so(llm, text[one.start : one.end], passages, stop=stop)
        except StoppedError:
            for left in places[number - 1 :]:
                checked = _judged(checked, left, Support.PARTLY)
            return checked
        except ModelError:  # the rules alone decide
            return checked
        if odds < DOUBTED:
            checked = _judged(checked, place, Support.PARTLY)
        elif odds >= BELIEVED and not one.numbers:
            checked = _judged(checked, place, Support.SUPPORTED)
    return checked


def says_so(llm: AdaptedLLM, statement: str, passages: Sequence[str], *, stop: StopSignal | None = None) -> float:
    """Return the log-odds of yes against no when the model is asked whether passages say a statement.

    Raises ModelError, StoppedError.
    """
    shown = "\n\n".join(PASSAGE.fill(number=str(n), text=quoted(text)) for n, text in enumerate(passages, 1))
    content = IS_TRUE.fill(passages=shown, statement=quoted(statement))
    return of_shares(llm.choose_adapted([Message("user", content)], (YES, NO), stop=stop))


def _can_be_asked(text: str, one: CheckedSentence) -> bool:
    said = text[one.start : one.end]
    return one.support is not Support.NOT_FOUND and len(content_terms(said)) >= FEW and not _YES_OR_NO.match(said)


def _passages(one: CheckedSentence, checked: Checked, hits: Sequence[Hit]) -> list[str]:
    """Return the texts of the passages that a sentence cites, best first; none if one is not English.

    None either where the quote is a row of a table: the rules know rows and columns better.
    """
    known = {hit.passage.id: hit.passage for hit in hits}
    quotes: dict[str, str] = {}
    for citation in checked.citations:
        if (citation.start, citation.end) == (one.start, one.end) and citation.passage_id in known:
            if known[citation.passage_id].language != ENGLISH or (not quotes and citation.quote.startswith("|")):
                return []
            quotes.setdefault(citation.passage_id, citation.quote)
    cited = list(quotes.items())[:PASSAGES]
    return [_around(known[passage].text, quote, WORDS // len(cited)) for passage, quote in cited]


def _around(text: str, quote: str, words: int) -> str:
    """Return a passage, of a long one the sentences around a quote, about so many words."""
    if len(text.split()) <= LONG * words:
        return text
    place = max(0, text.find(quote[:40]))
    bounds = sentences(text)
    first = last = next((n for n, (_, end) in enumerate(bounds) if end > place), 0)
    while len(text[bounds[first][0] : bounds[last][1]].split()) < words and (first > 0 or last < len(bounds) - 1):
        first, last = max(0, first - 1), min(len(bounds) - 1, last + 1)
    return text[bounds[first][0] : bounds[last][1]]


def _judged(checked: Checked, place: int, support: Support) -> Checked:
    """Return what was checked with another verdict on a sentence, which verifies its best citation or none."""
    one = checked.sentences[place]
    if one.support is support:
        return checked
    citations, judged = list(checked.citations), list(checked.sentences)
    judged[place] = replace(one, support=support)
    own = [n for n, c in enumerate(citations) if (c.start, c.end) == (one.start, one.end)]
    verified = support is Support.SUPPORTED
    for n in own[:1] if verified else own:
        citations[n] = replace(citations[n], verified=verified)
    return Checked(tuple(citations), tuple(judged))
