"""The Train tab: a guided path from one's own PDFs to a retriever that knows their words.

Make questions, review them, train, compare. What goes on does so in the background, also while the page is closed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.errors import ModelError, PdfQAError, UsageError
from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.exports.evaluation_files import TRIPLES
from pdfqa_core.llm.hardware import memory
from pdfqa_core.models import TrainedModel
from pdfqa_core.models.trained import EMBEDDING
from pdfqa_core.protocols.gold import GoldFile, read_gold
from pdfqa_core.services import SAMPLE, Outcome, Services
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.services.training import TrainingPlan, TrainJob, Work, compared_on
from pdfqa_core.synthesis import CONVERSATIONS, FEW_SHOT, RULES, Example, origin
from pdfqa_core.text import duration
from pdfqa_core.training import BI_ENCODER, ROUNDS, Compared, TrainingSettings
from pdfqa_core.training.record import Row
from pdfqa_core.types import Progress
from pdfqa_core.ui import downloads
from pdfqa_core.ui.components import AT_ONCE, EVERY_CLICK, QUIET, clicked, error_html, render
from pdfqa_core.ui.documents import work_html
from pdfqa_core.ui.encoders import BUNDLED
from pdfqa_core.ui.evaluate_setup import OWN_FILE, OWN_HINT, SAMPLE_QUESTIONS
from pdfqa_core.ui.roles import check_models
from pdfqa_core.ui.session import Session, Shown, scope_label
from pdfqa_core.ui.train_parts import NUMBERS, TICK, Parts, Review, TrainState
from pdfqa_core.ui.train_view import STEPS, TITLES, Facts, compared_rows, curves_html, made_html, path_html

# ----------------------------------------------------------------------------------------------------
# Before and after on the Train tab: a trained model beside the one it started from, and putting it into use.

WITH_MEANING = ("dense", "hybrid", "rrf", "convex")  # retrievers that an embedding model is part of


def used_model(session: Session) -> str:
    """Return the name of the model that the recipe compares meanings with; "" for the bundled one."""
    retrieval = session.settings.retrieval
    return retrieval.late_model if retrieval.retriever == "late_interaction" else retrieval.embedding_model


def switched(services: Services, session: Session, model: TrainedModel) -> Session:
    """Return the session with the model in use: its retriever searches now, and is got ready in the background.

    An embedding model is also what the program starts with from now on. Raises PdfQAError on a demo.
    """
    retrieval = session.settings.retrieval
    if model.setting == EMBEDDING:
        services.models.changes().use_encoder(model.name)
        retriever = retrieval.retriever if retrieval.retriever in WITH_MEANING else "hybrid"
        settings = session.settings.changed("retrieval", embedding_model=model.name, retriever=retriever)
    else:
        services.models.changes()  # says no on a demo
        settings = session.settings.changed("retrieval", late_model=model.name, retriever="late_interaction")
    services.index.preparation.want(session.owner, settings)
    return replace(session, settings=settings)


def _rows(scores: Mapping[str, Compared]) -> dict[str, Row]:
    return {name: (one.before, one.after, one.difference) for name, one in scores.items()}


class Compare:
    """Shows scores before and after, measures questions of people, and puts a model into use."""

    def __init__(self, services: Services, parts: Parts) -> None:
        self.services = services
        self.parts = parts

    def _models(self) -> tuple[TrainedModel, ...]:
        """Return what was trained here; visitors of a demo are shown none."""
        return () if self.services.models.demo else self.services.models.files.encoders.trained()

    def _model(self, state: TrainState) -> TrainedModel | None:
        models = sorted(self._models(), key=lambda one: one.record.made_at, reverse=True)
        return next((one for one in models if one.name == state.model), models[0] if models else None)

    def shown(self, facts: Facts, state: TrainState, session: Session) -> dict[Any, Any]:
        """Return the models that were trained here, and the scores of the chosen one."""
        model = self._model(state)
        if model is None:
            html = render("train_compare", models=(), next=facts.next, title=TITLES[facts.next])
            return {self.parts.compared: html, self.parts.people: gr.Column(visible=False), self.parts.state: state}
        record = model.record
        html = render("train_compare", models=self._models(), record=record, used=used_model(session), bundled=BUNDLED)
        if record.compared:
            html += render("train_table", title="Held-out questions", rows=compared_rows(_rows(record.compared)))
        for name, scores in record.people.items():
            html += render("train_table", title=f"On {name}", rows=compared_rows(_rows(scores)))
        html += render("train_rounds", rounds=record.rounds, k=record.settings.k)
        html += render("train_notes", record=record, path=model.path)
        return {
            self.parts.compared: html,
            self.parts.people: gr.Column(visible=True),
            self.parts.measured: "",
            self.parts.state: replace(state, model=model.name),
        }

    def clicked(self, state: TrainState, session: Session, event: gr.EventData) -> tuple[TrainState, Session, str]:
        """Open, use or delete a model; returns state, session and what to say."""
        data = clicked(event)
        action = data.get("action")
        if action == "step":
            return replace(state, step=data["step"]), session, ""
        if action not in ("open", "use", "remove"):
            return state, session, ""
        name = data["name"]
        model = next((one for one in self._models() if one.name == name), None)
        if model is None:
            raise UsageError(f"There is no trained model called {name[:60]!r}.", "It may have been deleted.")
        if action == "use":
            session = switched(self.services, session, model)
            how = "late interaction" if model.setting != EMBEDDING else session.settings.retrieval.retriever
            words = f"{name} searches now, by {how}. The documents are got ready for it in the background."
            return replace(state, model=name), session, render("models_said", words=words)
        if action == "remove":
            self.services.models.changes().remove_encoder(name, session.settings.retrieval)
            return replace(state, model=""), session, render("models_said", words=f"{name} was deleted.")
        return replace(state, model=name), session, ""

    # ------------------------------------------------------------ questions of people

    @staticmethod
    def _key(request: gr.Request) -> str:
        return f"train-measure-{request.session_hash}"

    def stop(self, request: gr.Request) -> None:
        """Stop measuring."""
        self.services.tasks.stop(self._key(request))

    @staticmethod
    def _gold(source: str, upload: str | None) -> GoldFile:
        if source == SAMPLE_QUESTIONS:
            return replace(read_gold(SAMPLE / "questions.jsonl"), name="sample questions")
        if source != OWN_FILE or not upload:
            raise UsageError("There are no questions yet.", OWN_HINT)
        return read_gold(Path(upload))

    def measure(
        self, source: str, upload: str | None, state: TrainState, session: Session, request: gr.Request
    ) -> Iterator[tuple[Any, ...]]:
        """Measure the model and its base on questions of people; the evaluation is kept on the Evaluate tab."""
        yield work_html(Progress("reading the questions")), gr.Button(visible=False), gr.Button(visible=True), ""
        message, table = "", ""
        try:
            model = self._model(state)
            if model is None:
                raise UsageError("There is no trained model yet.", "Train one first.")
            gold, systems = self._gold(source, upload), self.services.training.systems(model, session.settings)
            for event in self.services.evaluation.evaluate_retrieval(
                session.owner, gold, systems, document_ids=self._scope(source, session), task=self._key(request)
            ):
                if isinstance(event, Progress):
                    yield work_html(event), gr.skip(), gr.skip(), gr.skip()
                elif isinstance(event, Evaluation):
                    rows = compared_on(event)
                    record = self.services.training.note_people(model, gold.name, rows).record
                    table = render("train_table", title=f"{model.name} on {gold.name}", rows=compared_rows(rows))
                    table += render("train_verdict", record=record)
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            message = error_html(error)
        yield message, gr.Button(visible=True), gr.Button(visible=False), table

    def _scope(self, source: str, session: Session) -> tuple[str, ...]:
        """Return the documents that the questions are about; the sample's are about the sample."""
        if source != SAMPLE_QUESTIONS:
            return ()
        if not self.services.documents.has_sample(session.owner):
            raise UsageError("The sample report is not among your documents.", "Add it on the Documents tab.")
        return self.services.documents.document_ids(session.owner, ["harbour-heat.pdf"])


# ----------------------------------------------------------------------------------------------------
# The Train tab: a guided path from one's own PDFs to a retriever that knows their words.

FETCH = "() => window.pdfqa.fetch('train-download')"
WHOLE = "Type a whole number."


def triples_task(request: gr.Request) -> str:
    """Return what finding triples for a page is called, to stop it."""
    return f"train-triples-{request.session_hash}"


class Tab:
    """The handlers. Each returns what it changes, by component."""

    def __init__(self, services: Services, parts: Parts, session: gr.State) -> None:
        self.services = services
        self.parts = parts
        self.session = session
        self.review = Review(services, parts)
        self.compare = Compare(services, parts)

    # ------------------------------------------------------------ where one stands

    def facts(self, session: Session) -> Facts:
        """Return where the owner stands."""
        services, owner = self.services, session.owner
        counts = Counter(one.outcome for one in services.training.synthesis.kept.list(owner))
        demo = services.models.demo
        return Facts(
            sum(one.state.usable for one in services.documents.kept.list(owner)),
            counts,
            () if demo else tuple(one.name for one in services.models.files.encoders.trained()),
            tuple(one.plan.name for one in services.training.unfinished(owner)),
            used_model(session),
            services.training.jobs.of(owner),
        )

    def show(self, state: TrainState, session: Session) -> dict[Any, Any]:
        """Return the path and the open step; without one, the step that comes next."""
        facts = self.facts(session)
        state = replace(state, step=state.step if state.step in STEPS else facts.going or facts.next)
        filled = {
            "generate": self._generate,
            "review": self._review,
            "train": self._train,
            "compare": self._compare,
        }[state.step](facts, state, session)
        return {
            self.parts.state: state,
            self.parts.path: path_html(facts, state.step, demo=self.services.models.demo),
            self.parts.timer: gr.Timer(TICK, active=bool(facts.going)),
            self.parts.message: "",
            **{column: gr.Column(visible=name == state.step) for name, column in self.parts.steps.items()},
            **({} if state.step == "review" else {self.parts.page: ""}),
            **filled,
        }

    def tick(self, state: TrainState, session: Session) -> dict[Any, Any]:
        """Show how far work is; at its end everything that it has changed."""
        facts = self.facts(session)
        if not facts.going and state.step == "review" and state.question:  # it may be being edited
            path = path_html(facts, state.step, demo=False)
            return {self.parts.path: path, self.parts.timer: gr.Timer(TICK, active=False)}
        if not facts.going:
            return self.show(state, session)
        shown: dict[Any, Any] = {self.parts.path: path_html(facts, state.step, demo=False)}
        if state.step == "generate":
            shown |= self._making(facts)
        elif state.step == "train":
            shown |= self._training(facts, session)
        return shown

    def path_clicked(self, state: TrainState, session: Session, event: gr.EventData) -> dict[Any, Any]:
        """Open a step."""
        data = clicked(event)
        if data.get("action") != "step":
            return {self.parts.state: state}
        return self.show(replace(state, step=data["step"], skipped=()), session)

    # ------------------------------------------------------------ make questions

    def _generate(self, facts: Facts, state: TrainState, session: Session) -> dict[Any, Any]:
        usable = [one for one in self.services.documents.kept.list(session.owner) if one.state.usable]
        return {
            **self._making(facts),
            self.parts.made: self._made(facts, session),
            self.parts.making[3]: gr.Dropdown(choices=[(scope_label(one), one.id) for one in usable]),
            self.parts.fields: gr.Column(visible=bool(usable)),
            **({} if usable else {self.parts.drawn: render("train_drawn", documents=0)}),
        }

    def _made(self, facts: Facts, session: Session) -> str:
        questions = self.services.training.synthesis.kept.list(session.owner)
        return made_html(questions, self.services.documents.filenames(session.owner), facts.job)

    def _making(self, facts: Facts) -> dict[Any, Any]:
        job, going = facts.job, facts.going
        work = ""
        if job is not None and job.work is Work.MAKING:
            work = _ended(job) if not job.running else work_html(job.progress or Progress("getting ready"))
            if job.running and job.made:
                counts = dict(job.made)
                work += render(
                    "train_so_far", new=counts.get(Outcome.NEW.value, 0), dropped=counts.get(Outcome.DROPPED.value, 0)
                )
            if job.running and job.advice:
                work += render("train_advice", words=job.advice, offer=False)
        elif going:
            work = render("note", text="A training is under way: it needs the processor for itself.")
        return {
            self.parts.make_work: work,
            self.parts.make: gr.Button(visible=not going and facts.documents > 0),
            self.parts.make_stop: gr.Button(visible=going == "generate"),
        }

    def _making_plan(
        self,
        session: Session,
        kind: str,
        passages: Any,
        questions: Any,
        documents: Any,
        k: Any,
        turns: Any,
        keep_all: Any,
    ) -> SynthesisPlan:
        owned = {one.id for one in self.services.documents.kept.list(session.owner)}
        examples: tuple[Example, ...] = ()
        if kind == FEW_SHOT:
            examples = self.services.training.synthesis.examples(session.owner, _whole(k, "Examples shown"))
        return SynthesisPlan(
            kind,
            _whole(passages, "Passages of each document"),
            _whole(questions, "Questions of each passage"),
            session.settings.llm.seed,
            examples,
            tuple(one for one in documents or () if one in owned),
            _whole(turns, "Turns of each conversation"),
            bool(keep_all),
        )

    def drawn(self, session: Session, *fields: Any) -> str:
        """Return of how many passages questions would be made, and of how many they have been."""
        if not any(one.state.usable for one in self.services.documents.kept.list(session.owner)):
            return render("train_drawn", documents=0)
        try:
            plan = self._making_plan(session, *fields)
            passages, done = self.services.training.synthesis.drawn(session.owner, plan, session.settings)
            shown = render(
                "train_drawn",
                documents=1,
                passages=passages,
                done=done,
                each=plan.turns if plan.kind == CONVERSATIONS else plan.per_passage,
                examples=origin(plan.examples),
            )
        except ModelError as error:
            shown = error_html(error)
        except PdfQAError as error:
            return error_html(error)
        advice = self.services.training.synthesis.advice(session.owner, str(fields[0]))
        return shown + (render("train_advice", words=advice, offer=True) if advice else "")

    def by_rules(self, session: Session, event: gr.EventData, *fields: Any) -> tuple[str, str]:
        """Choose rules, as the advice offers; returns how questions are made, and what is drawn for it."""
        kind = RULES if clicked(event).get("action") == "rules" else str(fields[0])
        return kind, self.drawn(session, kind, *fields[1:])

    def make(self, state: TrainState, session: Session, *fields: Any) -> dict[Any, Any]:
        """Begin to make questions."""
        try:
            plan = self._making_plan(session, *fields)
            self.services.training.jobs.make(session.owner, plan, session.settings)
        except PdfQAError as error:
            return {self.parts.make_work: error_html(error)}
        return self.show(state, session)

    def made_clicked(self, state: TrainState, session: Session, event: gr.EventData) -> dict[Any, Any]:
        """Go on to the review, or delete questions."""
        data = clicked(event)
        match data.get("action"):
            case "step":
                state = replace(state, step=data["step"])
            case "clear":
                self.services.training.synthesis.kept.remove(session.owner, [Outcome.DROPPED, Outcome.REJECTED])
            case "clear-all":
                self.services.training.synthesis.kept.remove(session.owner, list(Outcome))
            case _:
                return {self.parts.state: state}
        return self.show(replace(state, undo=()), session)

    def stop(self, session: Session, request: gr.Request) -> None:
        """Stop what goes on; what is done stays."""
        self.services.training.jobs.stop(session.owner)
        self.services.tasks.stop(triples_task(request))

    # ------------------------------------------------------------ review

    def _review(self, facts: Facts, state: TrainState, session: Session) -> dict[Any, Any]:
        return self.review.shown(state, session)

    def reviewed(self, state: TrainState, session: Session, event: gr.EventData) -> dict[Any, Any]:
        """Decide about a question and show the next one."""
        after = self.review.clicked(state, session, event)
        if after is state:
            return {self.parts.state: state}
        if after.step != state.step:
            return self.show(after, session)
        facts = self.facts(session)
        path = {self.parts.path: path_html(facts, after.step, demo=self.services.models.demo)}
        return path | self.review.shown(after, session)

    def filtered(self, only: str, state: TrainState, session: Session) -> dict[Any, Any]:
        """Show other questions: those that wait, or were accepted, rejected or dropped."""
        return self.review.shown(replace(state, only=only, question="", skipped=()), session)

    # ------------------------------------------------------------ train

    def _train(self, facts: Facts, state: TrainState, session: Session) -> dict[Any, Any]:
        label = "Also with questions that nobody has reviewed"
        waiting = f"{label} ({facts.waiting:,})" if facts.waiting else label
        return {self.parts.training[2]: gr.Checkbox(label=waiting), **self._training(facts, session)}

    def _training(self, facts: Facts, session: Session) -> dict[Any, Any]:
        job, going = facts.job, facts.going
        own = job if job is not None and job.work is not Work.MAKING else None
        work = ""
        if own is not None:
            work = work_html(_step(own)) if own.running else _ended(own)
        elif going:
            work = render("note", text="Questions are being made: wait for them, or stop it.")
        prepared = own.prepared if own is not None else None
        stopped = () if going else self.services.training.unfinished(session.owner)
        return {
            self.parts.train_work: work,
            self.parts.live: render(
                "train_live",
                accepted=facts.accepted,
                waiting=facts.waiting,
                prepared=prepared,
                stopped=stopped,
                finished=own.model if own and not own.running else "",
                time=duration(prepared.estimate.seconds) if prepared else "",
                free=memory().free,
            ),
            self.parts.curves: _learnt(own),
            self.parts.estimate: gr.Button(visible=not going),
            self.parts.train: gr.Button(visible=not going),
            self.parts.train_stop: gr.Button(visible=going == "train"),
        }

    def _training_plan(self, session: Session, *fields: Any) -> TrainingPlan:
        kind, name, unreviewed, base, precision, similarity, keep, *values = fields
        numbers = {one: _number(value, one) for one, value in zip(NUMBERS, values, strict=True)}
        own = {one: numbers.pop(one) for one in ("k", "margin", "held_out")}
        settings = TrainingSettings(
            **numbers,
            precision=precision,
            k=session.settings.retrieval.k,
            keep=keep,
            similarity=similarity if kind == BI_ENCODER else TrainingSettings().similarity,  # others have their own
        )
        base = (base or "").strip()
        check_models(self.services, (), (base,))
        return TrainingPlan(
            kind,
            (name or "").strip(),
            base,
            settings,
            own["k"],
            own["margin"],
            own["held_out"],
            bool(unreviewed),
        )

    def estimated(self, state: TrainState, session: Session, *fields: Any) -> dict[Any, Any]:
        """Find out what training takes."""
        return self._begun("estimate", state, session, fields)

    def train(self, state: TrainState, session: Session, *fields: Any) -> dict[Any, Any]:
        """Train, or go on where a training of the same name and settings was stopped."""
        return self._begun("train", state, session, fields)

    def _begun(self, what: str, state: TrainState, session: Session, fields: tuple[Any, ...]) -> dict[Any, Any]:
        jobs = self.services.training.jobs
        begin = jobs.train if what == "train" else jobs.estimate
        try:
            begin(session.owner, self._training_plan(session, *fields), session.settings)
        except PdfQAError as error:
            return {self.parts.train_work: error_html(error)}
        return self.show(state, session)

    def triples(self, session: Session, request: gr.Request, *fields: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Find the triples that training would begin with; yields the path of a file last, work and Stop before."""
        message, path, task = "", gr.skip(), triples_task(request)
        try:
            plan = self._training_plan(session, *fields)
            finding = self.services.training.triples(session.owner, plan, session.settings, task=task)
            while True:
                yield gr.skip(), work_html(next(finding)), gr.Button(visible=True)
        except StopIteration as found:
            path = downloads.write("triples.tsv", TRIPLES[".tsv"](found.value))
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            message = error_html(error)
        yield path, message, gr.Button(visible=False)

    def live_clicked(self, state: TrainState, session: Session, event: gr.EventData) -> dict[Any, Any]:
        """Go on with a stopped training, delete it, or open another step."""
        data = clicked(event)
        try:
            match data.get("action"):
                case "resume":
                    self.services.training.jobs.resume(session.owner, data["name"])
                case "discard":
                    self.services.training.discard(session.owner, data["name"])
                case "step":
                    state = replace(state, step=data["step"], model="")
                case _:
                    return {self.parts.state: state}
        except PdfQAError as error:
            return {self.parts.train_work: error_html(error)}
        return self.show(state, session)

    # ------------------------------------------------------------ compare

    def _compare(self, facts: Facts, state: TrainState, session: Session) -> dict[Any, Any]:
        return self.compare.shown(facts, state, session)

    def compared(self, state: TrainState, session: Session, event: gr.EventData) -> dict[Any, Any]:
        """Open, use or delete a model."""
        before = state
        state, session, said = self.compare.clicked(state, session, event)
        if state is before and not said:
            return {self.parts.state: state}
        return self.show(state, session) | {self.parts.message: said, self.session: session}


def _step(job: TrainJob) -> Progress:
    """Return how far training is, over both rounds, with the time that is left at most."""
    if job.step is None or job.progress is not None:
        return job.progress or Progress("training")
    total = ROUNDS * job.step.steps
    done = (job.step.round - 1) * job.step.steps + job.step.step
    return Progress(f"training, round {job.step.round} of {ROUNDS}", done, total, (total - done) * job.step.seconds)


def _learnt(job: TrainJob | None) -> str:
    """Return the curves and rounds of a training as far as it is; empty before its first step."""
    if job is None or job.settings is None or not (job.losses or job.scores):
        return ""
    settings = job.settings
    return curves_html(job, settings.steps, settings.k) + render("train_rounds", rounds=job.rounds, k=settings.k)


def _ended(job: TrainJob) -> str:
    """Return why work ended before it was done: a note where somebody stopped it, else the error."""
    if job.stopped:
        return render("note", text="Stopped. What is done is kept; go on whenever you like.")
    return render("error", what=job.error, hint=job.hint) if job.error else ""


def _concerned(kind: str) -> tuple[Any, Any, Any]:
    """Return the fields that only some kinds of question have, in view or not: questions, examples, turns."""
    seen = (kind != CONVERSATIONS, kind == FEW_SHOT, kind == CONVERSATIONS)
    return gr.Number(visible=seen[0]), gr.Number(visible=seen[1]), gr.Number(visible=seen[2])


def _whole(value: Any, label: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise UsageError(f"“{label}” has no whole number.", WHOLE)
    return int(value)


def _number(value: Any, name: str) -> Any:
    label, _, whole = NUMBERS[name]
    if whole:
        return _whole(value, label)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"“{label}” has no number.", "Type one.")
    return float(value)


def build(services: Services, session: gr.State) -> Shown:
    """Build the tab."""
    parts = Parts()
    tab = Tab(services, parts, session)
    state, making = parts.state, list(parts.making)
    steps = list(parts.steps.values())
    reviewing = [parts.path, state, parts.card, parts.page, parts.sets, parts.files, parts.only]
    generating = [parts.make_work, parts.make, parts.make_stop, parts.made, parts.making[3], parts.drawn, parts.fields]
    learning = [
        parts.train_work,
        parts.live,
        parts.curves,
        parts.estimate,
        parts.train,
        parts.train_stop,
        parts.training[2],
    ]
    comparing = [parts.compared, parts.people, parts.measured]
    shown = [*reviewing, *generating, *learning, *comparing, parts.timer, parts.message, *steps]
    here = [state, session]
    parts.timer.tick(tab.tick, here, shown, **AT_ONCE)
    parts.path.click(tab.path_clicked, here, shown, **QUIET)
    for field in making:
        field.input(tab.drawn, [session, *making], parts.drawn, trigger_mode="always_last", **QUIET)
    kind, asked, examples, turns = making[0], making[2], making[4], making[5]
    kind.change(_concerned, kind, [asked, examples, turns], **AT_ONCE)
    learnt, similarity = parts.training[0], parts.training[5]
    learnt.change(lambda one: gr.Radio(visible=one == BI_ENCODER), learnt, similarity, **AT_ONCE)
    parts.drawn.click(tab.by_rules, [session, *making], [kind, parts.drawn], **QUIET)
    parts.make.click(tab.make, [*here, *making], shown, **QUIET)
    parts.made.click(tab.made_clicked, here, shown, **QUIET)
    for stop in (parts.make_stop, parts.train_stop):
        stop.click(tab.stop, session, None, **AT_ONCE)
    parts.card.click(tab.reviewed, here, shown, **EVERY_CLICK, **AT_ONCE)
    parts.only.input(tab.filtered, [parts.only, *here], reviewing[1:], **QUIET)
    parts.page.click(tab.review.page_clicked, here, parts.page, **QUIET)
    for kind, button in parts.downloads.items():
        made = button.click(partial(tab.review.download, kind), session, parts.file, **QUIET)
        made.success(None, None, None, js=FETCH)
    training = [*here, *parts.training]
    parts.estimate.click(tab.estimated, training, shown, **QUIET)
    parts.train.click(tab.train, training, shown, **QUIET)
    found = parts.triples.click(
        tab.triples, [session, *parts.training], [parts.file, parts.train_work, parts.train_stop], **QUIET
    )
    found.success(None, parts.train_work, None, js=f"(error) => error || ({FETCH})()")
    parts.live.click(tab.live_clicked, here, shown, **QUIET)
    parts.compared.click(tab.compared, here, [*shown, session], **QUIET)
    parts.source.change(lambda source: gr.File(visible=source == OWN_FILE), parts.source, parts.upload, **AT_ONCE)
    parts.measure.click(
        tab.compare.measure,
        [parts.source, parts.upload, *here],
        [parts.measure_work, parts.measure, parts.measure_stop, parts.measured],
        concurrency_limit=None,
        **QUIET,
    )
    parts.measure_stop.click(tab.compare.stop, None, None, **AT_ONCE)
    return Shown(tab.show, here, shown)
