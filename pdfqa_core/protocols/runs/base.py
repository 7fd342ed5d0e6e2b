"""What a protocol of a run is: which questions it asks, what a system may read for them, how the answers are scored.

A protocol asks nothing by itself: services put its cases to systems and hand it the predictions.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import CitedPlace, GoldItem, Prediction, ReadText, ScoredItem, ScoredSystem
from pdfqa_core.interfaces import LLM, StopSignal
from pdfqa_core.metrics.asqa import FindEntities, ReadAnswer
from pdfqa_core.metrics.bertscore import TokenEmbedder
from pdfqa_core.metrics.entailment import Tagger
from pdfqa_core.metrics.rag import PHRASE
from pdfqa_core.metrics.replies import OnDone
from pdfqa_core.protocols.answer_files import Pair
from pdfqa_core.protocols.gold.base import corpus_passage
from pdfqa_core.protocols.json_rows import JsonRow
from pdfqa_core.protocols.runs.profile import DEFAULT, Profile
from pdfqa_core.registry import Registry
from pdfqa_core.types import Outcome, Passage

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
        case.id,
        prediction.answer,
        case.references or (() if case.answerable else (PHRASE,)),
        tuple(dict.fromkeys(place.id for place in prediction.citations)) if cited else None,
        (case.gold_citations or ()) if cited else None,
        case.question,
        case.answerable,
        human,
    )


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
    name: str,
    cases: Sequence[Case],
    predictions: Mapping[str, Prediction],
    values: Mapping[str, Values],
    texts: Callable[[Case, Prediction | None], dict[str, str]] = texts_of,
) -> ScoredSystem:
    """Return a system with the values of every case by id; what has none is unscored on every measure."""
    known = list(dict.fromkeys(measure for one in values.values() for measure in one))
    blank: Values = dict.fromkeys(known)
    items = []
    for case in cases:
        prediction = predictions.get(case.id)
        seconds = prediction.seconds if prediction is not None else None
        items.append(
            ScoredItem(
                case.id,
                {**blank, **values.get(case.id, {})},
                texts(case, prediction),
                None,
                seconds,
                case.conversation if case.conversation != case.id or case.history else "",
            )
        )
    return ScoredSystem(name, tuple(items))


def seen(systems: Sequence[ScoredSystem], wanted: Sequence[str]) -> tuple[str, ...]:
    """Return those of the wanted measures that some system has a value for; all of them where none has any."""
    there = {name for one in systems for item in one.items for name, value in item.metrics.items() if value is not None}
    return tuple(name for name in wanted if name in there) or tuple(wanted[:1])


# ----------------------------------------------------------------------------------------------------
# How the questions of a run and what was predicted for them stand in files, so that they are scored again from
# these.
#
# Rows are {"id", "answer", "citations", …}, as `evaluate answers` reads them, with all that any score is computed
# from.

F = TypeVar("F", bound="Fields")


class Fields(BaseModel):
    """Fields of a row; numbers may stand for ids."""

    model_config = ConfigDict(coerce_numbers_to_str=True, frozen=True)

    id: str


class GoldFields(Fields):
    """A question with its gold. Empty `references` mean that no gold answer is known, whatever `answer` holds."""

    question: str = ""
    answer: str | tuple[str, ...] = ()
    references: tuple[str, ...] | None = None
    answerable: bool = True
    citations: tuple[str, ...] | None = None
    type: str = ""
    conversation: str = ""
    turn: int = 1
    contexts: tuple[str, ...] = ()
    recorded: str | None = None
    human: bool | None = None

    @property
    def answers(self) -> tuple[str, ...]:
        """All references."""
        if self.references is not None:
            return self.references
        return (self.answer,) if isinstance(self.answer, str) else self.answer


class QuoteFields(BaseModel):
    """Lines that a system quotes, with their place."""

    filename: str = ""
    page: int = 1
    quote: str = ""


class PredictedFields(Fields):
    """What a system predicted. Citations that no gold answer is compared with are `cited`."""

    answer: str = ""
    citations: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    refused: bool = False
    outcome: Outcome | None = None
    quote: QuoteFields | None = None
    searched_for: str = ""
    found: tuple[tuple[str, ...], ...] | None = None
    context: tuple[str, ...] = ()
    confidence: float | None = None
    notes: tuple[str, ...] = ()
    seconds: float | None = None
    error: str = ""
    hint: str = ""


class Rows:
    """The rows of a protocol. `contexts`: it is scored by the texts that the data set gives, which are written then."""

    def __init__(self, *, contexts: bool = False) -> None:
        self._contexts = contexts

    def gold(self, case: Case) -> dict[str, Any]:
        """Return the row of a question in the file of gold answers."""
        answers = list(case.references) or ([] if case.answerable else [PHRASE])
        row: dict[str, Any] = {
            "id": case.id,
            "question": case.question,
            "answer": answers[0] if len(answers) == 1 else answers,
            "answerable": case.answerable,
        }
        more = {
            "references": [] if answers and not case.references else None,
            "citations": None if case.gold_citations is None else list(case.gold_citations),
            "type": case.kind or None,
            "conversation": case.conversation or None,
            "turn": case.turn if case.conversation or case.history else None,
            "contexts": [one.text for one in case.contexts] if self._contexts else None,
            "recorded": case.recorded,
            "human": case.human,
        }
        return row | _known(more)

    def predicted(self, case: Case, prediction: Prediction, *, cited: bool) -> dict[str, Any]:
        """Return the row of a prediction; `cited`: citations are compared with those of a gold answer."""
        lines = prediction.quote
        row: dict[str, Any] = {
            "id": case.id,
            "answer": prediction.answer,
            "citations" if cited else "cited": list(dict.fromkeys(place.id for place in prediction.citations)),
            "refused": prediction.refused,
            "outcome": prediction.outcome.value,
            "searched_for": prediction.asked,
            "seconds": prediction.seconds,
        }
        more = {
            "quote": lines and {"filename": lines.filename, "page": lines.page, "quote": lines.quote},
            "found": None if prediction.found is None else [list(places) for places in prediction.found],
            "context": [one.text for one in prediction.evidence] or None,
            "confidence": prediction.confidence,
            "notes": list(prediction.notes) or None,
            "error": prediction.error or None,
            "hint": prediction.hint or None,
        }
        return row | _known(more)

    def case(self, row: JsonRow) -> Case:
        """Return the question of a row. Raises UsageError that names row and field.

        Of the turns before it only their number is known.
        """
        given = checked(row, GoldFields)
        contexts = (corpus_passage(f"{given.id}.{n}", "", text) for n, text in enumerate(given.contexts, start=1))
        return Case(
            given.id,
            given.question,
            given.answers,
            given.answerable,
            given.type,
            given.conversation,
            (("", ""),) * max(0, given.turn - 1),
            contexts=tuple(contexts),
            gold_citations=given.citations,
            recorded=given.recorded,
            human=given.human,
        )

    def prediction(self, row: JsonRow) -> Prediction:
        """Return the prediction of a row. Raises UsageError that names row and field."""
        given = checked(row, PredictedFields)
        lines = CitedPlace("", **given.quote.model_dump()) if given.quote else None
        refused = given.refused or given.outcome is Outcome.NOTHING
        return Prediction(
            given.id,
            given.answer,
            refused,
            tuple(CitedPlace(one) for one in given.citations or given.cited),
            tuple(ReadText("", text) for text in given.context),
            given.searched_for,
            given.confidence,
            given.notes,
            given.seconds,
            given.error,
            given.hint,
            given.found,
            given.outcome is Outcome.PERHAPS,
            lines,
        )


def checked(row: JsonRow, kind: type[F]) -> F:
    """Return the fields of a row. Raises UsageError that names row and field."""
    try:
        return kind.model_validate(row.values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{row.where}: {field}: {first['msg']}.", "Write it as `pdfqa evaluate run --out` does."
        ) from error


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
