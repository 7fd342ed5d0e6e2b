"""The values that the parts of the program pass to each other, and the protocols they follow.

Standard library only. Everything is frozen; ids are strings; positions in a page's text are character offsets,
positions on a page are points (1/72 inch) measured from its top left corner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

# ------------------------------------------------------------------ documents


class DocumentState(StrEnum):
    """How reading a PDF ended; every upload ends in exactly one of these."""

    READY = "ready"
    PARTIAL = "ready without some pages"
    NO_TEXT = "no text"
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
            width = (line.box.x1 - line.box.x0) / max(1, line.end - line.start)
            x0 = line.box.x0 + (first - line.start) * width
            x1 = line.box.x1 - (line.end - last) * width
            found.append(Box(x0, line.box.top, x1, line.box.bottom))
        return tuple(dict.fromkeys(found))  # the name above several columns of a table is one line in each


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


@dataclass(frozen=True, slots=True)
class Question:
    """A question and where it comes from ("user", "sample", "generated", a file name)."""

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


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reader made of a question and its hits.

    `refused`: the evidence does not answer the question. `stopped`: a person stopped the generation, `text` is what
    had been written. `confidence` is the confidence in 0..1 that the threshold was compared with, `signals` what it was
    made of ("retrieval", "model"). `rewriting` says what the rewriter did that the user should know. `sentences` says
    of each sentence of the text how well the passages support it. `nearest` is the sentence nearest to the question,
    of a refusal only. `seconds` are by phase ("rewrite", "retrieve", "judge", "first_token", "write", "read", "check",
    "total"). `notes` are sentences for the user. `read` are the ranks of the hits that the reader was shown a part of.
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


# ------------------------------------------------------------------ evaluation


@dataclass(frozen=True, slots=True)
class GoldItem:
    """A question with its accepted answers and where they stand, independent of any chunking.

    `conversation` is the id of the question that this one, directly or not, follows up; its own where it is the first.
    """

    question: Question
    references: tuple[str, ...] = ()
    gold_spans: tuple[Span, ...] = ()
    gold_pages: tuple[tuple[str, int], ...] = ()
    history: tuple[tuple[str, str], ...] = ()
    answerable: bool = True
    conversation: str = ""


class AppliesTo(StrEnum):
    """What annotators judge: the turn as a whole, its answer, or each passage that was shown with it."""

    TURN = "turn"
    ANSWER = "answer"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True)
class Criterion:
    """A question that annotators answer about an item by choosing a value of the scale.

    `scale` holds the values as they are stored and `labels` what their buttons say, both in the order of the buttons;
    without a scale it is answered in words, and may be left out. `keys` are the keys of those buttons; of a criterion
    for passages each of them holds one letter for each passage, by rank, and may end early. `title` and `help` are
    shown with the buttons. `rest_key` is for passages: the key that gives the last value of the scale to all passages
    without a value.
    """

    name: str
    scale: tuple[str, ...]
    labels: tuple[str, ...]
    keys: tuple[str, ...]
    applies_to: AppliesTo
    title: str
    help: str = ""
    rest_key: str = ""

    @property
    def is_text(self) -> bool:
        """Whether it is answered in words."""
        return not self.scale

    def buttons(self, rank: int = 0) -> tuple[tuple[str, str, str], ...]:
        """Return value, label and key of each button; `rank` is that of the passage they are for."""
        keys = [key[rank - 1 : rank] if rank else key for key in self.keys]
        return tuple(zip(self.scale, self.labels, keys, strict=True))

    def label(self, value: str) -> str:
        """Return what the button of a value says; the value itself where it is not on the scale."""
        return self.labels[self.scale.index(value)] if value in self.scale else value


class StudyState(StrEnum):
    """What can be done with a study: rate; look at it; find it again; bring it back or delete it for good."""

    OPEN = "open"
    CLOSED = "closed"
    ARCHIVED = "archived"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Study:
    """A set of finished turns that annotators rate. `turn_ids` is the set; each annotator has their own order.

    `preset` names what it was made from, `criteria` are what it asks (empty: those of MaHuEval), `guideline` is the
    text that annotators are given. `invited`: only the annotators that it names may sign in. `revealed_at` is when its
    agreement could be seen first: what is changed from then on is a revision.
    """

    id: str
    name: str
    created_at: datetime
    owner: str
    turn_ids: tuple[str, ...]
    seed: int = 0
    preset: str = ""
    criteria: tuple[Criterion, ...] = ()
    guideline: str = ""
    state: StudyState = StudyState.OPEN
    invited: bool = False
    revealed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class GoldPassage:
    """Where a gold answer stands: the text, the file's name, its 1-based page (0: not known), and its document.

    `document_id` is empty where the file is not in the workspace.
    """

    text: str
    filename: str = ""
    page: int = 0
    document_id: str = ""


class ItemRole(StrEnum):
    """What an item is for. Only those without a role are part of agreement and results."""

    RATED = ""
    TRAINING = "training"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class ItemDetails:
    """What belongs to an item of a study beside its turn.

    `references` are gold answers, `gold` the passages that they stand in. `expected` are the right values by item and
    criterion ("answer", or "passage#2" for the second passage) of a training or check item, `explanation` says why.
    `system` and `document` are what a sample was stratified by. `second` is the other answer of a pair, given by
    `second_system`. The systems' names are never shown to annotators.
    """

    references: tuple[str, ...] = ()
    gold: tuple[GoldPassage, ...] = ()
    role: ItemRole = ItemRole.RATED
    expected: Mapping[str, str] = field(default_factory=dict)
    explanation: str = ""
    system: str = ""
    document: str = ""
    second: str = ""
    second_system: str = ""


class Role(StrEnum):
    """What somebody who is invited to a study does there: rate, or look at what came of it."""

    ANNOTATOR = "annotator"
    VIEWER = "viewer"


MISSED = "missed"  # the criterion of passages that an answer should have been shown; see `missed_item`


def missed_item(turn_id: str, passage_id: str) -> str:
    """Return the item of a rating that says of a passage, which was not shown, that it is relevant to a turn."""
    return f"{turn_id}#+{passage_id}"


@dataclass(frozen=True, slots=True)
class Rating:
    """One judgement. `item_id` is a turn's id, or "TURN#RANK" for the passage with that rank.

    Ratings are appended, never overwritten: of several with the same item, annotator and criterion the last counts,
    but for drafts (not submitted yet) and revisions (made after agreement could be seen). `seconds` is the time the
    annotator looked at the item.
    """

    study_id: str
    item_id: str
    annotator: str
    criterion: str
    value: str
    comment: str
    seconds: float
    rated_at: datetime
    draft: bool = False
    revision: bool = False

    @property
    def turn_id(self) -> str:
        """The turn that the item is, or belongs to."""
        return self.item_id.partition("#")[0]


@dataclass(frozen=True, slots=True)
class Skip:
    """An item that an annotator could not judge, and why."""

    study_id: str
    turn_id: str
    annotator: str
    reason: str
    seconds: float
    skipped_at: datetime


@dataclass(frozen=True, slots=True)
class Adjudication:
    """The agreed value of an item on which the annotators differed.

    `category` is the kind of error that was found, `decided_by` who decided: a third person, or both together.
    """

    study_id: str
    item_id: str
    criterion: str
    value: str
    reason: str
    decided_at: datetime
    category: str = ""
    decided_by: str = ""


@dataclass(frozen=True, slots=True)
class RankedPlace:
    """One rank: the gold place that a passage covers, or the passage itself where it covers none (gain 0)."""

    docno: str
    gain: float
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a system found for one question, best first: the details of a scored item.

    `gold` names the question's gold places; `hits` are the first ten as (passage id, pages, document id).
    """

    places: tuple[RankedPlace, ...]
    gold: tuple[str, ...] = ()
    hits: tuple[tuple[str, tuple[int, ...], str], ...] = ()

    @property
    def rank(self) -> int | None:
        """The rank of the first relevant place, None without one."""
        return next((rank for rank, place in enumerate(self.places, start=1) if place.gain > 0), None)


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """The values of one item by measure, None where it could not be scored.

    `texts` are what a reader of a report wants to see ("question", …). Where a system ranks, `rank` is that of the
    first relevant place, None without one. `seconds` is what the item took, None if it was not measured.
    Items of one `conversation` are not independent of each other; empty: this one is.
    """

    id: str
    metrics: Mapping[str, float | None]
    texts: Mapping[str, str] = field(default_factory=dict)
    rank: int | None = None
    seconds: float | None = None
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class IndexCost:
    """What an index holds and what it cost to open or build it."""

    passages: int
    build_seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class ScoredSystem:
    """All items of one system, in the order of the data; `settings` is the system's as JSON, where it ran here."""

    name: str
    items: tuple[ScoredItem, ...]
    settings_fingerprint: str = ""
    settings: str = ""
    index: IndexCost | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Systems measured by one protocol on one data set, with everything needed to say how the numbers came about.

    `settings` are the choices that the numbers depend on, in words; `versions` name software and models; `notes` are
    sentences for the reader; `published` are results that others reported for this data set, by system and measure, to
    be shown beside. `id` is empty until it is stored.
    """

    protocol: str
    dataset: str
    measures: tuple[str, ...]
    systems: tuple[ScoredSystem, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    made_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: str = ""


@dataclass(frozen=True, slots=True)
class EvaluationSummary:
    """A stored evaluation in a list: its systems by name only."""

    id: str
    protocol: str
    dataset: str
    systems: tuple[str, ...]
    made_at: datetime


class RunState(StrEnum):
    """How far a run is. One that nobody works on any more but that says RUNNING was interrupted."""

    RUNNING = "running"
    STOPPED = "stopped"
    FAILED = "failed"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class RunSystem:
    """What answers the questions of a run.

    `settings` are the system's as JSON. `evidence` says what it may read: "search" (it finds its passages), "given"
    (those that the data set gives), "none" (closed book), "recorded" (its answers stand in the file). `history` says
    whose answers stand in the conversation so far: "gold" or "predicted". `model_hash` is the SHA-256 of the model's
    file, "" where it is not known.
    """

    name: str
    settings: str = "{}"
    settings_fingerprint: str = ""
    evidence: str = "search"
    history: str = "gold"
    model: str = ""
    model_hash: str = ""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Everything that decides what a run predicts and how that is scored.

    `dataset` is the file's name, `data` its path when the run was begun, `data_hash` the SHA-256 of its bytes. `limit`
    0: all questions, else so many, drawn with `seed`. `profile` "seed": scored as the sources say. `options` are the
    protocol's own.
    """

    protocol: str
    dataset: str
    data: tuple[str, ...]
    data_hash: str
    systems: tuple[RunSystem, ...]
    limit: int = 0
    seed: int = 0
    profile: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CitedPlace:
    """What an answer cites. `id` is what citations are compared by: "file.pdf#page=7", or a passage of the data set."""

    id: str
    filename: str = ""
    page: int = 1
    verified: bool = False
    quote: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class ReadText:
    """A passage that a system read for an answer."""

    id: str
    text: str
    document_id: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a system made of a question. `error` says why nothing came of it; `hint` what to do about that.

    `asked` is the question that was searched for. `seconds` is None where a reply was remembered from an earlier run
    instead of written.
    """

    item_id: str
    answer: str = ""
    refused: bool = False
    citations: tuple[CitedPlace, ...] = ()
    evidence: tuple[ReadText, ...] = ()
    asked: str = ""
    confidence: float | None = None
    notes: tuple[str, ...] = ()
    seconds: float | None = None
    error: str = ""
    hint: str = ""

    @property
    def failed(self) -> bool:
        """Whether nothing came of it."""
        return bool(self.error)


@dataclass(frozen=True, slots=True)
class Run:
    """Systems that answer the questions of a data set. What they predicted is stored apart, item by item.

    `total` counts the answers that are wanted, questions times systems. `results` are the scores, as soon as there are
    any; `error` is why the run failed.
    """

    id: str
    name: str
    plan: RunPlan
    state: RunState
    total: int
    created_at: datetime
    changed_at: datetime
    versions: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    results: Evaluation | None = None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in a list; `done` counts its answers so far, `failed` those of which nothing came."""

    id: str
    name: str
    protocol: str
    dataset: str
    state: RunState
    total: int
    done: int
    failed: int
    created_at: datetime
    changed_at: datetime


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

    `note` is a sentence for the user on how it came about. `lexical` and `dense` are as in `Query`. `leans`: it leaves
    something unsaid that the turn before says, so that a reader needs that turn too.
    """

    question: str
    note: str = ""
    lexical: WeightedTexts = ()
    dense: WeightedTexts = ()
    leans: bool = False

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


# ------------------------------------------------------------------ verbs


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt; `role` is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn. Temperature 0 takes the most likely one, whatever else is set.

    `top_k` 0, `top_p` 1, `min_p` 0 and `repeat_penalty` 1 are off.
    """

    temperature: float = 0.0
    seed: int = 0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0


GREEDY = Sampling()


class StopSignal(Protocol):
    """What a `threading.Event` offers to those who must notice a stop."""

    def is_set(self) -> bool:
        """Whether the work should end now."""
        ...


class Extractor(Protocol):
    """PDF to pages."""

    def extract(self, path: Path, document_id: str, *, password: str | None = None) -> Iterator[Page]:
        """Yield the pages of the PDF in order. Raises a `DocumentError` with the state it ends in."""
        ...


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply took, in tokens as the engine counted them (0: not known); the last item of a stream.

    `finish_reason` is "stop" (the model ended its reply), "length" (the most tokens or the context were reached),
    "stopped" (the stop signal was set) or another word of the engine's. `evaluated_tokens` of the prompt's tokens were
    evaluated for this reply, the others were still in the context from the one before.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish_reason: str = "stop"
    evaluated_tokens: int = 0


Stream: TypeAlias = Generator[str | Progress | Usage, None, None]


class LLM(Protocol):
    """Messages to text, streamed and stoppable. `streaming.complete` returns the text of a stream alone."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def context_size(self) -> int:
        """How many tokens prompt and reply may have together."""
        ...

    @property
    def parallel(self) -> int:
        """How many requests are worth sending at the same time; where it is 1, others wait in a queue."""
        ...

    def prepare(self, stop: StopSignal | None = None) -> Generator[Progress, None, None]:
        """Get ready to answer (load the model, ask the server), unless that was done; StoppedError if `stop` is set."""
        ...

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, stop: StopSignal | None = None,
        schema: Mapping[str, Any] | None = None, sampling: Sampling = GREEDY,
    ) -> Stream:  # fmt: skip
        """Yield the reply's pieces and Progress, last one Usage; ends early when `stop` is set.

        A piece may hold several tokens, or none. `schema` is a JSON schema to obey.
        """
        ...

    def choose(
        self, messages: Sequence[Message], choices: Sequence[str], *, stop: StopSignal | None = None
    ) -> Mapping[str, float]:
        """Return the probability of each of `choices` as the reply, scaled so that they add up to 1.

        From the probabilities of tokens, never from generated text. Raises ModelError if the engine does not give them.
        """
        ...

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length in tokens of the prompt these messages make."""
        ...


History: TypeAlias = Sequence[tuple[str, str]]  # (question, answer) pairs, oldest first


class Reader(Protocol):
    """Question and hits to an answer with citations."""

    @property
    def llm(self) -> LLM | None:
        """The language model that it asks, None: it asks none."""
        ...

    def read(
        self, question: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
    ) -> Iterator[Event]:
        """Yield Progress and Token events, then one Done."""
        ...


class Rewriter(Protocol):
    """Follow-up question to standalone question."""

    def rewrite(self, question: str, history: History, *, stop: StopSignal | None = None) -> Rewritten:
        """Return what can be searched for without the history."""
        ...
