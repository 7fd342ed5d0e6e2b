"""The values that the parts of the program pass to each other: documents, passages, answers, conversations, events.

Standard library only. Everything is frozen; ids are strings; positions in a page's text are character offsets,
positions on a page are points (1/72 inch) measured from its top left corner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, TypeAlias

# ------------------------------------------------------------------ documents


class DocumentState(StrEnum):
    """How reading a PDF ended; every upload ends in exactly one of these."""

    READY = "ready"
    PARTIAL = "ready without some pages"
    NO_TEXT = "no text"
    XFA = "XFA form"
    ENCRYPTED = "encrypted"
    BROKEN = "broken"
    TOO_LARGE = "too large"
    TOO_SLOW = "too slow"

    @property
    def usable(self) -> bool:
        """Whether the document has text that can be searched."""
        return self in (DocumentState.READY, DocumentState.PARTIAL)


@dataclass(frozen=True, slots=True)
class Document:
    """One PDF in the workspace. `id` is the SHA-256 of its bytes; `reason` explains any state but READY.

    `extractor` names the strategy whose reading of the file counts; `authors` is what the file says, else empty.
    `other_names` are those of files with the same bytes that were added later.
    """

    id: str
    title: str
    filename: str
    page_count: int
    added_at: datetime
    owner: str
    state: DocumentState = DocumentState.READY
    reason: str = ""
    size: int = 0
    pages_without_text: tuple[int, ...] = ()
    extractor: str = "direct"
    authors: str = ""
    other_names: tuple[str, ...] = ()


class Box(NamedTuple):
    """A rectangle on a page in points, origin at the top left of the page as it is shown."""

    x0: float
    top: float
    x1: float
    bottom: float


class BlockKind(StrEnum):
    """What a stretch of a page's text is. Passages are made of the kinds in `READABLE` only."""

    TEXT = "text"
    HEADING = "heading"
    LIST = "list"
    CAPTION = "caption"
    TABLE = "table"
    FOOTNOTE = "footnote"
    HEADER = "header"
    FOOTER = "footer"
    HIDDEN = "hidden"


READABLE = frozenset(
    {BlockKind.TEXT, BlockKind.HEADING, BlockKind.LIST, BlockKind.CAPTION, BlockKind.TABLE, BlockKind.FOOTNOTE}
)


@dataclass(frozen=True, slots=True)
class Line:
    """One printed line, or one cell of a table: its characters are `page.text[start:end]`, its place is `box`."""

    start: int
    end: int
    box: Box


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, list item or margin text: the characters `page.text[start:end]`."""

    start: int
    end: int
    kind: BlockKind = BlockKind.TEXT
    level: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """One page as it was read.

    `number` is the 1-based position in the file, `label` the printed page number (the same where none is printed).
    `text` is the text in reading order with mended hyphenation, blocks parted by a blank line; `lines` and `blocks`
    point into it. The text of a table block is Markdown, and each of its cells is one of the `lines`. `source` is
    "text" or "ocr", `confidence` the mean confidence of OCR in 0..1. `warnings` are sentences for the user.
    """

    document_id: str
    number: int
    label: str
    width: float
    height: float
    text: str
    lines: tuple[Line, ...] = ()
    blocks: tuple[Block, ...] = ()
    source: str = "text"
    warnings: tuple[str, ...] = ()
    confidence: float | None = None

    def boxes(self, start: int, end: int) -> tuple[Box, ...]:
        """Return the box of each line that shares characters with `text[start:end]`, narrowed to the shared part."""
        found = []
        for line in self.lines:
            first, last = max(start, line.start), min(end, line.end)
            if first >= last:
                continue
            x0, x1 = line.box.x0, line.box.x1
            if (first, last) != (line.start, line.end):
                before, inside, behind = (
                    sum(map(_advance, self.text[a:b]))
                    for a, b in ((line.start, first), (first, last), (last, line.end))
                )
                em = (x1 - x0) / (before + inside + behind)
                x0, x1 = x0 + before * em, x1 - behind * em
            found.append(Box(x0, line.box.top, x1, line.box.bottom))
        return tuple(dict.fromkeys(found))  # the name above several columns of a table is one line in each


def _advance(character: str) -> float:
    """Return about how wide a letter is set beside an a, as in most faces whose letters differ in width."""
    if character in " ijlt.,:;'|!()[]fI":
        return 0.55
    return 1.5 if character in "mwMW@%—" else 1.2 if character.isupper() else 1.0


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The one way to point at text: characters `start` to `end` of a page's text."""

    document_id: str
    page: int
    start: int
    end: int


# ------------------------------------------------------------------ retrieval


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that can be found. `text` is what the spans hold; `heading` is used for indexing only.

    `language` is the one by whose rules it is split and compared, see `languages`.
    """

    id: str
    spans: tuple[Span, ...]
    text: str
    heading: str = ""
    language: str = "english"

    @property
    def document_id(self) -> str:
        """The document that the passage comes from (a passage never crosses documents)."""
        return self.spans[0].document_id

    @property
    def pages(self) -> tuple[int, ...]:
        """The 1-based numbers of the pages that the passage touches, ascending."""
        return tuple(sorted({span.page for span in self.spans}))

    def overlaps(self, other: Passage) -> bool:
        """Whether both hold a character of the same page."""
        return any(
            (a.document_id, a.page) == (b.document_id, b.page) and a.start < b.end and b.start < a.end
            for a in self.spans
            for b in other.spans
        )


def passage_id(recipe: str, spans: Sequence[Span]) -> str:
    """Return the id of the passage that a chunker with these settings (`recipe`) makes of `spans`: 16 hex digits."""
    places = ";".join(f"{s.document_id}:{s.page}:{s.start}-{s.end}" for s in spans)
    return hashlib.sha256(f"{recipe}|{places}".encode()).hexdigest()[:16]


WeightedTexts: TypeAlias = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A question as retrievers take it, where some texts count more than others.

    `text` is what people and models read. `lexical` are the texts whose words are searched for, each word with the
    weight of its text; `dense` the texts whose embeddings, times their weights, add up to the question's. Empty: the
    text alone, with weight 1. `language` is the question's, "" where it is not known.
    """

    text: str
    lexical: WeightedTexts = ()
    dense: WeightedTexts = ()
    language: str = ""

    @classmethod
    def of(cls, question: str | Query) -> Query:
        """Return the question as a query."""
        return cls(question) if isinstance(question, str) else question


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. `rank` starts at 1; `parts` names the scores that `score` was made of."""

    passage: Passage
    score: float
    rank: int
    retriever: str
    parts: Mapping[str, float] = field(default_factory=dict)


# ------------------------------------------------------------------ questions and answers


GENERATED = "generated"  # the origin of questions that a program made of passages


@dataclass(frozen=True, slots=True)
class Question:
    """A question and where it comes from ("user", "sample", GENERATED, a file name)."""

    id: str
    text: str
    origin: str = "user"


@dataclass(frozen=True, slots=True)
class Citation:
    """Evidence for one sentence of an answer.

    `number` is the marker shown in the answer ([1]) and the rank of the hit it points to; `start` and `end` delimit
    the sentence in the answer's text; `quote` is the best matching text of the passage, found at `span`; `verified`
    says whether the two match well enough.
    """

    number: int
    passage_id: str
    span: Span
    quote: str
    verified: bool
    start: int = 0
    end: int = 0


class Support(StrEnum):
    """How far the passages that a reader saw say what a sentence of its answer says."""

    SUPPORTED = "supported"
    PARTLY = "partly supported"
    NOT_FOUND = "not found"


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """The sentence `text[start:end]` of an answer, compared with the passages.

    `numbers` are the places (start, end in the answer's text) of numbers that stand in no cited passage.
    """

    start: int
    end: int
    support: Support
    numbers: tuple[tuple[int, int], ...] = ()


class Outcome(StrEnum):
    """What came of a question: an answer, lines that may hold one with the reader's words, or nothing."""

    ANSWER = "answer"
    PERHAPS = "perhaps"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reader made of a question and its hits.

    `refused`: nothing that answers the question was found. `perhaps`: it is not sure that `text` answers it, so the
    lines that match the question best (`nearest`) stand before the text; they are the text where the reader wrote none.
    `stopped`: a person stopped the generation, `text` is what had been written. `confidence` is the confidence in 0..1
    that the threshold was compared with, `signals` what it was made of ("retrieval", "model"), and of an answer "sure",
    how likely it is right, with what that was made of. `rewriting` says what the rewriter did that the user should
    know. `sentences` says of each sentence of the text how well the passages support it. `nearest` are the lines
    nearest to the question, one piece of a page of at most about 60 words, `second` the nearest ones elsewhere; None of
    an answer that is sure. `seconds` are by phase ("rewrite", "retrieve", "judge", "first_token", "write", "read",
    "check", "weigh", "total"). `notes` are sentences for the user. `read` are the ranks of the hits that the reader was
    shown a part of.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    hits: tuple[Hit, ...] = ()
    refused: bool = False
    stopped: bool = False
    reader: str = ""
    model: str = ""
    settings_fingerprint: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    confidence: float | None = None
    notes: tuple[str, ...] = ()
    sentences: tuple[CheckedSentence, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)
    rewriting: str = ""
    read: tuple[int, ...] = ()
    nearest: Citation | None = None
    perhaps: bool = False
    second: Citation | None = None

    @property
    def outcome(self) -> Outcome:
        """What came of the question."""
        return Outcome.NOTHING if self.refused else Outcome.PERHAPS if self.perhaps else Outcome.ANSWER


class Thumb(StrEnum):
    """What the one who asked thinks of an answer, if they say so."""

    NONE = ""
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Turn:
    """One question of a conversation with its answer. `number` starts at 1; `id` stays when turns are replaced."""

    id: str
    number: int
    question: str
    standalone_question: str
    answer: Answer
    thumb: Thumb = Thumb.NONE


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation about some documents (`document_ids`; empty: all of the owner's).

    Among the ids are those of collections, which stand for the documents that are in them when a question is asked.
    """

    id: str
    title: str
    created_at: datetime
    owner: str
    document_ids: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()


# ------------------------------------------------------------------ events


@dataclass(frozen=True, slots=True)
class Progress:
    """Work going on: `phase` in words a user reads, `done` of `total` units (total 0: unknown).

    `seconds_left` is an estimate for all of the work that this is a part of, None if unknown; it does not
    count when two are compared.
    """

    phase: str
    done: int = 0
    total: int = 0
    seconds_left: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The standalone question that is searched for, as people and the reader see it.

    `note` is a sentence for the user on how it came about. `lexical` and `dense` are as in `Query`.
    """

    question: str
    note: str = ""
    lexical: WeightedTexts = ()
    dense: WeightedTexts = ()

    @property
    def query(self) -> Query:
        """What retrievers are given."""
        return Query(self.question, self.lexical, self.dense)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The passages found, best first; comes before the first token."""

    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """The next piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The finished (or stopped, or refused) answer."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Stored:
    """The turn as the database keeps it; the last event where answers are stored."""

    conversation_id: str
    turn: Turn


Event = Progress | Rewritten | Retrieved | Token | Done | Stored
