"""The turn that is being answered, put together from the events of its answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from pdfqa_core.services import Written
from pdfqa_core.types import Event, Hit, Progress, Retrieved, Rewritten, Token, Turn
from pdfqa_core.ui import chat_view
from pdfqa_core.ui.session import ChatState, first_citation
from pdfqa_core.ui.showing import Showing


@dataclass(slots=True)
class LiveTurn:
    """What is known of the answer so far; `phase` says what is being done."""

    question: str
    searched: str
    phase: str = "starting"
    rewriting: str = ""
    text: str = ""
    hits: tuple[Hit, ...] = ()

    @classmethod
    def begin(cls, question: str) -> Self:
        """Return the turn before anything has happened."""
        return cls(question, question)

    @classmethod
    def of(cls, written: Written) -> Self:
        """Return the turn as far as it is."""
        turn = cls.begin(written.question)
        turn.take_all(written.so_far)
        return turn

    def take_all(self, events: Iterable[Event]) -> None:
        """Take note of several events."""
        for event in events:
            self.take(event)

    def take(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case Progress(phase=words, done=done, total=total):
                self.phase = f"{words}: {done:,} of {total:,}" if total else words
            case Rewritten(question=question, note=note):
                self.searched, self.rewriting = question, note
            case Retrieved(hits=hits):
                self.hits = hits
            case Token(text=piece):
                self.text, self.phase = self.text + piece, "writing"

    def html(self, *, taken_up: bool = False) -> str:
        """Return it as the transcript shows it, see `chat_view.live_turn`."""
        words = self.question, self.searched, self.text, self.phase, self.rewriting
        return chat_view.live_turn(*words, taken_up=taken_up)

    def broken(self) -> str:
        """Return it as it was when something failed."""
        return chat_view.live_turn(self.question, self.searched, self.text, "")


def looked_at(state: ChatState, turns: Sequence[Turn], written: Written | None) -> Turn | LiveTurn | None:
    """Return the turn whose evidence is shown: the chosen one, else one that is being answered, else the last."""
    chosen = next((turn for turn in turns if turn.id == state.turn_id), None)
    if chosen is None and written is not None and (live := LiveTurn.of(written)).hits:
        return live
    return chosen or (turns[-1] if turns else None)


def chosen_hit(turn: Turn | LiveTurn | None, rank: int) -> Hit | None:
    """Return the hit of this rank; the best one of a turn that is being answered where none is chosen."""
    if isinstance(turn, LiveTurn):
        return next((hit for hit in turn.hits if hit.rank == rank), turn.hits[0])
    return next((hit for hit in turn.answer.hits if hit.rank == rank), None) if turn else None


class Looking:
    """Which passage of an answer that is being written was clicked on each page: it stays chosen when that is there."""

    def __init__(self) -> None:
        self._ranks = Showing()

    def begin(self, page: str) -> None:
        """Note that an answer begins, of which nothing was clicked."""
        self._ranks.put(page, "")

    def note(self, page: str, state: ChatState, rank: int) -> None:
        """Note which passage was clicked, or whose page was turned; 0 is the first. Those of stored turns are not."""
        if not state.turn_id:
            self._ranks.put(page, str(rank))

    def after(self, page: str, state: ChatState, turn: Turn, live: LiveTurn) -> ChatState:
        """Return the state after an answer; `state` is what it would be where nothing was clicked."""
        looking = self._ranks.of(page)
        hit = chosen_hit(turn, int(looking) or live.hits[0].rank) if looking and live.hits else None
        return replace(state, rank=hit.rank, citation=first_citation(turn, hit.rank)) if hit else state
