"""What a protocol of a run is: which questions it asks, what a system may read for them, how the answers are scored.

A protocol asks nothing by itself: services put its cases to systems and hand it the predictions.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import (
    GOLD_MATCH,
    IN_ANY_PROFILE,
    OTHER_THAN_SOURCE,
    OVERLAPPING,
    CitedPlace,
    GoldItem,
    Prediction,
    ReadText,
    ScoredItem,
    ScoredSystem,
)
from pdfqa_core.interfaces import LLM, StopSignal
from pdfqa_core.languages import composed
from pdfqa_core.metrics.asqa import FindEntities, ReadAnswer
from pdfqa_core.metrics.bertscore import Baseline, TokenEmbedder
from pdfqa_core.metrics.entailment import Tagger
from pdfqa_core.metrics.rag import PHRASE
from pdfqa_core.metrics.replies import OnDone
from pdfqa_core.protocols.gold import GoldFile, GoldQuestion, read_gold
from pdfqa_core.protocols.gold.base import corpus_passage
from pdfqa_core.protocols.json_rows import JsonRow, check_ids, check_same_ids, load_rows, peek
from pdfqa_core.protocols.retrieval import EXACT, MATCHES, OVERLAP, PAGE, ResolvedGold, resolve
from pdfqa_core.registry import Registry
from pdfqa_core.retrieval import retrievers
from pdfqa_core.settings import Settings
from pdfqa_core.types import Document, Outcome, Page, Passage

# ----------------------------------------------------------------------------------------------------
# How the sources compute their measures, where the defaults here differ, and what a report says about that.

SEED = "seed"


@dataclass(frozen=True, slots=True)
class Profile:
    """The choices of a profile. The default ones are those of the field's own tools.

    `idf` and `inner_product` concern BERTScore; `rouge_l` takes ROUGE-L in the place of ROUGE-Lsum for ASQA;
    `entity_sets` counts an entity once; `empty_citations` scores citations where neither side has any; `zero_missing`
    counts insufficient context that applies to no item as 0; `unusable_as_zero` counts a segment without a usable reply
    as 0; `plain_sentences` splits sentences as NLTK does; `all_passages` ranks every passage for MRR; `gold_match`
    says which passages count as right there. `settings` are those of the systems, by section, unless somebody set
    another value.
    """

    name: str = ""
    idf: bool = False
    inner_product: bool = False
    rouge_l: bool = False
    entity_sets: bool = False
    empty_citations: bool = False
    zero_missing: bool = False
    unusable_as_zero: bool = False
    plain_sentences: bool = False
    all_passages: bool = False
    gold_match: str = OVERLAP
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def set_in(self, settings: Settings) -> Settings:
        """Return settings with the profile's where nobody set any, not even the default one."""
        for section, values in self.settings.items():
            here = getattr(settings, section).model_fields_set if section in settings.model_fields_set else ()
            changed = {name: value for name, value in values.items() if name not in here}
            settings = settings.changed(section, **changed) if changed else settings
        return settings

    def said(self, systems: Iterable[Settings] = ()) -> dict[str, str]:
        """Return its name as a setting of the results, with what these systems set otherwise."""
        name = "as in the sources" if self.name else "default"
        otherwise = ", ".join(self._otherwise(systems))
        return {"profile": f"{name}, but {otherwise}" if otherwise else name}

    def overruled(self, systems: Iterable[Settings]) -> tuple[str, ...]:
        """Return a sentence that names what these systems set otherwise; nothing where they follow the profile."""
        otherwise = ", ".join(self._otherwise(systems))
        return (f"Set by hand, other than in the sources' profile: {otherwise}.",) if otherwise else ()

    def _otherwise(self, systems: Iterable[Settings]) -> Iterable[str]:
        found = (
            f"{name.replace('_', ' ')} = {_shown(getattr(getattr(one, section), name))}"
            for one in systems
            for section, values in self.settings.items()
            for name, value in values.items()
            if getattr(getattr(one, section), name) != value
        )
        return dict.fromkeys(found)


def _shown(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


DEFAULT = Profile()
AS_IN_THE_SOURCES = Profile(
    SEED, idf=True, inner_product=True, rouge_l=True, entity_sets=True, empty_citations=True, zero_missing=True,
    unusable_as_zero=True, plain_sentences=True, all_passages=True, gold_match=EXACT,
    settings={
        "chunking": {"chunker": "paragraphs", "unmodified": True, "headings": False, "tables": "in-text"},
        "retrieval": {"clamp": False, "idf": "okapi", "spelling": False, "merge_overlaps": False},
    },
)  # fmt: skip
PROFILES: Mapping[str, Profile] = {"": DEFAULT, SEED: AS_IN_THE_SOURCES}

# What a report says beside a measure that is computed in another way than in its source, behind the choices of a
# profile that compute it so.
DEVIATIONS: Mapping[str, tuple[str, str]] = {
    "bertscore_f1": (
        "idf inner_product",
        """BERTScore: every token counts the same and vectors are compared by their cosine; the paper weighs tokens by
        idf and takes plain inner products.""",
    ),
    "rouge_l_sum": (
        "rouge_l",
        "ROUGE-Lsum and DR: sentences are matched one by one, as ASQA's authors do; rageval's page says ROUGE-L.",
    ),
    "disambig_f1": (
        "entity_sets",
        "Disambig-F1: entities count as often as they occur; the original compares sets.",
    ),
    "entailment_gold_answer": (
        "unusable_as_zero plain_sentences",
        """Entailment: a segment without a usable reply is left out, and sentences end at blank lines but not after
        common abbreviations; the original counts it as 0, and takes NLTK's sentences.""",
    ),
}
DEPTH_OF_MRR = (
    "MRR: a question whose answer is not among the passages that were looked at counts as 0; the paper ranks all "
    "passages."
)
ONE_PASSAGE = "HR@k and MRR: {}; the paper has exactly one right passage for each question."
# And what differs in how passages are made and found, by what a system is.
HYBRID = (
    "hybrid: a similarity of meaning below 0 counts as 0, and passages that share no word with the question come last; "
    "the paper multiplies the two scores as they are."
)
SNIPPETS = "snippets: n words make ⌈n / l⌉ of them, so that the last takes the rest; the paper writes |M| mod l + 1."
WINDOWS = (
    "windows: n words make 1 + ⌈(n - l) / s⌉ of them, so that the last ends with the text; the paper writes "
    "(|M| - l) / s."
)
TABLES = "Tables are passages of their own; in the paper they stand in the text M that is cut."
PARAGRAPHS = (
    "paragraphs: short ones are joined, long ones cut, and those that a new page breaks are mended; the paper takes "
    "them as they are."
)
IDF = (
    "BM25: words weigh by Lucene's idf, which is above 0 for all; in the paper's rank-bm25 a word of half the passages "
    "counts nothing."
)
STOP_WORDS = (
    "BM25: stop words of a question are left out; the paper says nothing of them, and rank-bm25 counts every word."
)
HEADINGS = "Passages are searched together with their title and heading; the paper searches their text alone."
SPELLING = (
    "Misspelt words of a question are searched for in the spelling of the documents too; the paper searches the "
    "question as it is."
)
MERGED = "Hits that overlap are merged into one; the paper ranks every passage by itself."
# Which setting of the profile each of them is about, and where that setting has an effect.
SEARCH_DEVIATIONS: Mapping[tuple[str, str], tuple[str, Callable[[Settings], bool]]] = {
    ("retrieval", "clamp"): (HYBRID, lambda one: "hybrid" in _finders(one)),
    ("retrieval", "idf"): (IDF, lambda one: _takes(one, "idf")),
    ("retrieval", "spelling"): (SPELLING, lambda one: not one.reading.plain),
    ("retrieval", "merge_overlaps"): (MERGED, lambda one: True),
    ("chunking", "unmodified"): (PARAGRAPHS, lambda one: one.chunking.chunker == "paragraphs"),
    ("chunking", "headings"): (HEADINGS, lambda one: True),
    ("chunking", "tables"): (TABLES, lambda one: True),
}
# And what no setting changes, with the chunkers that it is about.
ALWAYS_OTHERWISE: Sequence[tuple[str, Callable[[Settings], bool]]] = (
    (STOP_WORDS, lambda one: one.retrieval.stop_words and _takes(one, "stop_words")),
    (SNIPPETS, lambda one: one.chunking.chunker == "snippets" and one.chunking.min_length is None),
    (WINDOWS, lambda one: one.chunking.chunker == "windows"),
)
# And where a measure of answers is not there, because it is not scored.
NOT_SCORED: Mapping[str, tuple[str, str]] = {
    "citation_f1": (
        "empty_citations",
        """Citations: no gold answer names a place, so they are not scored; the paper scores 1 where neither side cites
        anything.""",
    ),
    "insufficient_context_detection": (
        "zero_missing",
        "Insufficient context: it is no question's gold answer, so it is not scored; the paper's table says 0.",
    ),
}


def profile_named(name: str) -> Profile:
    """Return the profile of a name, "" for the default. Raises UsageError for an unknown one."""
    if name not in PROFILES:
        raise UsageError(f"There is no profile called {name!r}.", f"Choose: {SEED}, or leave it out.")
    return PROFILES[name]


def deviations(measures: Collection[str], profile: Profile) -> tuple[str, ...]:
    """Return a sentence for each of these measures that is computed in another way than in its source."""
    told = [
        " ".join(text.split())
        for name, (choices, text) in DEVIATIONS.items()
        if name in measures and not all(getattr(profile, one) for one in choices.split())
    ]
    if "answer_em" in measures and "answer_precision" not in measures:  # not of HotpotQA's own
        missing = ((choice, text) for name, (choice, text) in NOT_SCORED.items() if name not in measures)
        told += [" ".join(text.split()) for choice, text in missing if not getattr(profile, choice)]
    return tuple(f"{text} {OTHER_THAN_SOURCE}" for text in told)


def ranking_deviations(match: str, *, all_passages: bool) -> tuple[str, ...]:
    """Return a sentence for each way in which ranks are scored in another way than in the sources."""
    told = [] if all_passages else [DEPTH_OF_MRR]
    told += [] if match == EXACT else [ONE_PASSAGE.format(MATCHES[match])]
    return tuple(f"{text} {OTHER_THAN_SOURCE}" for text in told)


def hits_of_answers(
    measures: Collection[str], systems: Mapping[str, Settings]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return as settings and sentences how HR@k of answers counts (see `with_hits`); nothing where it is not measured.

    `systems` are those that searched here, by name.
    """
    if not any(name.startswith("HR@") for name in measures):
        return {}, ()
    return matching_said(PAGE, systems), (f"{ONE_PASSAGE.format(MATCHES[PAGE])} {IN_ANY_PROFILE}",)


def matching_said(match: str, systems: Mapping[str, Settings]) -> dict[str, str]:
    """Return as settings of the results which passages count as right, and in which systems hits are merged."""
    if not systems:
        return {GOLD_MATCH: f"{match}: {MATCHES[match]}"}
    merged = [name for name, one in systems.items() if one.retrieval.merge_overlaps]
    where = f" in {', '.join(merged)}" if len(merged) < len(systems) else ""
    return {
        GOLD_MATCH: f"{match}: {MATCHES[match]}",
        OVERLAPPING: f"merged into one{where}" if merged else "not merged",
    }


def search_deviations(systems: Iterable[Settings]) -> tuple[str, ...]:
    """Return a sentence for each way in which these systems make or find passages in another way than the sources."""
    told: list[str] = []
    for one in systems:
        for (section, name), (text, concerns) in SEARCH_DEVIATIONS.items():
            if concerns(one) and getattr(getattr(one, section), name) != AS_IN_THE_SOURCES.settings[section][name]:
                told.append(f"{text} {OTHER_THAN_SOURCE}")
        told += [f"{text} {IN_ANY_PROFILE}" for text, concerns in ALWAYS_OTHERWISE if concerns(one)]
    return tuple(dict.fromkeys(told))


def over_texts(settings: Settings) -> Settings:
    """Return the settings of a system that searches the texts of a data set: they are its passages, as they are."""
    return settings.changed("chunking", **AS_IN_THE_SOURCES.settings["chunking"])


def _takes(settings: Settings, parameter: str) -> bool:
    """Return whether a parameter has an effect on what is found."""
    return any(parameter in retrievers.parameters(name) for name in _finders(settings))


def _finders(settings: Settings) -> tuple[str, ...]:
    """Return the retriever, and the one whose candidates it orders."""
    chosen = settings.retrieval
    parameters = retrievers.parameters(chosen.retriever)
    stages = (chosen.first_stage,) if "first" in parameters and chosen.first_stage in retrievers.names() else ()
    return (chosen.retriever, *stages)


# ----------------------------------------------------------------------------------------------------
# What is asked, and what a protocol is.

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


@dataclass(frozen=True, slots=True)
class Options:
    """Variants of the measures of text, by the names of their parameters."""

    beta: float = 1.0
    stemming: bool = False
    brevity_penalty: bool = False


@dataclass(slots=True)
class Tools:
    """What scoring needs and may not build itself; what is None is not measured.

    `published`: files in the form of the data set are scored as its authors do, whatever else a run is scored by.
    `measures` are those of text and citations that are wanted (none: all), `options` their variants; `refusals` is
    "phrases" or "llm": what finds refusals, where they are scored. `entities`: those of ASQA's answers are
    compared. `settings` collects how the numbers came about, for the report; `notes` what a reader must know.
    """

    profile: Profile = DEFAULT
    published: bool = False
    measures: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)
    refusals: str = ""
    baseline: Baseline | None = None
    embedder: TokenEmbedder | None = None
    llm: LLM | None = None
    judge: bool = False
    judge_prompt: str = "seed"
    calibrate: bool = False
    tagger: Tagger | None = None
    read: ReadAnswer | None = None
    find: FindEntities | None = None
    entities: bool = True
    seed: int = 0
    stop: StopSignal | None = None
    on_done: OnDone | None = None
    settings: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


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


def need_gold(gold: Path | None, what: str) -> Path:
    """Return the file of gold answers. Raises UsageError where there is none; `what` is to be named."""
    if gold is None:
        raise UsageError("There are no gold answers.", f"Name {what} with --gold.")
    return gold


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


@dataclass(frozen=True, slots=True)
class Pair:
    """A prediction with its gold answer. Citations are None where they are not compared.

    `answerable` is False where the file says so or the gold answer is "insufficient context"; `human` is what a person
    thought of the prediction, None if nobody judged it.
    """

    id: str
    prediction: str
    references: tuple[str, ...]
    cited: tuple[str, ...] | None = None
    gold_citations: tuple[str, ...] | None = None
    question: str = ""
    answerable: bool = True
    human: bool | None = None


@dataclass(frozen=True, slots=True)
class FilePrediction(Prediction):
    """A row of a file of answers: what a person thought of it, and whether it says what it cites."""

    human: bool | None = None
    cites: bool = False


def pair_of(case: Case, prediction: Prediction, *, cited: bool) -> Pair:
    """Return a prediction with its gold answer; citations count where `cited`, and where the gold ones are known.

    The gold answer of a question that cannot be answered is "insufficient context", unless the data set has another.
    What a person thought is of the recorded answer, so that it is not known of any other but a file's own.
    """
    human, stated = case.human if prediction.answer == case.recorded else None, case.answerable
    gold = case.gold_citations
    if isinstance(prediction, FilePrediction):
        human, stated, gold = prediction.human, True, gold or ()
    elif not prediction.citations:
        gold = gold or ()
    return Pair(
        case.id,
        prediction.answer,
        case.references or (() if stated else (PHRASE,)),
        tuple(dict.fromkeys(place.id for place in prediction.citations)) if cited else None,
        gold if cited else None,
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
    measures: Iterable[str] = (),
) -> ScoredSystem:
    """Return a system with the values of every case by id; what has none is unscored on every measure.

    `measures` are those that there are in any case.
    """
    blank: Values = dict.fromkeys((*measures, *(measure for one in values.values() for measure in one)))
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
    there = with_values(systems)
    return tuple(name for name in wanted if name in there) or tuple(wanted[:1])


def with_values(systems: Sequence[ScoredSystem]) -> set[str]:
    """Return the measures that some item of some system has a value for."""
    return {name for one in systems for item in one.items for name, value in item.metrics.items() if value is not None}


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


# ----------------------------------------------------------------------------------------------------
# Files of questions as cases, and their gold places in the workspace.


def cases_of(file: GoldFile) -> CaseFile:
    """Return the questions of a data set as cases, in its order; a follow-up has the turns before it as its history."""
    known = {question.id: question for question in file.questions}
    followed = {question.follow_up_of for question in file.questions}
    return CaseFile(file.name, tuple(_case(question, known, followed) for question in file.questions), file.corpus)


def _case(question: GoldQuestion, known: Mapping[str, GoldQuestion], followed: Collection[str]) -> Case:
    chain: list[GoldQuestion] = []
    before = question.follow_up_of
    while before in known and all(one.id != before for one in chain) and before != question.id:
        chain.insert(0, known[before])
        before = known[before].follow_up_of
    history = (*question.history, *((one.question, one.references[0] if one.references else "") for one in chain))
    first = chain[0].id if chain else question.conversation or (question.id if question.id in followed else "")
    return Case(
        question.id,
        question.question,
        question.references,
        question.answerable,
        question.kind,
        first,
        history,
        tuple(one.id for one in chain),
        question.contexts,
        _citations(question),
        None,
        question.recorded,
        question.human,
        question.generated,
    )


def _citations(question: GoldQuestion) -> tuple[str, ...] | None:
    """Return what a right answer cites: pages as "file.pdf#page=7", or passages of the data set by their id."""
    if not question.places:
        return None
    return tuple(dict.fromkeys(cited_id(place.document, place.page) for place in question.places))


def cited_id(document: str, page: int | None) -> str:
    """Return what a citation of a page of a file, or of a passage of a data set, is compared by."""
    if page is None:
        return document
    name = composed(document).strip()
    return f"{name if name.lower().endswith('.pdf') or not name else f'{name}.pdf'}#page={page}"


def with_gold(
    file: CaseFile,
    path: Path,
    documents: Sequence[Document],
    page: Callable[[str, int], Page | None],
    filenames: Mapping[str, str],
) -> CaseFile:
    """Return the cases with their gold places found in the workspace, and notes on what was not found there.

    What is not found there is not scored by place. Where the file brings its own texts, or names no places, nothing
    changes. `filenames` are the documents' by id.
    """
    if file.corpus or all(case.gold_citations is None for case in file.cases):
        return file
    try:
        found = resolve(read_gold(path), documents, page)
    except UsageError as error:  # none of the places is there
        found = ResolvedGold((), (error.what,))
    by_id = {item.question.id: item for item in found.items if item.gold_spans or item.gold_pages}
    cases = tuple(_resolved(case, by_id.get(case.id), filenames) for case in file.cases)
    return replace(file, cases=cases, notes=(*file.notes, *found.notes))


def _resolved(case: Case, gold: GoldItem | None, filenames: Mapping[str, str]) -> Case:
    """Return a case whose gold citations name files as the workspace does."""
    if gold is None:
        return replace(case, gold_citations=None) if case.gold_citations else case
    pages = [*((span.document_id, span.page) for span in gold.gold_spans), *gold.gold_pages]
    cited = tuple(dict.fromkeys(cited_id(filenames.get(document, document), number) for document, number in pages))
    return replace(case, gold=gold, gold_citations=cited)


# ----------------------------------------------------------------------------------------------------
# A protocol, in a file of its own: how its questions are read, what systems may read for them, how answers are scored.


@dataclass(frozen=True, slots=True)
class Written:
    """The questions of files of answers, and what was predicted for them by system and item.

    `settings` say for the report how they were read.
    """

    file: CaseFile
    predictions: Mapping[tuple[str, str], Prediction]
    settings: Mapping[str, str] = field(default_factory=dict)


class RunProtocol(ABC):
    """One way to evaluate. What a protocol does not say of itself is what suits most of them.

    `words` is what it asks and measures, in one line; `evidence` what a system may read for an answer, of EVIDENCE, and
    `histories` whose answers may stand in the conversation so far, the defaults first. `overrides` are the settings
    that it sets where a system leaves them at their default, by section, `closed_book` those of systems that read
    nothing in the sources' profile; `needs` the models that it cannot score
    without ("llm", "embedder"); `rows` how its questions and predictions stand in files; `shown` the measures of its
    report, in their order.
    """

    title: ClassVar[str]
    words: ClassVar[str]
    evidence: ClassVar[tuple[str, ...]] = (SEARCH, GIVEN, NONE)
    histories: ClassVar[tuple[str, ...]] = (GOLD,)
    overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    closed_book: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    needs: ClassVar[frozenset[str]] = frozenset()
    rows: ClassVar[Rows] = Rows()
    shown: ClassVar[tuple[str, ...]] = ()

    def read(self, path: Path) -> CaseFile:
        """Return the questions of a file in any form that is known. Raises UsageError that names file and row."""
        return cases_of(read_gold(path))

    def check(self, file: CaseFile, options: Mapping[str, str]) -> None:
        """Raise UsageError that names the file and what is missing, where it has no gold for this protocol.

        `options` are those of the run.
        """
        need_answers(file)

    @abstractmethod
    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return the values of every case, in order; those without a prediction are unscored."""

    def measures(self, systems: Sequence[ScoredSystem], tools: Tools) -> tuple[str, ...]:
        """Return the measures of the report that have a value, in its order."""
        return seen(systems, self.shown)

    def written(self, gold: Path, data: Mapping[str, Path]) -> Written:
        """Return a run from the files that were written of it: gold answers, and the predictions of each system.

        Raises UsageError that names file, row and field, and where two files do not hold the same questions.
        """
        cases = tuple(map(self.rows.case, _rows(gold)))
        wanted = dict.fromkeys(case.id for case in cases)
        predictions: dict[tuple[str, str], Prediction] = {}
        for name, path in data.items():
            found = {one.item_id: one for one in map(self.rows.prediction, _rows(path))}
            check_same_ids(found, wanted, without=("no prediction", "no gold answer"), name=path.name)
            predictions |= {(name, item): one for item, one in found.items()}
        return Written(CaseFile(gold.name, cases), predictions)

    def published(self, gold: Path | None, data: Mapping[str, Path], options: Mapping[str, str]) -> Written:
        """Return what stands in files of the form that the data set is published in, by system. Raises UsageError.

        Without `gold` the rows of each system bring theirs, where the form knows that.
        """
        raise UsageError(f"{self.title} has no files of its own form.", "Score what “evaluate run --out” wrote.")


run_protocols: Registry[RunProtocol] = Registry("protocol")


def _rows(path: Path) -> list[JsonRow]:
    rows = load_rows(path, "rows", 'Write a list of {"id": …, "answer": …}.')
    check_ids(((row.number, str(row.values["id"])) for row in rows if row.values.get("id") is not None), path.name)
    return rows


def said_by(gold: Path) -> tuple[str, str]:
    """Return the protocol and the profile that a file of gold answers says it was written of; "" where it says none."""
    first = peek(gold)
    protocol = str(first.get("protocol") or "")
    return (protocol, str(first.get("profile") or "")) if protocol in run_protocols.names() else ("", "")
