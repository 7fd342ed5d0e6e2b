"""The values of automatic evaluation: gold items, rankings and their scores, runs and their predictions.

Standard library only; everything is frozen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from pdfqa_core.types import Answer, Outcome, Question, Span

OTHER_THAN_SOURCE = "(--profile seed)"  # ends a note that a number is computed in another way than in its source
IN_ANY_PROFILE = "(always)"  # ends one that no profile changes
# Settings of a result that ranks: which passages count as right, and whether hits that overlap were made one.
GOLD_MATCH, OVERLAPPING = "gold match", "hits that overlap"


@dataclass(frozen=True, slots=True)
class GoldItem:
    """A question with its accepted answers and where they stand, independent of any chunking.

    `conversation` is the id of the question that this one, directly or not, follows up; its own where it is the first.
    `gold_texts` are the texts that answer it, where its data set brings them along. `gold_passages` are the ids of the
    only passages that count, one for each gold span and then page; empty: all that cover them.
    """

    question: Question
    references: tuple[str, ...] = ()
    gold_spans: tuple[Span, ...] = ()
    gold_pages: tuple[tuple[str, int], ...] = ()
    history: tuple[tuple[str, str], ...] = ()
    answerable: bool = True
    conversation: str = ""
    gold_texts: tuple[str, ...] = ()
    gold_passages: tuple[str, ...] = ()


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
    """All items of one system, in the order of the data; `settings` is the system's as JSON, where it ran here.

    `repeat_of` names the system that this one repeats with another seed.
    """

    name: str
    items: tuple[ScoredItem, ...]
    settings_fingerprint: str = ""
    settings: str = ""
    index: IndexCost | None = None
    repeat_of: str = ""


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
    file, "" where it is not known. `repeat_of` names the system that this one repeats with another seed. `models` are
    those that it searches with: what each is for, and the hash of its files, "" where it is not known.
    """

    name: str
    settings: str = "{}"
    settings_fingerprint: str = ""
    evidence: str = "search"
    history: str = "gold"
    model: str = ""
    model_hash: str = ""
    repeat_of: str = ""
    models: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Everything that decides what a run predicts and how that is scored.

    `dataset` is the file's name, `data` its path when the run was begun, `data_hash` the SHA-256 of its bytes. `limit`
    0: all questions, else so many, drawn with `seed`. `profile` "seed": scored as the sources say. `options` are the
    protocol's own. `brought`: it came in a file, whose word does not count for what belongs to this machine.
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
    brought: bool = False


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
    """A passage that a system read for an answer. `spans` say where it stands; none in runs of earlier versions."""

    id: str
    text: str
    document_id: str = ""
    page: int = 1
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a system made of a question. `error` says why nothing came of it; `hint` what to do about that.

    `asked` is the question that was searched for. `found` are the places of each passage found for it, best first, as
    citations name them; None where nothing was searched. `refused` and `perhaps` are as in `Answer`, `quote` is its
    `nearest`. `seconds`, `first_word` (in seconds from the question on) and `rate` (tokens a second) are None where a
    reply was remembered from an earlier run instead of written.
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
    found: tuple[tuple[str, ...], ...] | None = None
    perhaps: bool = False
    quote: CitedPlace | None = None
    first_word: float | None = None
    rate: float | None = None

    @property
    def outcome(self) -> Outcome:
        """What came of the question."""
        return Answer("", refused=self.refused, perhaps=self.perhaps).outcome

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
    scored: bool = False
