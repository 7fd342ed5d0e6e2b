"""What the Chat tab shows, as HTML: turns with their markers, the evidence list, the list of conversations."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from pdfqa_core.conversation.follow_ups import asked_about
from pdfqa_core.exports.conversations import (
    REMOVED,
    Footnote,
    footnote,
    lines_notes,
    marked_sentences,
    quote_lines,
    support_counts,
    turn_markdown,
    turn_text,
    unfound_numbers,
    written_by,
)
from pdfqa_core.reading.outcomes import (
    CAUTION,
    MAY_STAND,
    OR_HERE,
    SURE,
    lead_of,
    lines_of,
    notes_below,
    nothing_words,
    own_words,
    rated_text,
)
from pdfqa_core.reading.tables import read_out, tables
from pdfqa_core.services import ConversationSummary
from pdfqa_core.services.conversation_files import FORMS
from pdfqa_core.types import Answer, Citation, Hit, Outcome, Support, Turn
from pdfqa_core.ui.components import clock, day, render
from pdfqa_core.ui.page_view import PassagePart, passage_parts
from pdfqa_core.ui.session import Added

Names = Mapping[str, str]  # file names by document id
_DASH = re.compile(r"^[-*](?= )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mark:
    """A citation marker behind a sentence; `source` is what its footnote says where the answer is copied."""

    index: int
    number: int
    verified: bool
    place: str
    quote: str
    source: str


@dataclass(frozen=True, slots=True)
class Badge:
    """How well the passages support a sentence: a sign that differs in shape, and what it means in words."""

    kind: str
    sign: str
    words: str


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A piece of the answer, the markers and the badge behind it, and where numbers are that no cited passage has.

    `table` is set where the piece is a quoted row of a table: the names of its columns, and its cells.
    """

    text: str
    marks: tuple[Mark, ...] = ()
    badge: Badge | None = None
    numbers: tuple[tuple[int, int], ...] = ()
    table: tuple[tuple[str, ...], ...] = ()

    @property
    def runs(self) -> tuple[tuple[str, bool], ...]:
        """The text in runs, each with whether it is such a number."""
        runs, last = [], 0
        for start, end in self.numbers:
            runs += [(self.text[last:start], False), (self.text[start:end], True)]
            last = end
        return tuple(run for run in (*runs, (self.text[last:], False)) if run[0])


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn with what the transcript makes of it: how well it is supported, its facts, and its text for copying.

    `lines` are those that match best, of an answer that is not sure and where nothing was found, each with what leads
    to them, the number of their passage and their place.
    Where nothing was found `told` says what was searched, and `nearest` are rank, place and text of the passages to
    look at. `below` are the notes that come last.
    """

    caution: ClassVar = CAUTION
    turn: Turn
    parts: tuple[AnswerPart, ...]
    lines: tuple[tuple[str, int, str, str], ...] = ()
    told: tuple[str, ...] = ()
    nearest: tuple[tuple[int, str, tuple[PassagePart, ...]], ...] = ()
    below: tuple[str, ...] = ()
    support: str = ""
    all_supported: bool = False
    facts: tuple[str, ...] = ()
    plain: str = ""
    markdown: str = ""

    @property
    def lead(self) -> str:
        """What leads from the lines to the text."""
        return lead_of(self.turn.answer)


@dataclass(frozen=True, slots=True)
class Studying:
    """The turn for which a study is being chosen, the studies to choose from (id, name), and what was done before.

    `full` counts the studies that take no more answers.
    """

    turn_id: str = ""
    studies: tuple[tuple[str, str], ...] = ()
    added: Added | None = None
    full: int = 0


# The readers that the switch beside the question box offers: name, label, what it means.
READERS = (
    ("extractive", "quotes", "Answers are sentences and rows of tables, word for word"),
    ("generative", "own words", "The language model writes the answers"),
)
NEAREST = 3  # passages to look at where nothing was found
BADGES = {
    Support.SUPPORTED: Badge("supported", "✓", "The passage says this."),
    Support.NOT_FOUND: Badge("missing", "?", "Not found in the passages: check this before you use it."),
}


def place(hit: Hit, names: Names) -> str:
    """Return where a passage stands: "report.pdf, p. 7" or "p. 7-8"."""
    pages = hit.passage.pages
    numbers = f"p. {pages[0]}" if len(pages) == 1 else f"p. {pages[0]}–{pages[-1]}"
    return f"{names.get(hit.passage.document_id, REMOVED)}, {numbers}"


def scores(hit: Hit) -> list[str]:
    """Return a hit's score and those it is made of: "hybrid 0.812", "bm25 0.900", …."""
    return [f"{name} {value:.3f}" for name, value in {hit.retriever: hit.score, **hit.parts}.items()]


def answer_parts(answer: Answer, names: Names) -> tuple[AnswerPart, ...]:
    """Return the answer cut at the ends of its sentences, each piece with its markers, each once, and its badge.

    Where nothing was found it is one piece, the words in its place; where lines alone are quoted there is none.
    """
    if not own_words(answer):
        return (AnswerPart(rated_text(answer)),) if answer.refused else ()
    places = {hit.rank: place(hit, names) for hit in answer.hits}
    marks: dict[int, list[Mark]] = {}
    for index, citation in enumerate(answer.citations):
        source = footnote(citation, answer, names).source()
        quote, where = read_out(citation.quote), places.get(citation.number, "")
        beside = marks.setdefault(citation.end, [])
        if all(one.number != citation.number for one in beside):
            beside.append(Mark(index, citation.number, citation.verified, where, quote, source))
    checked = {sentence.end: sentence for sentence in answer.sentences}
    badges = {sentence.end: BADGES[sentence.support] for sentence in marked_sentences(answer)}
    text = bulleted(answer.text)
    parts, start = [], 0
    for end in sorted({*marks, *checked, len(answer.text)}):
        sentence = checked.get(end)
        numbers = tuple((a - start, b - start) for a, b in sentence.numbers) if sentence else ()
        if answer.text[start:end]:
            table = _quoted_row(answer, end) if answer.reader == "extractive" else ()
            parts.append(AnswerPart(text[start:end], tuple(marks.get(end, ())), badges.get(end), numbers, table))
        start = end
    return tuple(parts)


def bulleted(text: str) -> str:
    """Return a text of the same length with a dot for the dash before the items of a list."""
    return _DASH.sub("•", text)


def _quoted_row(answer: Answer, end: int) -> tuple[tuple[str, ...], ...]:
    """Return column names and cells of the row of a table that is quoted up to `end`; nothing where none is."""
    quotes = [citation for citation in answer.citations if citation.end == end and citation.quote.startswith("|")]
    for quote in quotes:
        text = next((hit.passage.text for hit in answer.hits if hit.rank == quote.number), "")
        for row in (row for table in tables(text) for row in table.rows if row.values):
            if text[row.start : row.end].strip() == quote.quote.strip():
                names, cells = zip(*row.values, strict=True)
                label = f"{row.under.rstrip(':')}: {row.label}" if row.under else row.label
                return ("", *names), (label, *cells)
    return ()


def _support_line(answer: Answer) -> tuple[str, bool]:
    """Return how much of an answer that is sure the passages support, and whether that is all of it."""
    if answer.outcome is not Outcome.ANSWER or not answer.text:
        return "", False
    if not answer.sentences:
        return ("", False) if answer.citations else ("no supporting sentence found", False)
    words = " · ".join(part for part in (support_counts(answer), unfound_numbers(answer)) if part)
    return words, all(one.support is Support.SUPPORTED and not one.numbers for one in answer.sentences)


def tokens_per_second(answer: Answer) -> float | None:
    """Return how fast the answer was written, from its first token on; None where that is not known."""
    writing = answer.seconds.get("write", 0.0)
    return (answer.completion_tokens - 1) / writing if answer.completion_tokens > 1 and writing > 0 else None


def _facts(answer: Answer) -> tuple[str, ...]:
    facts = []
    if "first_token" in answer.seconds:
        facts.append(f"first word {answer.seconds['first_token']:.1f} s")
    if speed := tokens_per_second(answer):
        facts.append(f"{speed:.0f} tokens/s")
    if "total" in answer.seconds:
        facts.append(f"{answer.seconds['total']:.1f} s in all")
    if SURE in answer.signals:
        facts.append(f"right with a probability of {answer.signals[SURE]:.2f}")
    return tuple(fact for fact in (*facts, written_by(answer)) if fact)


def turn_view(turn: Turn, names: Names) -> TurnView:
    """Return what the transcript shows of a stored turn."""
    answer = turn.answer
    leads = zip((MAY_STAND, OR_HERE), lines_of(answer), lines_notes(answer, names), strict=False)
    lines = tuple((lead, note.number, _quoted(found, note), note.place) for lead, found, note in leads)
    told = nothing_words(answer)[1:] if answer.refused else ()
    parts = answer_parts(answer, names)
    if not parts and not lines:
        parts = (AnswerPart("(stopped before the first word)" if answer.stopped else "—"),)
    return TurnView(
        turn,
        parts,
        lines,
        told,
        _nearest(turn, names),
        tuple(line for line in notes_below(answer) if line not in told),
        *_support_line(answer),
        _facts(answer),
        turn_text(turn, names),
        turn_markdown(turn, names),
    )


def _quoted(found: Citation, note: Footnote) -> str:
    """Return lines in quotation marks, headings and rows of tables on lines of their own."""
    return note.quoted if note.columns else "“{}”".format("\n".join(quote_lines(found.quote)))


def _nearest(turn: Turn, names: Names) -> tuple[tuple[int, str, tuple[PassagePart, ...]], ...]:
    """Return the passages to look at where nothing was found."""
    places: dict[str, Hit] = {}  # of overlapping passages the best
    for hit in turn.answer.hits if turn.answer.refused else ():
        places.setdefault(place(hit, names), hit)
    return tuple(
        (hit.rank, where, passage_parts(hit.passage.text, turn.standalone_question, language=hit.passage.language))
        for where, hit in list(places.items())[:NEAREST]
    )


def transcript(
    turns: Sequence[Turn],
    names: Names,
    current: str,
    documents: int,
    suggestions: Sequence[str] = (),
    studying: Studying = Studying(),
) -> str:
    """Return the finished turns, or the empty state with what to do next; `documents` counts those to ask about.

    `suggestions` are offered where nothing was asked yet. `studying` is shown below the turn that it is about.
    """
    views = [turn_view(turn, names) for turn in turns]
    return render(
        "transcript", views=views, current=current, documents=documents, suggestions=suggestions, studying=studying
    )


def reader_switch(chosen: str) -> str:
    """Return the switch between quotes and own words; `chosen` is the name of the reader that answers."""
    return render("reader_switch", choices=READERS, chosen=chosen)


def offered(questions: Sequence[str]) -> str:
    """Return the questions to ask next as buttons."""
    return render("follow_ups", **chips(questions)) if questions else ""


def chips(questions: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return questions with the words on their buttons: those that are asked as they stand, then headings to ask about.

    Questions about headings are all of one form, so that only the heading is shown.
    """
    named = [(asked_about(question), question) for question in questions]
    return {
        "questions": [(question, question) for heading, question in named if not heading],
        "headings": [(heading, question) for heading, question in named if heading],
    }


def live_turn(
    question: str, searched: str, text: str, phase: str, rewriting: str = "", *, taken_up: bool = False
) -> str:
    """Return the turn that is being answered. `taken_up`: the page finds it under way, and asks to be shown more."""
    turn = Turn("", 1, question, searched, Answer(text, rewriting=rewriting))
    return render(
        "live_turn", view=TurnView(turn, (AnswerPart(bulleted(text)),) if text else ()), phase=phase, taken_up=taken_up
    )


def evidence(
    hits: Sequence[Hit],
    names: Names,
    question: str,
    chosen: int,
    answer: Answer | None = None,
    quote: Citation | None = None,
    message: str = "",
) -> str:
    """Return the evidence list. `chosen` is the rank of the open hit, `quote` what is marked in it.

    The other cited hits are marked at the first sentence that is cited of them.
    """
    quotes = {citation.number: citation.quote for citation in reversed(answer.citations)} if answer else {}
    cited = set(quotes)
    if quote is not None:
        quotes[quote.number] = quote.quote
    cards = [
        (
            hit,
            place(hit, names),
            scores(hit),
            passage_parts(hit.passage.text, question, quotes.get(hit.rank, ""), hit.passage.language),
        )
        for hit in hits
    ]
    best = max((hit.score for hit in hits), default=0.0)
    read = answer.read if answer else ()
    return render("evidence", cards=cards, best=best, cited=cited, read=read, chosen=chosen, message=message)


def conversation_list(conversations: Sequence[ConversationSummary], chosen: str) -> str:
    """Return the conversations by day, newest first; beside those of one name the time tells which is which."""
    groups = [(name, list(group)) for name, group in groupby(conversations, key=lambda c: day(c.changed_at))]
    forms = [(form, words) for form, (_, words, _) in FORMS.items() if form != "jsonl"]
    return render("conversations", groups=groups, chosen=chosen, forms=forms, times=clocks(conversations))


def clocks(conversations: Sequence[ConversationSummary]) -> dict[str, str]:
    """Return the time of day of those that share their name, by id; with seconds where minutes are the same too."""
    minutes = {one.id: f"{day(one.changed_at)} {clock(one.changed_at)[:5]}" for one in conversations}
    named = Counter(one.title for one in conversations)
    at_once = Counter((one.title, minutes[one.id]) for one in conversations)
    return {
        one.id: clock(one.changed_at)[: 5 if at_once[one.title, minutes[one.id]] == 1 else None]
        for one in conversations
        if named[one.title] > 1
    }


def download() -> str:
    """Return what makes the browser save the file that is ready; made anew each time, so that it is noticed."""
    return render("download", moment=time.monotonic_ns())
