"""What the Chat tab shows, as HTML: turns with their markers, the evidence list, the list of conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from pdfqa_core.reading.citations import with_markers
from pdfqa_core.storage import ConversationSummary
from pdfqa_core.types import Answer, Hit, Turn
from pdfqa_core.ui.components import day, render
from pdfqa_core.ui.passage_text import Piece, pieces

Names = Mapping[str, str]  # file names by document id


@dataclass(frozen=True, slots=True)
class Mark:
    """A citation marker behind a sentence."""

    index: int
    number: int
    verified: bool
    place: str
    quote: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the answer and the markers behind it."""

    text: str
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn as the transcript shows it."""

    id: str
    question: str
    searched: str = ""
    segments: tuple[Segment, ...] = ()
    refused: bool = False
    notes: tuple[str, ...] = ()
    support: str = ""
    all_supported: bool = False
    facts: tuple[str, ...] = ()
    plain: str = ""


@dataclass(frozen=True, slots=True)
class HitView:
    """A hit as the evidence list shows it."""

    rank: int
    place: str
    share: int
    score_title: str
    cited: bool
    text: tuple[Piece, ...]


def place(hit: Hit, names: Names) -> str:
    """Return where a passage stands: "report.pdf, p. 7" or "p. 7-8"."""
    pages = hit.passage.pages
    numbers = f"p. {pages[0]}" if len(pages) == 1 else f"p. {pages[0]}–{pages[-1]}"
    return f"{names.get(hit.passage.document_id, 'removed document')}, {numbers}"


def segments(answer: Answer, names: Names) -> tuple[Segment, ...]:
    """Return the answer cut at the ends of its cited sentences, each piece with its markers."""
    places = {hit.rank: place(hit, names) for hit in answer.hits}
    by_end: dict[int, list[Mark]] = {}
    for index, citation in enumerate(answer.citations):
        mark = Mark(index, citation.number, citation.verified, places.get(citation.number, ""), citation.quote)
        by_end.setdefault(citation.end, []).append(mark)
    pieces, start = [], 0
    for end in sorted(by_end):
        pieces.append(Segment(answer.text[start:end], tuple(by_end[end])))
        start = end
    if answer.text[start:]:
        pieces.append(Segment(answer.text[start:]))
    return tuple(pieces)


def _support(answer: Answer) -> tuple[str, bool]:
    if answer.refused or not answer.text:
        return "", False
    cited = {citation.end for citation in answer.citations}
    verified = {citation.end for citation in answer.citations if citation.verified}
    if not cited:
        return "no supporting sentence found", False
    if verified == cited:
        return "wording found in the evidence", True
    return f"{len(verified)} of {len(cited)} cited sentences found in the evidence", False


def _facts(answer: Answer) -> tuple[str, ...]:
    facts = []
    if "total" in answer.seconds:
        facts.append(f"{answer.seconds['total']:.1f} s")
    writing = answer.seconds.get("read", 0.0) - answer.seconds.get("first_token", 0.0)
    if answer.completion_tokens > 1 and writing > 0:
        facts.append(f"{answer.completion_tokens / writing:.0f} tokens/s")
    if answer.confidence is not None:
        facts.append(f"evidence {answer.confidence:.2f}")
    if answer.model or answer.reader:
        facts.append(answer.model or answer.reader)
    if answer.stopped:
        facts.append("stopped")
    return tuple(facts)


def turn_view(turn: Turn, names: Names) -> TurnView:
    """Return what the transcript shows of a stored turn."""
    support, all_supported = _support(turn.answer)
    searched = turn.standalone_question if turn.standalone_question != turn.question else ""
    sources = "\n".join(f"[{hit.rank}] {place(hit, names)}" for hit in turn.answer.hits if _cited(turn.answer, hit))
    return TurnView(
        turn.id,
        turn.question,
        searched,
        segments(turn.answer, names) or (Segment("(stopped before the first word)" if turn.answer.stopped else "—"),),
        turn.answer.refused,
        turn.answer.notes,
        support,
        all_supported,
        _facts(turn.answer),
        f"{with_markers(turn.answer)}\n{sources}".strip(),
    )


def _cited(answer: Answer, hit: Hit) -> bool:
    return any(citation.number == hit.rank for citation in answer.citations)


def transcript(
    turns: Sequence[Turn], names: Names, current: str, documents: int, suggestions: Sequence[str] = ()
) -> str:
    """Return the finished turns, or the empty state with what to do next; `documents` counts those to ask about."""
    views = [turn_view(turn, names) for turn in turns]
    return render("transcript", turns=views, current=current, documents=documents, suggestions=suggestions)


def live_turn(question: str, searched: str, text: str, phase: str) -> str:
    """Return the turn that is being answered."""
    view = TurnView("", question, searched if searched != question else "", (Segment(text),) if text else ())
    return render("live_turn", turn=view, phase=phase)


def evidence(
    answer_hits: Sequence[Hit],
    names: Names,
    question: str,
    chosen: int,
    answer: Answer | None = None,
) -> str:
    """Return the evidence list. `chosen` is the rank of the open hit."""
    best = max((hit.score for hit in answer_hits), default=0.0)
    views = [
        HitView(
            hit.rank,
            place(hit, names),
            round(100 * max(0.0, hit.score) / best) if best > 0 else 0,
            ", ".join(f"{name} {value:.3f}" for name, value in {hit.retriever: hit.score, **hit.parts}.items()),
            answer is not None and _cited(answer, hit),
            pieces(hit.passage.text, question),
        )
        for hit in answer_hits
    ]
    return render("evidence", hits=views, chosen=chosen)


def conversation_list(conversations: Sequence[ConversationSummary], chosen: str) -> str:
    """Return the conversations by day, newest first."""
    groups = [(name, list(group)) for name, group in groupby(conversations, key=lambda c: day(c.changed_at))]
    return render("conversations", groups=groups, chosen=chosen)
