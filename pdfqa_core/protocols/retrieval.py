"""How well systems find the gold places: every question through every system, scored by the same gold.

Gold is a document with a page or a stretch of its text, never a passage, so that the same questions score every way of
cutting passages. Which passages are relevant is one of MATCHES; by default one that overlaps a gold stretch, or touches
a gold page where only the page is known. Each gold place counts once: a second passage on the same place gains nothing,
and one that covers two places takes two ranks, one after the other.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pdfqa_core.csv_format import write_csv
from pdfqa_core.errors import StoppedError, UsageError, first_of
from pdfqa_core.evaluation_types import GoldItem, RankedPlace, Ranking, ScoredItem, ScoredSystem
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.languages import composed, plain_letters
from pdfqa_core.metrics.ranking import RankingMeasure
from pdfqa_core.protocols.gold import GoldFile, GoldPlace, GoldQuestion
from pdfqa_core.types import GENERATED, Document, Hit, Page, Passage, Progress, Question, Span

# ----------------------------------------------------------------------------------------------------
# A table of questions to be filled in for measuring retrieval: one row for each kind of gold that it may have.

TEMPLATE = "retrieval questions.csv"
COLUMNS = ("question", "document", "page", "quote", "answerable")
_SAMPLE = "harbour-heat.pdf"  # so that the rows can be tried as they stand
_ROWS = (
    ("How often are the meters read?", _SAMPLE, "4", "All meters are read every 15 minutes", "yes"),  # words of a page
    ("What did building the plant cost?", _SAMPLE, "6", "", "yes"),  # a whole page
    ("How loud is it at night, and what is permitted?", _SAMPLE, "2; 7", "", "yes"),  # any of several pages
    ("Which company built the heat pump?", "", "", "", "no"),  # nothing that could be found
)


def template() -> bytes:
    """Return a CSV file with the columns that questions need whose places are to be found, and example rows."""
    return write_csv(COLUMNS, _ROWS)


# ----------------------------------------------------------------------------------------------------
# How well systems find the gold places: every question through every system, scored by the same gold.

DEPTH = 100
MEASURES = ("HR@1", "HR@3", "HR@5", "HR@10", "MRR", "R@5", "R@10", "nDCG@10")
CURVE = range(1, DEPTH + 1)  # every k: a curve through fewer points would slope where it has to step

# Which passages count as right, and what a report says of each.
OVERLAP, EXACT, PAGE = "overlap", "exact", "page"
MATCHES: Mapping[str, str] = {
    OVERLAP: "a passage counts if it shares text with the gold quote, or lies on the gold page where no quote is known",
    EXACT: "only the one passage counts that has most of the gold quote",
    PAGE: "a passage counts if it lies on the gold page, whatever it says there",
}

Search = Callable[[GoldItem, int], Sequence[Hit]]
PassagesOn = Callable[[str, int], Sequence[Passage]]  # document id and number of a page to the passages on it


# ------------------------------------------------------------------ gold in a workspace


@dataclass(frozen=True, slots=True)
class ResolvedGold:
    """The questions of a file with their gold found in the workspace; `notes` are sentences on what was not."""

    items: tuple[GoldItem, ...]
    notes: tuple[str, ...] = ()


def resolve(file: GoldFile, documents: Sequence[Document], page: Callable[[str, int], Page | None]) -> ResolvedGold:
    """Return the questions as gold items: names become document ids, quotes become spans of the page's text.

    `page` gives a page of a document by id and number. A place that names no document means the only one there is. Of
    several documents of one name that is meant which has the page and the quote; where that is none or several, a note
    names the row. A quote that is not on a page leaves the whole of that page as gold. A question whose places are all
    missing has no gold: it stays unscored, which the first note says. Raises UsageError if no question has any gold.
    """
    if file.corpus:
        return ResolvedGold(tuple(_of_corpus(file)))
    by_name = _by_name(documents)
    known = {question.id: question for question in file.questions}
    items: list[GoldItem] = []
    absent: Counter[str] = Counter()
    unclear: list[str] = []
    lost = 0
    for question in file.questions:
        spans: list[Span] = []
        pages: list[tuple[str, int]] = []
        several = ""  # documents have this name
        quotes: dict[str, bool] = {}  # whether it was found on one of the question's pages
        for place in question.places:
            named = _named(place, by_name, documents, question)
            if not named or place.page is None:
                absent[place.document or "(no name)"] += 1
                continue
            there = {one: found for one in named if (found := page(one, place.page)) is not None}
            if len(there) > 1:
                several = place.document
                there = {one: read for one, read in there.items() if place.quote and locate(place.quote, read.text)}
            elif not there:
                absent[f"{place.document} page {place.page}"] += 1
            if len(there) != 1:
                continue
            ((document_id, found),) = there.items()
            stretch = locate(place.quote, found.text) if place.quote else None
            if place.quote:
                quotes[place.quote] = quotes.get(place.quote, False) or stretch is not None
            if stretch:
                spans.append(Span(document_id, place.page, *stretch))
            else:
                pages.append((document_id, place.page))
        lost += sum(not found for found in quotes.values())
        unclear += [f"row {question.row} ({several})"] if several and not spans and not pages else []
        items.append(_item(question, tuple(dict.fromkeys(spans)), tuple(dict.fromkeys(pages)), known))
    notes = _notes(absent, unclear, lost)
    if not any(item.gold_spans or item.gold_pages for item in items):
        raise UsageError(
            f"No question of {file.name} has gold in the documents searched. {' '.join(notes)}".strip(),
            "Add the PDFs that it names; every question needs a page or a quote.",
        )
    dropped = sum(
        bool(question.places) and not (item.gold_spans or item.gold_pages)
        for question, item in zip(file.questions, items, strict=True)
    )
    if dropped:
        have, are = ("has", "is") if dropped == 1 else ("have", "are")
        which = f"{dropped} of {len(items)} questions {have} no gold place in the documents searched"
        notes.insert(0, f"{which}, and {are} not scored by place.")
    return ResolvedGold(tuple(items), tuple(notes))


def _notes(absent: Counter[str], unclear: Sequence[str], lost: int) -> list[str]:
    notes = [
        f"{name} is not in the documents searched ({count} gold place{'s' if count > 1 else ''})."
        for name, count in list(absent.items())[:5]
    ]
    notes += [f"{len(absent) - 5} other documents or pages are not in them."] if len(absent) > 5 else []
    if unclear:
        notes.append(
            f"Several documents have the name in {first_of(unclear)}, and no quote on the page says which is meant."
        )
    if lost:
        words = "1 quote was" if lost == 1 else f"{lost} quotes were"
        notes.append(f"{words} not found on any page named with it; the whole page counts instead.")
    return notes


def _of_corpus(file: GoldFile) -> Iterator[GoldItem]:
    """Yield the questions of a file that brings the texts which answer them."""
    texts = {one.document_id: one.text for one in file.corpus}
    asked = {question.id: question for question in file.questions}
    for question in asked.values():
        names = [place.document for place in question.places]
        item = _item(question, (), tuple((name, 1) for name in names), asked)
        yield replace(item, gold_texts=tuple(texts[name] for name in names if name in texts))


def _by_name(documents: Sequence[Document]) -> dict[str, list[str]]:
    """Return the ids of the documents of each name: ids and file names, and those other names that are no file's."""
    by_name: dict[str, list[str]] = {}
    for one in documents:
        for name in dict.fromkeys((_key(one.id), _key(one.filename))):
            by_name.setdefault(name, []).append(one.id)
    files = frozenset(by_name)
    for one in documents:
        for name in {_key(name) for name in (*one.other_names, one.title)} - files:
            by_name.setdefault(name, []).append(one.id)
    return by_name


def _key(name: str) -> str:
    plain = composed(name).strip().casefold().removesuffix(".pdf")
    return " ".join(plain.replace("_", " ").replace("-", " ").split())


def _named(
    place: GoldPlace, by_name: Mapping[str, Sequence[str]], documents: Sequence[Document], question: GoldQuestion
) -> Sequence[str]:
    if place.document:
        return by_name.get(_key(place.document), ())
    if len(documents) == 1:
        return (documents[0].id,)
    raise UsageError(
        f"Row {question.row} names no document, and the workspace has {len(documents)}.",
        'Add a "document" to the row, or evaluate with one document.',
    )


def _item(
    question: GoldQuestion,
    spans: tuple[Span, ...],
    pages: tuple[tuple[str, int], ...],
    known: Mapping[str, GoldQuestion],
) -> GoldItem:
    history: list[tuple[str, str]] = list(question.history)
    before, seen, first = question.follow_up_of, {question.id}, question.conversation or question.id
    while before in known and before not in seen:
        seen.add(before)
        earlier, first = known[before], before
        history.insert(0, (earlier.question, earlier.references[0] if earlier.references else ""))
        before = earlier.follow_up_of
    origin = GENERATED if question.generated else "file"
    return GoldItem(
        Question(question.id, question.question, origin),
        question.references,
        spans,
        pages,
        tuple(history),
        question.answerable,
        first,
    )


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Return where `quote` stands in `text`, comparing letters and digits only; None if it does not."""
    wanted = "".join(filter(str.isalnum, plain_letters(quote)))
    if not wanted:
        return None
    kept = [(i, letter) for i, c in enumerate(text) for letter in plain_letters(c) if letter.isalnum()]
    found = "".join(folded for _, folded in kept).find(wanted)
    return None if found < 0 else (kept[found][0], kept[found + len(wanted) - 1][0] + 1)


# ------------------------------------------------------------------ which passages count as right


def matched(
    items: Sequence[GoldItem], match: str, passages_on: PassagesOn
) -> tuple[tuple[GoldItem, ...], tuple[str, ...]]:
    """Return the questions with their gold as `match` (one of MATCHES) has it, and sentences on what has none then.

    EXACT: the right passage is the one with most characters of the gold stretch, of several the one with most of all
    the question's gold, then the shortest, then the first. For a question that was made of a passage it is that
    passage, the only p̂ of HR@k and MRR. Of a page without a quote it is the only passage on it; where there are more,
    the page is left out.
    """
    if match == PAGE:
        return tuple(_by_page(item) for item in items), ()
    if match != EXACT:
        return tuple(items), ()
    found = tuple(_exact(item, passages_on) for item in items)
    lost = sum(bool(gold_places(old)) and not gold_places(new) for old, new in zip(items, found, strict=True))
    words = "1 question has" if lost == 1 else f"{lost} questions have"
    said = f"{words} no quote that a passage holds, so that no single passage is right: unscored."
    return found, (said,) if lost else ()


def _by_page(item: GoldItem) -> GoldItem:
    pages = (*((span.document_id, span.page) for span in item.gold_spans), *item.gold_pages)
    return replace(item, gold_spans=(), gold_pages=tuple(dict.fromkeys(pages)))


def _exact(item: GoldItem, passages_on: PassagesOn) -> GoldItem:
    spans: dict[str, Span] = {}
    pages: dict[str, tuple[str, int]] = {}
    for gold in item.gold_spans:
        held = {one: shared_characters(one, [gold]) for one in passages_on(gold.document_id, gold.page)}
        if any(held.values()):
            best = max(held, key=lambda one: (held[one], shared_characters(one, item.gold_spans), -len(one.text)))
            spans.setdefault(best.id, gold)
    for page in item.gold_pages:
        here = passages_on(*page)
        if len(here) == 1 and here[0].id not in spans:
            pages.setdefault(here[0].id, page)
    return replace(
        item,
        gold_spans=tuple(spans.values()),
        gold_pages=tuple(pages.values()),
        gold_passages=(*spans, *pages),
    )


def shared_characters(passage: Passage, gold: Sequence[Span]) -> int:
    """Return how many characters of these stretches a passage has."""
    return sum(
        max(0, min(here.end, there.end) - max(here.start, there.start))
        for here in passage.spans
        for there in gold
        if (here.document_id, here.page) == (there.document_id, there.page)
    )


# ------------------------------------------------------------------ scoring


Scored = tuple[ScoredItem, Ranking]


def scored(item: GoldItem, ranking: Ranking, measures: Sequence[str], seconds: float) -> ScoredItem:
    """Return the values of a question; all None where it has no gold."""
    gains, gold = [place.gain for place in ranking.places], [1.0] * len(ranking.gold)
    rank = ranking.rank
    return ScoredItem(
        item.question.id,
        {name: RankingMeasure.parse(name)(gains, gold) for name in measures},
        {"question": item.question.text, "rank": "–" if rank is None else str(rank)},
        rank,
        seconds,
        item.conversation,
    )


def curve(system: ScoredSystem) -> tuple[tuple[int, float], ...]:
    """Return HR@k over k, as (k, mean over the questions with gold)."""
    ranks = [item.rank for item in system.items if item.metrics.get("MRR") is not None]
    if not ranks:
        return ()
    return tuple((k, sum(rank is not None and rank <= k for rank in ranks) / len(ranks)) for k in CURVE)


def gold_places(item: GoldItem) -> tuple[str, ...]:
    """Return the names of a question's gold places: "document#page" or "document#page:start-end"."""
    spans = [f"{s.document_id}#{s.page}:{s.start}-{s.end}" for s in item.gold_spans]
    return (*spans, *(f"{document}#{page}" for document, page in item.gold_pages))


def covered(item: GoldItem, passage: Passage) -> tuple[str, ...]:
    """Return the gold places of a question that a passage covers, in the order of `gold_places`."""
    touched = {(span.document_id, span.page) for span in passage.spans}

    def overlaps(gold: Span) -> bool:
        here = (s for s in passage.spans if (s.document_id, s.page) == (gold.document_id, gold.page))
        return any(s.start < gold.end and gold.start < s.end for s in here)

    relevant = [*map(overlaps, item.gold_spans), *(page in touched for page in item.gold_pages)]
    if item.gold_passages:
        relevant = [one == passage.id for one in item.gold_passages]
    return tuple(place for place, found in zip(gold_places(item), relevant, strict=True) if found)


def judge(item: GoldItem, hits: Sequence[Hit]) -> tuple[RankedPlace, ...]:
    """Return the ranking of a question's hits: gold places where they are first covered, passages elsewhere."""
    seen: set[str] = set()
    places: list[RankedPlace] = []
    for hit in hits:
        new = [place for place in covered(item, hit.passage) if place not in seen]
        seen.update(new)
        found = [RankedPlace(place, 1.0, hit.score) for place in new]
        places += found or [RankedPlace(hit.passage.id, 0.0, hit.score)]
    return tuple(places)


def counted(ranking: Ranking) -> tuple[bool, ...]:
    """Return for each of a ranking's `hits` whether it is relevant where it stands: it has a gold place first.

    The inverse of `judge`, which names a passage by its id only where it gains nothing; the first True is at the rank.
    """
    nothing = {place.docno for place in ranking.places if place.gain <= 0}
    return tuple(passage_id not in nothing for passage_id, _, _ in ranking.hits)


def run_system(
    name: str,
    items: Sequence[GoldItem],
    search: Search,
    *,
    measures: Sequence[str] = MEASURES,
    depth: int = DEPTH,
    stop: StopSignal | None = None,
) -> Iterator[Progress | tuple[Scored, ...]]:
    """Search for every question; yields progress, then values and rankings in the order of the questions.

    Raises StoppedError when `stop` is set.
    """
    found = []
    for number, item in enumerate(items, start=1):
        if stop is not None and stop.is_set():
            raise StoppedError(f"Stopped after {number - 1} of {len(items)} questions.")
        yield Progress(f"{name}: question {number}", number - 1, len(items))
        began = time.perf_counter()
        hits = search(item, depth)
        seconds = time.perf_counter() - began
        first = tuple((hit.passage.id, hit.passage.pages, hit.passage.document_id) for hit in hits[:10])
        ranking = Ranking(judge(item, hits), gold_places(item), first)
        found.append((scored(item, ranking, measures, seconds), ranking))
    yield tuple(found)
