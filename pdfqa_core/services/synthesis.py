"""Questions made of an owner's passages: drawn, asked for, looked over by guards, kept for a person to decide about."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from math import inf

import numpy as np
import numpy.typing as npt

from pdfqa_core.cluster import Cluster
from pdfqa_core.conversation import Concatenation
from pdfqa_core.errors import ModelError, PdfQAError, StoppedError, UsageError
from pdfqa_core.exports.evaluation_files import write_beir, write_questions
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.llm.catalogue import parameters_of
from pdfqa_core.models import LanguageModel, ModelFiles, Models
from pdfqa_core.models.language import api_key
from pdfqa_core.retrieval import SearchIndex
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.settings import LLMSettings, Settings
from pdfqa_core.storage.document_copies import NOWHERE
from pdfqa_core.storage.records import Outcome, SyntheticQuestion
from pdfqa_core.storage.synthetic_questions import SyntheticQuestions
from pdfqa_core.streaming import TimeLeft
from pdfqa_core.synthesis import (
    CONVERSATIONS,
    FEW_SHOT,
    FOLLOW_UPS,
    KINDS,
    RULES,
    Asked,
    Draft,
    Example,
    Reason,
    answer_objection,
    by_rules,
    filled_up,
    follow_up_objection,
    nearly_there,
    neighbours,
    objection,
    origin,
    sample_passages,
    weakness,
)
from pdfqa_core.synthesis import Generator as Asker
from pdfqa_core.text import terms
from pdfqa_core.types import Passage, Progress, Query

# ----------------------------------------------------------------------------------------------------
# Questions about passages as they are written: here, or by the workers of a cluster; nothing is stored there.

BY_RULES = 32  # passages of a task; a language model writes about one

Subject = tuple[Passage, str]  # a passage with the title of its document


@dataclass(frozen=True, eq=False)
class Writing:
    """How questions are written, wherever that happens: by the model of a server (`llm`, its `key`), or by rules."""

    per_passage: int
    seed: int
    examples: tuple[Example, ...] = ()
    keep_all: bool = False
    llm: LLMSettings | None = None
    key: str = field(default="", repr=False)


def of_rules(passage: Passage, title: str, count: int) -> list[Draft]:
    """Return at most `count` questions about a passage that rules make."""
    made = list(dict.fromkeys(by_rules(passage, title)))
    step = max(1, len(made) // count)  # spread over the passage: of a table not the first row alone
    return made[::step][:count]


_askers: list[tuple[Writing, Asker]] = []  # on a worker: the one of the last task


def write(writing: Writing, subjects: Sequence[Subject]) -> list[list[Draft]]:
    """Return the questions about each passage, on a worker. Raises ModelError."""
    if writing.llm is None:
        return [of_rules(passage, title, writing.per_passage) for passage, title in subjects]
    if not _askers or _askers[0][0] is not writing:
        model = LanguageModel(writing.llm, ModelFiles(NOWHERE, NOWHERE), key=lambda url: writing.key)
        _askers[:] = [(writing, Asker(model.llm(), writing.examples, writing.keep_all))]
    asker = _askers[0][1]
    return [list(asker.drafts(passage, writing.per_passage, writing.seed)) for passage, _ in subjects]


def written_elsewhere(
    cluster: Cluster, writing: Writing, subjects: Sequence[Subject], stop: StopSignal
) -> Generator[list[Draft], None, None]:
    """Yield the questions about each passage, in order, though workers end in another one.

    Raises StoppedError, ModelError, ClusterError.
    """
    size = BY_RULES if writing.llm is None else 1
    parts = [subjects[first : first + size] for first in range(0, len(subjects), size)]
    early: dict[int, list[list[Draft]]] = {}
    following = 0
    with closing(cluster.map(write, parts, stop, writing)) as results:
        for place, questions in results:
            early[place] = questions
            while following in early:
                yield from early.pop(following)
                following += 1


# ----------------------------------------------------------------------------------------------------
# Questions made of an owner's passages: drawn, asked for, looked over by guards, kept for a person to decide about.

MOST_A_PASSAGE = 10
MOST_EXAMPLES = 8  # more do not fit beside a passage in a small model's context
USUAL_EXAMPLES = 3
FEWEST_TURNS, MOST_TURNS = 3, 8  # of a conversation


@dataclass(frozen=True, slots=True)
class SynthesisPlan:
    """What is made of what: passages drawn with `seed` from each document (0: all), and questions from each passage.

    `kind` is one of KINDS; few-shot needs `examples`. With each passage drawn a conversation of at most `turns` begins
    where it is these that are made. `keep_all`: no guard, no check of the answer and no search drops any. No
    `document_ids`: all of the owner's documents.
    """

    kind: str = KINDS[0]
    per_document: int = 20
    per_passage: int = 1
    seed: int = 0
    examples: tuple[Example, ...] = ()
    document_ids: tuple[str, ...] = ()
    turns: int = 4
    keep_all: bool = False

    def check(self) -> None:
        """Raise UsageError where it cannot be carried out."""
        if self.kind not in KINDS:
            raise UsageError(
                f"There is no kind of question called {self.kind!r}.", f"Choose one of: {', '.join(KINDS)}."
            )
        if self.kind == FEW_SHOT and not 1 <= len(self.examples) <= MOST_EXAMPLES:
            raise UsageError(
                f"Few-shot prompts need 1 to {MOST_EXAMPLES} examples, there are {len(self.examples)}.",
                f"Give k from 1 to {MOST_EXAMPLES}, or choose zero-shot.",
            )
        if self.per_document < 0 or not 1 <= self.per_passage <= MOST_A_PASSAGE:
            raise UsageError(
                f"{self.per_passage} questions of each of {self.per_document} passages cannot be made.",
                f"Give 1 to {MOST_A_PASSAGE} questions a passage, and 0 passages or more.",
            )
        if not FEWEST_TURNS <= self.turns <= MOST_TURNS:
            raise UsageError(
                f"A conversation of {self.turns} turns cannot be made.", f"Give {FEWEST_TURNS} to {MOST_TURNS} turns."
            )


@dataclass(frozen=True, slots=True)
class Made:
    """What came of a passage, stored already."""

    questions: tuple[SyntheticQuestion, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """Why another kind of question may be better than the one that is being made; said once in a run."""

    words: str


@dataclass(frozen=True, slots=True)
class SynthesisResult:
    """How many passages were drawn, had been done before, and questions by outcome and reason of a run."""

    passages: int
    done_before: int
    outcomes: Mapping[str, int]
    reasons: Mapping[str, int]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Known:
    """The questions that are there, for finding near-duplicates."""

    words: set[tuple[str, ...]] = field(default_factory=set)
    vectors: npt.NDArray[np.float32] | None = None


class SynthesisService:
    """Synthetic questions of each owner."""

    def __init__(
        self, kept: SyntheticQuestions, documents: DocumentService, indexes: IndexService, models: Models, tasks: Tasks
    ) -> None:
        self.kept = kept
        self._documents = documents
        self._indexes = indexes
        self._models = models
        self._tasks = tasks

    # ------------------------------------------------------------ what is there

    def drawn(self, owner: str, plan: SynthesisPlan, settings: Settings) -> tuple[int, int]:
        """Return of how many passages questions would be made, and of how many of them they have been. UsageError."""
        plan.check()
        model = "" if plan.kind == RULES else self._models.language.llm().name
        before = self.kept.passages(owner, plan.kind, model, plan.seed)
        passages = self._indexes.passages(owner, settings, plan.document_ids)
        found = sample_passages(passages, plan.per_document, plan.seed)
        return len(found), sum(one.id in before for one in found)

    def questions_file(self, owner: str, outcomes: Sequence[Outcome]) -> tuple[bytes, int]:
        """Return the questions with these outcomes as JSON lines that an evaluation reads, and how many there are.

        Raises PdfQAError if there is none.
        """
        chosen = self._chosen(owner, outcomes)
        return write_questions(chosen, self._documents.filenames(owner)), len(chosen)

    def beir_files(self, owner: str, outcomes: Sequence[Outcome], settings: Settings) -> tuple[dict[str, bytes], int]:
        """Return the questions with these outcomes and all passages of `settings` as the files of a BEIR folder.

        Turns that follow up another one are left out: BEIR has no conversations. Raises PdfQAError if there is no such
        question.
        """
        chosen = self._chosen(owner, outcomes, alone=True)
        return write_beir(chosen, self._indexes.passages(owner, settings)), len(chosen)

    def examples(self, owner: str, k: int = USUAL_EXAMPLES) -> tuple[Example, ...]:
        """Return k examples for few-shot prompts: questions accepted first, filled up with those of the program."""
        accepted = [one for one in self.kept.list(owner, [Outcome.ACCEPTED]) if not one.follows]
        return filled_up([Example(one.text, one.passage) for one in accepted], max(0, k))

    def advice(self, owner: str, kind: str) -> str:
        """Return why the language model seems too weak for questions of this kind; "" where nothing says so."""
        if kind == RULES:
            return ""
        try:
            model = self._models.language.llm().name
        except ModelError:
            return "There is no language model to ask. Rules need none: make questions by rules instead."
        return self._weakness(model, self._asked(owner, kind, model))

    def _weakness(self, model: str, asked: Asked) -> str:
        used = self._models.language.settings
        return weakness(model, parameters_of(used.model) if used.engine != "openai" else None, asked)

    def _asked(self, owner: str, kind: str, model: str) -> Asked:
        """Return what came of the questions that a model wrote."""
        return _asked([one for one in self.kept.list(owner) if (one.kind, one.model) == (kind, model)])

    def _chosen(self, owner: str, outcomes: Sequence[Outcome], *, alone: bool = False) -> tuple[SyntheticQuestion, ...]:
        """Return the questions with these outcomes; `alone`: those that can be asked alone."""
        chosen = self.kept.list(owner, outcomes)
        chosen = tuple(one for one in chosen if not one.follows or (one.conversation and not alone))
        if not chosen:
            wanted = " or ".join(one.value for one in outcomes)
            raise PdfQAError(f"There are no questions that are {wanted}.", "Make some, and accept those that are good.")
        return chosen

    # ------------------------------------------------------------ making

    def make(
        self, owner: str, plan: SynthesisPlan, settings: Settings, *, task: str = ""
    ) -> Iterator[Progress | Made | Advice | SynthesisResult]:
        """Make questions, passage by passage, each stored before it is yielded; the result comes last.

        Where the language model seems too weak, by its size or by what came of its questions, advice is yielded once.

        Passages of which questions were made in the same way (kind, model, seed) are left out, so that a run that was
        stopped goes on. A question is dropped where a guard objects, where its answer does not stand in the passage,
        where the search of `settings` does not find the passage among its first k hits, or where it is nearly the same
        as another; it is kept with the reason. A follow-up is also dropped where the turns before do not help that
        search. A conversation of less than FEWEST_TURNS such questions is dropped.
        Raises UsageError, ModelError where there is no language model, and StoppedError when the task is stopped.
        """
        plan.check()
        with self._tasks.start(task) as stop:
            yield from self._make(owner, plan, settings, stop)

    def _to_keep(self, owner: str, plan: SynthesisPlan, model: str) -> dict[str, list[SyntheticQuestion]]:
        """Return what was made in this way before, by passage, of those passages of which a guard dropped something."""
        found: dict[str, list[SyntheticQuestion]] = {}
        for one in self.kept.list(owner):
            if (one.kind, one.model, one.seed) == (plan.kind, model, plan.seed):
                found.setdefault(one.passage_id, []).append(one)
        return {passage: made for passage, made in found.items() if any(map(_dropped, made))}

    def _instead(
        self, owner: str, before: Sequence[SyntheticQuestion], made: list[SyntheticQuestion]
    ) -> list[SyntheticQuestion]:
        """Forget what guards dropped of a passage before; return what was made of it now and is not there yet.

        A conversation stays whole.
        """
        if not before:
            return made
        left = {one.made for one in before if not _dropped(one)}
        self.kept.remove(owner, [Outcome.DROPPED], [one.id for one in before if _dropped(one)])
        return [one for one in made if one.conversation or one.made not in left]

    def _make(
        self, owner: str, plan: SynthesisPlan, settings: Settings, stop: StopSignal
    ) -> Iterator[Progress | Made | Advice | SynthesisResult]:
        passages = self._indexes.passages(owner, settings, plan.document_ids)
        drawn = sample_passages(passages, plan.per_document, plan.seed)
        if not drawn:
            raise PdfQAError("There are no passages to make questions of.", "Add a document with text first.")
        index = yield from self._indexes.opened(owner, settings, stop)
        asker = None if plan.kind == RULES else Asker(self._models.language.llm(), _shown(plan), plan.keep_all)
        if asker is not None:
            yield from asker.llm.prepare(stop)
        model = "" if asker is None else asker.llm.name
        before = self.kept.passages(owner, plan.kind, model, plan.seed)
        again = self._to_keep(owner, plan, model) if plan.keep_all else {}
        waiting = [one for one in drawn if one.id not in before or one.id in again]
        known, note = self._known(owner, plan, settings)
        titles = {document.id: document.title or document.filename for document in self._documents.kept.list(owner)}
        outcomes: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        notes = [note, f"Shown as examples: {origin(plan.examples)}." if plan.kind == FEW_SHOT else ""]
        asked, advice = self._asked(owner, plan.kind, model), ""
        pace = TimeLeft([1])
        pace.begin()
        subjects = [(passage, titles.get(passage.document_id, "")) for passage in waiting]
        check = _Check(
            plan, model, partial(self._not_found, index, settings), partial(self._known_already, settings, known)
        )
        with closing(self._written(subjects, plan, asker, stop)) as all_written:
            for done, passage in enumerate(waiting):
                if model and not advice and (advice := self._weakness(model, asked)):
                    yield Advice(advice)
                pace.step(0, done, len(waiting))
                yield Progress("making questions", done, len(waiting), pace.seconds())
                try:
                    if plan.kind == CONVERSATIONS:
                        assert asker is not None
                        made = _talk(asker, neighbours(passages, passage, (plan.turns + 1) // 2), check, stop)
                    else:
                        written = next(all_written)
                        made = [check.judged(one, passage) for one in written]
                    if stop.is_set():
                        raise StoppedError
                except StoppedError:
                    words = "Making questions was stopped. What was made is kept; start again to go on."
                    raise StoppedError(words) from None
                made = self._instead(owner, again.get(passage.id, ()), made)
                self.kept.add(owner, made)
                asked += _asked(made)
                outcomes.update(one.outcome.value for one in made)
                reasons.update(one.reason for one in made if one.reason)
                yield Made(tuple(made))
        yield Progress("making questions", len(waiting), len(waiting))
        told = tuple(one for one in (*notes, self._weakness(model, asked) if model else "") if one)
        yield SynthesisResult(len(drawn), len(drawn) - len(waiting), dict(outcomes), dict(reasons), told)

    def _written(
        self, subjects: Sequence[Subject], plan: SynthesisPlan, asker: Asker | None, stop: StopSignal
    ) -> Generator[list[Draft], None, None]:
        """Yield the questions about each passage, at most as many as are wanted; a cluster's workers write them.

        Those of a language model are written here unless it is a server's.
        """
        if plan.kind == CONVERSATIONS:  # a turn depends on what became of the one before
            return
        llm = self._models.language.settings if asker is not None else None
        if self._models.cluster is not None and subjects and (llm is None or llm.engine == "openai"):
            key = api_key(llm.url) if llm else ""
            writing = Writing(plan.per_passage, plan.seed, _shown(plan), plan.keep_all, llm, key)
            yield from written_elsewhere(self._models.cluster, writing, subjects, stop)
            return
        for passage, title in subjects:
            if asker is None:
                yield of_rules(passage, title, plan.per_passage)
            else:
                yield list(asker.drafts(passage, plan.per_passage, plan.seed, stop))

    def _not_found(
        self, index: SearchIndex, settings: Settings, question: str, passage: Passage, before: Sequence[Draft]
    ) -> Reason | None:
        """Return NOT_FOUND unless one of the first k hits shares text with the passage; `before`: the turns so far.

        A follow-up is searched for with the turns before it. It leans on them if it finds its passage further up than
        without them; else APART is returned.
        """

        def rank(query: str | Query) -> float:
            hits = self._indexes.search_in(index, query, settings, (), settings.retrieval.k)
            return next((hit.rank for hit in hits if passage.overlaps(hit.passage)), inf)

        alone = rank(question)
        if not before:
            return Reason.NOT_FOUND if alone == inf else None
        needed = self._indexes.needs_embeddings(settings)
        encode = partial(self._indexes.unit_vectors, settings, question=True) if needed else None
        rewriter = Concatenation(encode=encode, language=passage.language)
        together = rank(rewriter.rewrite(question, tuple((one.question, one.answer) for one in before)).query)
        if together == inf:
            return Reason.NOT_FOUND
        return None if together < alone else Reason.APART

    def _known_already(self, settings: Settings, known: _Known, question: str) -> Reason | None:
        """Return DUPLICATE where nearly the same question is there; else take it down."""
        said = tuple(terms(question))
        if said in known.words:
            return Reason.DUPLICATE
        if known.vectors is not None:
            vector = self._indexes.unit_vectors(settings, [question], question=True)
            if nearly_there(vector[0], known.vectors):
                return Reason.DUPLICATE
            known.vectors = np.vstack([known.vectors, vector])
        known.words.add(said)
        return None

    def _known(self, owner: str, plan: SynthesisPlan, settings: Settings) -> tuple[_Known, str]:
        """Return the questions that were not dropped, and a sentence where they can be compared by words alone.

        Of conversations the first questions, and these alone where conversations are made.
        """
        kept = self.kept.list(owner, [one for one in Outcome if one is not Outcome.DROPPED])
        talks = plan.kind == CONVERSATIONS
        texts = [one.text for one in kept if not one.follows and (one.kind == CONVERSATIONS) == talks]
        known = _Known({tuple(terms(text)) for text in texts})
        try:
            known.vectors = self._indexes.unit_vectors(settings, texts, question=True)
        except ModelError as error:
            return known, f"Questions that mean the same were not looked for: {error}"
        return known, ""


@dataclass(frozen=True, slots=True)
class _Check:
    """Looks over what was written: guards, whether the answer stands in the passage, round trip, near-duplicates."""

    plan: SynthesisPlan
    model: str
    not_found: Callable[[str, Passage, Sequence[Draft]], Reason | None]
    known_already: Callable[[str], Reason | None]

    def judged(self, draft: Draft, passage: Passage, before: Sequence[Draft] = ()) -> SyntheticQuestion:
        """Return a question with the reason why it was dropped, if there is one; `before` are the turns so far."""
        reason = self._reason(draft, passage, before)
        return SyntheticQuestion(
            uuid.uuid4().hex,
            passage.document_id,
            passage.id,
            passage.spans,
            passage.text,
            draft.question,
            draft.question,
            self.plan.kind,
            self.model,
            self.plan.seed,
            Outcome.DROPPED if reason else Outcome.NEW,
            reason.value if reason else "",
            datetime.now(UTC),
            draft.answer,
            draft.answer,
            turn=len(before) + 1 if self.plan.kind == CONVERSATIONS else 0,
        )

    def _reason(self, draft: Draft, passage: Passage, before: Sequence[Draft]) -> Reason | None:
        plan, text = self.plan, draft.question
        if plan.keep_all:
            return None if text else Reason.EMPTY
        shown = [one.question for one in plan.examples] if plan.kind == FEW_SHOT else []
        reason = (
            follow_up_objection(text, passage.text, before)
            if before
            else objection(text, passage.text, passage.language, shown)
        )
        if draft.answer or plan.kind != RULES:  # rules have no answer to a question about a heading
            reason = reason or answer_objection(draft.answer, passage.text)
        reason = reason or self.not_found(text, passage, before)
        return reason or (None if before else self.known_already(text))


def _dropped(one: SyntheticQuestion) -> bool:
    """Whether a guard dropped a question that was written."""
    return one.outcome is Outcome.DROPPED and one.reason not in ("", Reason.EMPTY.value)


def _talk(asker: Asker, near: Sequence[Passage], check: _Check, stop: StopSignal) -> list[SyntheticQuestion]:
    """Return the turns of a conversation that begins with the first of these passages, and what was dropped of it.

    What a guard objects to is no turn: the question that follows up the turn before is asked in another manner. After
    all manners have failed it ends. The passages are those that it moves on to. Dropped turns, and all of a
    conversation that came out too short, belong to none.
    """
    plan, dropped = check.plan, list[SyntheticQuestion]()
    turns: list[SyntheticQuestion] = []
    said: list[Draft] = []
    place = manner = failed = 0
    while len(turns) < plan.turns and failed < len(FOLLOW_UPS) and not stop.is_set():
        at = place
        if not turns:
            draft = next(asker.drafts(near[0], 1, plan.seed, stop), Draft(""))
        else:
            how = FOLLOW_UPS[manner % len(FOLLOW_UPS)]
            at = min(place + how.moves, len(near) - 1)
            draft = asker.follow_up(near[at], said, how, stop)
            manner += 1
        made = check.judged(draft, near[at], said)
        if made.outcome is Outcome.DROPPED:
            dropped.append(made)
            failed += 1
            if not turns:
                break
            continue
        turns.append(made)
        said.append(draft)
        place, failed = at, 0
    if len(turns) < FEWEST_TURNS:
        few = Reason.FEW_TURNS.value
        return [*(replace(one, outcome=Outcome.DROPPED, reason=few) for one in turns), *dropped]
    name = uuid.uuid4().hex
    return [*(replace(one, conversation=name, made_at=turns[0].made_at) for one in turns), *dropped]


def talks(questions: Sequence[SyntheticQuestion]) -> list[list[SyntheticQuestion]]:
    """Return what is looked over at a time, in order: a question, or all turns of a conversation."""
    found: dict[str, list[SyntheticQuestion]] = {}
    for one in questions:
        found.setdefault(one.conversation or one.id, []).append(one)
    return [sorted(turns, key=lambda one: one.turn) for turns in found.values()]


def _asked(questions: Sequence[SyntheticQuestion]) -> Asked:
    """Return how many there are and how many are of no use; those that another one resembles do not count."""
    counted = [one for one in questions if one.reason != Reason.DUPLICATE.value]
    return Asked(len(counted), sum(one.outcome in (Outcome.DROPPED, Outcome.REJECTED) for one in counted))


def _shown(plan: SynthesisPlan) -> tuple[Example, ...]:
    return plan.examples if plan.kind == FEW_SHOT else ()
