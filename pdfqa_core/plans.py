"""What is searched for, by the kind of the question: one search, several, a whole section, or the opening of each.

Knows neither readers nor models: how what was found is read is decided in `services.kinds`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Protocol

from pdfqa_core.chunking.sections import Section, is_contents, opening, outline, parts, sections
from pdfqa_core.languages import ENGLISH, STOP_WORDS
from pdfqa_core.reading.document_names import named, naming
from pdfqa_core.reading.kinds import Kind, Request
from pdfqa_core.reading.matching import quotes
from pdfqa_core.reading.meaning import Meaning
from pdfqa_core.reading.relevance import relevance
from pdfqa_core.text import compared_terms, sentences, terms
from pdfqa_core.types import Hit, Page, Passage, Query

MOST = 12  # sections of a summary
LEAST_COMPARED = 6  # hits of a comparison: two of each side, two of the whole question
LONGEST_SECTION = 8  # passages of a section that is read as a whole
BRIDGED = 2  # hits among whose sentences the bridge is looked for
STEM = 5  # letters that words of a question and of a heading have in common
NAMES = 4  # of the bridge that the second search takes
SECOND = "second search"
MOST_SEARCHED = 100  # documents that are looked through one by one
DEPTH = 10  # hits of each among which the words are looked for

# One capitalised word or several, with small words between them: "Chris Evans", "Marvel Comics", "Bank of England".
_NAME = re.compile(
    r"[A-Z][\w'’.-]*(?:\s+(?:(?:of|the|and|de|la|von|van|for|in|on)\s+)*(?:[A-Z][\w'’.-]*|\d+))*|\b\d{4}\b"
)


class Corpus(Protocol):
    """The documents that are asked about: their titles by id, in order, and all words that name each."""

    @property
    def titles(self) -> Mapping[str, str]:
        """What each is called."""
        ...

    def called(self, document_id: str) -> str:
        """Return the title of a document; its file name where another one has the same title."""
        ...

    @property
    def names(self) -> Mapping[str, str]:
        """The words of title and file name."""
        ...

    @property
    def files(self) -> Mapping[str, str]:
        """The file names, without their endings."""
        ...

    @property
    def languages(self) -> Mapping[str, str]:
        """The language of each, by whose rules it is read."""
        ...

    def search(self, query: Query, k: int, document_ids: Sequence[str] = ()) -> list[Hit]:
        """Return at most `k` hits, best first; of these documents only (none given: of all)."""
        ...

    def table_row(self, question: str, document_ids: Sequence[str] = ()) -> Hit | None:
        """Return the passage with the row of a table that a question asks for, of these documents."""
        ...

    def pages(self, document_id: str) -> Sequence[Page]:
        """Return the pages of a document."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """What a plan found for a question of this kind; `notes` are sentences for the user."""

    kind: Kind
    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()


def found(request: Request, query: Query, k: int, corpus: Corpus) -> Found:
    """Return what a recognised question needs; for an ordinary one the `k` best hits."""
    if request.kind is Kind.SECTION and (about := named(request.subjects[0], corpus.names)):
        return _openings(about, corpus)
    if request.kind is Kind.SUMMARY:
        return _openings(tuple(corpus.titles), corpus)
    if request.kind is Kind.COMPARISON:
        return _compared(request, query, max(k, LEAST_COMPARED), corpus)
    if request.kind is Kind.ORDINARY:
        return Found(request.kind, tuple(corpus.search(query, k)))
    return _section(request, query, _searched(query, k, corpus), corpus)


def _searched(query: Query, k: int, corpus: Corpus, document_ids: Sequence[str] = ()) -> list[Hit]:
    """Return hits that are not of a table of contents: it names everything that is listed or compared."""
    hits = corpus.search(query, k, document_ids)
    return [hit for hit in hits if not is_contents(hit.passage.heading.rpartition(": ")[2])]


def interleaved(lists: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """Return at most `k` hits, the first of each list, then the second of each, …; a passage once, ranks from 1."""
    taken = {hit.passage.id: hit for hit in reversed([hit for row in zip_longest(*lists) for hit in row if hit])}
    ordered = dict.fromkeys(hit.passage.id for row in zip_longest(*lists) for hit in row if hit)
    return [replace(taken[key], rank=rank) for rank, key in enumerate([*ordered][:k], start=1)]


def with_row(hits: Sequence[Hit], row: Hit | None, k: int) -> list[Hit]:
    """Return at most `k` hits, the passage with the row that is asked for behind the best one; ranks from 1."""
    if row is None or not hits:
        return list(hits)
    same = next((hit for hit in hits if _shares_text(hit.passage, row.passage)), None)
    if same is hits[0]:
        return list(hits)
    best, *others = (hit for hit in hits if hit is not same)
    ordered = [best, same or replace(row, score=best.score), *others]
    return [replace(hit, rank=rank) for rank, hit in enumerate(ordered[:k], start=1)]


def _shares_text(one: Passage, other: Passage) -> bool:
    """Return whether one passage holds the whole of the other one's longest piece."""
    longest = max(other.spans, key=lambda span: span.end - span.start)
    return any(
        (span.document_id, span.page) == (longest.document_id, longest.page)
        and span.start <= longest.start and longest.end <= span.end
        for span in one.spans
    )  # fmt: skip


# ------------------------------------------------------------------ documents


def _openings(document_ids: Sequence[str], corpus: Corpus) -> Found:
    """Return how the sections of the documents open, MOST of them in all; a title page is no section of its own."""
    chosen = document_ids[:MOST]
    notes = []
    if len(document_ids) > len(chosen):
        notes.append(f"These are {len(chosen)} of {len(document_ids)} documents; choose others under “Ask about”.")
    passages: list[Passage] = []
    total, most = 0, max(1, MOST // max(1, len(chosen)))
    for one in chosen:
        top = outline(corpus.pages(one), corpus.languages.get(one, ENGLISH))
        own = [section for section in top if not naming(section.heading) <= naming(corpus.names[one])] or top
        longest = sorted(own, key=lambda section: -section.length)[:most] if most > 1 else own[:1]
        passages += [opening(section, corpus.titles[one]) for section in own if section in longest]
        total += len(own)
    if total > len(passages) and most > 1:
        notes.append(f"Of {total} sections the {len(passages)} longest are shown.")
    elif total > len(passages):
        notes.append("One section of each document is shown; choose a document under “Ask about” for more.")
    return Found(Kind.SUMMARY, _hits(passages, "opening of a section"), tuple(notes))


def _hits(passages: Sequence[Passage], retriever: str) -> tuple[Hit, ...]:
    return tuple(Hit(passage, 1.0, rank, retriever) for rank, passage in enumerate(passages, start=1))


# ------------------------------------------------------------------ comparisons


def _compared(request: Request, query: Query, k: int, corpus: Corpus) -> Found:
    """Search for each side and for the question; a side that names documents, and the other others, in these only."""
    about = [set(named(side, corpus.names, least=1)) for side in request.subjects]
    apart = [
        own.difference(*(other for other in about if other is not own)) if len(about) > 1 else own for own in about
    ]
    scoped = all(apart)
    searches = [
        _searched(Query(f"{side} {request.aspect}".strip()), k, corpus, sorted(apart[place]) if scoped else ())
        for place, side in enumerate(request.subjects)
    ]
    hits = interleaved([*searches, _searched(query, k, corpus)], k)
    sides = " and for ".join(f"“{side}”" for side in request.subjects)
    return Found(Kind.COMPARISON, tuple(hits), (f"Searched for {sides}.",))


# ------------------------------------------------------------------ sections


def _section(request: Request, query: Query, hits: Sequence[Hit], corpus: Corpus) -> Found:
    """Return the whole section that the hits lead to, before the other hits."""
    subject = request.subjects[0] if request.subjects else query.text
    section = _led_to(subject, hits, corpus, named_only=request.kind is Kind.LIST)
    if section is None:
        return Found(request.kind, tuple(hits))
    document_id = section.spans[0].document_id
    title = corpus.titles.get(document_id, "")
    whole = parts(section, title)
    passages = whole if len(whole) <= LONGEST_SECTION else [opening(section, title)]
    inside = {hit.passage.id for hit in hits if _holds(section, hit.passage)}
    others = [hit for hit in hits if hit.passage.id not in inside] if whole is passages else list(hits)
    if request.kind is Kind.LIST and whole is passages:
        others = []  # a model asked for all that is listed would list them too
    score = max((hit.score for hit in hits), default=1.0)
    own = [Hit(passage, score, 0, "section") for passage in passages]
    how = "" if whole is passages else ", its headings and first sentences"
    note = f"Read the section “{section.heading}”{how}."
    ranked = tuple(replace(hit, rank=rank) for rank, hit in enumerate([*own, *others], start=1))
    return Found(request.kind, ranked, (note,))


def _led_to(subject: str, hits: Sequence[Hit], corpus: Corpus, *, named_only: bool = False) -> Section | None:
    """Return the section around one of the hits whose heading the subject names best, else that of the best hit.

    None where none stands below a heading other than the document's title, and with `named_only` where no heading has a
    word of the subject: what is listed need not stand where most of a passage does.
    """
    wanted = _stems(subject)
    best: tuple[float, int, int] | None = None
    chosen = None
    for place, hit in enumerate(hits):
        document = _stems(corpus.names[hit.passage.document_id])
        for section in sections(corpus.pages(hit.passage.document_id), hit.passage.language):
            heading = _stems(section.heading)
            shared = (heading & wanted) - document
            if heading <= document or (named_only and not shared):
                continue
            if not _holds(section, hit.passage) and not (shared and _has_most(hit.passage, section)):
                continue
            key = (len(shared) ** 2 / len(heading), -place, -section.length)
            if best is None or key > best:
                best, chosen = key, section
    return chosen


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words that say what a heading is about, and whether it is negated."""
    own = terms(text.replace("_", " "))
    return frozenset(term[:STEM] for term in own if term not in STOP_WORDS or term in ("not", "no"))


def _holds(section: Section, passage: Passage) -> bool:
    """Whether most of a passage lies in the section."""
    return 2 * _common(section, passage) > sum(span.end - span.start for span in passage.spans)


def _has_most(passage: Passage, section: Section) -> bool:
    """Whether most of a section lies in the passage."""
    return 2 * _common(section, passage) > sum(span.end - span.start for span in section.spans)


def _common(section: Section, passage: Passage) -> int:
    """Return how many characters both have."""
    inside = 0
    for span in passage.spans:
        for other in section.spans:
            if (span.document_id, span.page) == (other.document_id, other.page):
                inside += max(0, min(span.end, other.end) - max(span.start, other.start))
    return inside


# ------------------------------------------------------------------ which documents


def mentioned(subject: str, corpus: Corpus) -> Found:
    """Return the best passage of each document that has all words of the subject, in any form; the best first."""
    searched = list(corpus.titles)[:MOST_SEARCHED]
    hits = [
        next((hit for hit in corpus.search(Query(subject), DEPTH, (one,)) if _speaks_of(subject, hit.passage)), None)
        for one in searched
    ]
    found = sorted((hit for hit in hits if hit is not None), key=lambda hit: -hit.score)
    few = f" the first {len(searched)} of" if len(searched) < len(corpus.titles) else ""
    note = f"Looked for “{subject}” in each of{few} {len(corpus.titles)} documents."
    return Found(Kind.MENTIONS, tuple(replace(hit, rank=rank) for rank, hit in enumerate(found, start=1)), (note,))


def _speaks_of(subject: str, passage: Passage) -> bool:
    """Whether a passage has all words of the subject, compared by stem."""
    wanted = set(compared_terms(subject, passage.language))
    return bool(wanted) and wanted <= set(compared_terms(passage.text, passage.language))


# ------------------------------------------------------------------ a second step


def second_search(
    query: Query, hits: Sequence[Hit], k: int, corpus: Corpus, meaning: Meaning | None = None,
    document_ids: Sequence[str] = (),
) -> list[Hit]:  # fmt: skip
    """Return the hits with those of a second search between them: for the question and the names that bridge to it.

    The bridge are the names in the sentence of the two best hits that fits the question best, unless the question has
    them: "Who directed the film that X starred in?" finds the film's name beside X. The best hit stays the first.
    Measured by `benchmarks/two_step_hotpotqa.py`.
    """
    names = bridge(query.text, hits, meaning)
    if not names:
        return list(hits)
    asked = Query(f"{' '.join(names)} {query.text}")
    known = {hit.passage.id for hit in hits[:1]}
    more = [
        replace(hit, retriever=SECOND) for hit in corpus.search(asked, k, document_ids) if hit.passage.id not in known
    ]
    merged = chain(hits[:1], *zip_longest(more, hits[1:]))
    return interleaved([[hit for hit in merged if hit is not None]], k)


def bridge(question: str, hits: Sequence[Hit], meaning: Meaning | None = None) -> list[str]:
    """Return the names of the best sentence of the first hits that the question lacks, in their order."""
    candidates = [quote for hit in hits[:BRIDGED] for quote in quotes(hit, longest=1)]
    if not candidates:
        return []
    scores = relevance(question, candidates, meaning)
    best = candidates[max(range(len(candidates)), key=lambda place: scores[place])].text
    asked = set(terms(question))
    found = []
    for start, end in sentences(best):
        for match in _NAME.finditer(best[start:end]):
            own = [term for term in terms(match[0]) if term not in STOP_WORDS]
            opens = match.start() == 0 and len(own) == 1  # a capital that the sentence gave it
            if own and not opens and not set(own) <= asked:
                found.append(match[0].strip(" .,;:"))
    return list(dict.fromkeys(found))[:NAMES]
