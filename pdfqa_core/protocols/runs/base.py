"""What a protocol of a run is: which questions it asks, what a system may read for them, how the answers are scored.

A protocol asks nothing by itself: services put its cases to systems and hand it the predictions.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import GoldItem, Prediction, ScoredItem, ScoredSystem
from pdfqa_core.interfaces import LLM, StopSignal
from pdfqa_core.metrics.bertscore import TokenEmbedder
from pdfqa_core.metrics.disambig_f1 import FindEntities, ReadAnswer
from pdfqa_core.metrics.entailment import Tagger
from pdfqa_core.metrics.insufficient_context import PHRASE
from pdfqa_core.metrics.replies import OnDone
from pdfqa_core.protocols.answer_files import Pair
from pdfqa_core.protocols.runs.profile import DEFAULT, Profile
from pdfqa_core.registry import Registry
from pdfqa_core.types import Passage

if TYPE_CHECKING:
    from pdfqa_core.protocols.runs.rows import Rows

SEARCH, GIVEN, NONE, RECORDED = "search", "given", "none", "recorded"
EVIDENCE = {
    SEARCH: "the system searches",
    GIVEN: "the passages that the data set gives",
    NONE: "nothing: closed book",
    RECORDED: "answers that stand in the file",
}
GOLD, PREDICTED = "gold", "predicted"
MOST_HITS = 10  # ranks that hits are counted to
Values = Mapping[str, float | None]
Own = TypeVar("Own")  # a protocol's own kind of case or prediction


@dataclass(frozen=True, slots=True)
class Case:
    """A question that systems are asked, with what is known about its answer.

    `history` are the (question, gold answer) pairs before it, `follow_ups` the ids of those questions where they are
    asked in the same run. `contexts` are the passages that the data set gives with it; `gold_citations` what a right
    answer cites, None where that is not known. `gold` is where the answer stands in the workspace. `generated`: a
    program made it of a passage.
    """

    id: str
    question: str
    references: tuple[str, ...] = ()
    answerable: bool = True
    kind: str = ""
    conversation: str = ""
    history: tuple[tuple[str, str], ...] = ()
    follow_ups: tuple[str, ...] = ()
    contexts: tuple[Passage, ...] = ()
    gold_citations: tuple[str, ...] | None = None
    gold: GoldItem | None = None
    recorded: str | None = None
    human: bool | None = None
    generated: bool = False

    @property
    def turn(self) -> int:
        """Its place in the conversation, from 1."""
        return len(self.history) + 1


@dataclass(frozen=True, slots=True)
class CaseFile:
    """The questions of a data set; `corpus` are the passages that it brings along. `notes` are for the reader."""

    name: str
    cases: tuple[Case, ...]
    corpus: tuple[Passage, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Tools:
    """What scoring needs and may not build itself; what is None is not measured.

    `settings` collects how the numbers came about, for the report; `notes` what a reader must know.
    """

    profile: Profile = DEFAULT
    embedder: TokenEmbedder | None = None
    llm: LLM | None = None
    judge: bool = False
    judge_prompt: str = "seed"
    calibrate: bool = False
    tagger: Tagger | None = None
    read: ReadAnswer | None = None
    find: FindEntities | None = None
    seed: int = 0
    stop: StopSignal | None = None
    on_done: OnDone | None = None
    settings: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class RunProtocol(Protocol):
    """One way to evaluate, in a file of its own."""

    @property
    def title(self) -> str:
        """Its name as people read it."""
        ...

    @property
    def words(self) -> str:
        """What it asks and measures, in one line."""
        ...

    @property
    def evidence(self) -> tuple[str, ...]:
        """What a system may read for an answer, of EVIDENCE; the first is the default."""
        ...

    @property
    def histories(self) -> tuple[str, ...]:
        """Whose answers may stand in the conversation so far; the first is the default."""
        ...

    @property
    def overrides(self) -> Mapping[str, Mapping[str, Any]]:
        """The settings that the protocol sets where a system leaves them at their default, by section."""
        ...

    @property
    def needs(self) -> frozenset[str]:
        """The models that it cannot score without: "llm", "embedder"."""
        ...

    @property
    def rows(self) -> Rows:
        """How its questions and predictions stand in files."""
        ...

    def read(self, path: Path) -> CaseFile:
        """Return the questions of a file. Raises UsageError that names file and row."""
        ...

    def check(self, file: CaseFile, options: Mapping[str, str]) -> None:
        """Raise UsageError that names the file and what is missing, where it has no gold for this protocol.

        `options` are those of the run.
        """
        ...

    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return the values of every case, in order; those without a prediction are unscored."""
        ...

    def measures(self, systems: Sequence[ScoredSystem], tools: Tools) -> tuple[str, ...]:
        """Return the measures of the report, in its order."""
        ...


run_protocols: Registry[RunProtocol] = Registry("protocol")


def drawn(file: CaseFile, limit: int, seed: int) -> CaseFile:
    """Return the file with at most `limit` questions (0: all), drawn with the seed, conversations together.

    Questions with and without an answer keep their shares. The order of the file is kept. Raises UsageError where
    there is no question.
    """
    if not file.cases:
        raise UsageError(f"{file.name} holds no questions for this protocol.", "Choose another file.")
    if not limit or limit >= len(file.cases):
        return file
    talks: dict[str, list[Case]] = {}
    for case in file.cases:
        talks.setdefault(case.conversation or case.id, []).append(case)
    names = list(talks)
    random.Random(seed).shuffle(names)  # noqa: S311 - a draw of questions
    chosen: set[str] = set()
    for name in _in_shares(names, lambda name: talks[name][0].answerable):
        if len(chosen) >= limit:
            break
        chosen.update(case.id for case in talks[name][: limit - len(chosen)])
    return replace(file, cases=tuple(case for case in file.cases if case.id in chosen))


def _in_shares(names: Sequence[str], kind: Callable[[str], bool]) -> list[str]:
    """Return names in an order in which every beginning has the kinds in the same shares, as far as it can."""
    kinds = [kind(name) for name in names]
    of_kind, found = Counter(kinds), dict.fromkeys(kinds, 0)
    places = []
    for one in kinds:
        places.append((found[one] + 0.5) / of_kind[one])
        found[one] += 1
    return [name for _, name in sorted(zip(places, names, strict=True), key=lambda pair: pair[0])]


# ------------------------------------------------------------------ what most protocols share


def need_answers(file: CaseFile, *, or_places: bool = False) -> None:
    """Raise UsageError where no question has a gold answer; `or_places`: what an answer cites is gold too."""
    if any(case.references or not case.answerable or (or_places and case.gold_citations) for case in file.cases):
        return
    places = " or a gold place" if or_places else ""
    raise UsageError(
        f"{file.name}: no question has a gold answer{places}, so nothing can be scored.",
        'Write {"question": …, "answer": …}, or name the column of gold answers (--column answer=NAME).',
    )


def widened(given: Any, kind: type[Own], **more: Any) -> Own:
    """Return a case or prediction as a protocol's own kind of it, with what that has besides."""
    return kind(**{one.name: getattr(given, one.name) for one in fields(given)}, **more)


def pair_of(case: Case, prediction: Prediction, *, cited: bool) -> Pair:
    """Return a prediction with its gold answer; citations count where `cited`.

    The gold answer of a question that cannot be answered is "insufficient context", unless the data set has another.
    What a person thought is of the recorded answer, so that it is not known of any other.
    """
    human = case.human if prediction.answer == case.recorded else None
    return Pair(
        case.id, prediction.answer, case.references or (() if case.answerable else (PHRASE,)),
        tuple(dict.fromkeys(place.id for place in prediction.citations)) if cited else None,
        (case.gold_citations or ()) if cited else None, case.question, case.answerable, human,
    )  # fmt: skip


def labelled(cases: Sequence[Case]) -> list[Pair]:
    """Return the recorded answers that people judged, with their gold answers."""
    known = [case for case in cases if case.human is not None and case.recorded is not None]
    return [pair_of(case, Prediction(case.id, case.recorded or ""), cited=False) for case in known]


def answered(cases: Sequence[Case], predictions: Mapping[str, Prediction]) -> list[tuple[Case, Prediction]]:
    """Return the cases that something came of, with that."""
    return [
        (case, predictions[case.id]) for case in cases if case.id in predictions and not predictions[case.id].failed
    ]


def with_hits(
    values: Mapping[str, Values], cases: Sequence[Case], predictions: Mapping[str, Prediction]
) -> dict[str, Values]:
    """Return the values of answers with HR@k: whether a gold place is among the first k passages found.

    A passage counts where it touches a gold page, or is of a gold text. k goes as far as most was found, to MOST_HITS
    at most. Nothing is added where no system searched, or no question has a gold place.
    """
    ranks: dict[str, int | None] = {}
    depth = 0
    for case, one in answered(cases, predictions):
        if one.found is None or not case.gold_citations:
            continue
        gold = set(case.gold_citations)
        ranks[case.id] = next((rank for rank, places in enumerate(one.found, start=1) if gold & set(places)), None)
        depth = max(depth, min(MOST_HITS, len(one.found)))
    found: dict[str, Values] = {}
    for key, own in values.items():
        hits: dict[str, float | None] = {f"HR@{k}": None for k in range(1, depth + 1)}
        if key in ranks:
            rank = ranks[key]
            hits = {f"HR@{k}": float(rank is not None and rank <= k) for k in range(1, depth + 1)}
        found[key] = {**own, **hits}
    return found


def texts_of(case: Case, prediction: Prediction | None) -> dict[str, str]:
    """Return what a reader of the report wants to see of a case."""
    known = prediction or Prediction(case.id)
    texts = {
        "question": case.question,
        "searched_for": known.asked if known.asked != case.question else "",
        "prediction": known.answer,
        "gold_answer": " | ".join(case.references),
        "cited": ", ".join(dict.fromkeys(place.id for place in known.citations)),
        "gold_citations": ", ".join(case.gold_citations or ()),
        "type": case.kind,
        "turn": str(case.turn) if case.conversation else "",
        "error": known.error,
    }
    return {name: text for name, text in texts.items() if text}


def scored_system(
    name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], values: Mapping[str, Values],
    texts: Callable[[Case, Prediction | None], dict[str, str]] = texts_of,
) -> ScoredSystem:  # fmt: skip
    """Return a system with the values of every case by id; what has none is unscored on every measure."""
    known = list(dict.fromkeys(measure for one in values.values() for measure in one))
    blank: Values = dict.fromkeys(known)
    items = []
    for case in cases:
        prediction = predictions.get(case.id)
        seconds = prediction.seconds if prediction is not None else None
        items.append(
            ScoredItem(
                case.id, {**blank, **values.get(case.id, {})}, texts(case, prediction), None, seconds,
                case.conversation if case.conversation != case.id or case.history else "",
            )
        )  # fmt: skip
    return ScoredSystem(name, tuple(items))


def seen(systems: Sequence[ScoredSystem], wanted: Sequence[str]) -> tuple[str, ...]:
    """Return those of the wanted measures that some system has a value for; all of them where none has any."""
    there = {name for one in systems for item in one.items for name, value in item.metrics.items() if value is not None}
    return tuple(name for name in wanted if name in there) or tuple(wanted[:1])
