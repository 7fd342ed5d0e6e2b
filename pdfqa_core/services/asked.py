"""A question as it was asked, and its answer in the making."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pdfqa_core.reading.citations import foreign_addresses
from pdfqa_core.settings import Settings
from pdfqa_core.types import Answer, Event, Hit, Retrieved, Rewritten, Stored, Token

IN_NONE = "stands in none of the passages"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it was asked, with the conversation it belongs to.

    `document_ids` limits the search (empty: all documents), `scope` is what was chosen to that end, collections
    included; `history` are the (question, answer) pairs before it, the oldest first; `conversation_id` is empty for the
    first question of a conversation, `replaces` the id of the turn whose place the new one takes. `anyway`: it is
    answered even if the evidence does not seem to. `began`: since when somebody waits, by `time.perf_counter`.
    """

    owner: str
    question: str
    settings: Settings
    history: tuple[tuple[str, str], ...] = ()
    document_ids: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    conversation_id: str = ""
    replaces: str = ""
    anyway: bool = False
    began: float = field(default_factory=time.perf_counter, compare=False)

    @property
    def questions(self) -> tuple[str, ...]:
        """The question and those before it in its conversation."""
        return (*(asked for asked, _ in self.history), self.question)


@dataclass(slots=True)
class Draft:
    """An answer in the making."""

    searched: str
    settings_fingerprint: str
    reader: str = ""
    model: str = ""
    notes: tuple[str, ...] = ()
    rewriter_missing: str = ""
    rewriting: str = ""
    hits: tuple[Hit, ...] = ()
    text: str = ""
    stored: Stored | None = None

    def take(self, event: Event) -> None:
        """Note what has happened."""
        match event:
            case Rewritten(question=question, note=note):
                self.searched, self.rewriting = question, note
            case Retrieved(hits=hits):
                self.hits = hits
            case Token(text=piece):
                self.text += piece

    def noted(self, answer: Answer) -> Answer:
        """Return the answer with notes on how it was made."""
        rewriting = " ".join(part for part in (self.rewriter_missing, answer.rewriting) if part)
        return replace(answer, notes=(*self.notes, *answer.notes), rewriting=rewriting)

    def unfinished(self, *notes: str) -> Answer:
        """Return the answer as far as it is written."""
        return Answer(
            self.text.strip(), hits=self.hits, stopped=True, reader=self.reader, model=self.model,
            settings_fingerprint=self.settings_fingerprint, notes=notes,
        )  # fmt: skip


def with_sources(answer: Answer, questions: Sequence[str], names: Mapping[str, str]) -> Answer:
    """Return an answer that says of each address which nobody asked with where it comes from; `names` are of files.

    A PDF can name any address and have it named: whoever reads it must know that neither they nor the program did.
    """
    notes = []
    for address, span in foreign_addresses(answer, questions):
        source = f"comes from {names.get(span.document_id, 'a document')}, p. {span.page}" if span else IN_NONE
        notes.append(f"“{address}” {source}; where it leads was not checked.")
    return replace(answer, notes=(*answer.notes, *notes)) if notes else answer
