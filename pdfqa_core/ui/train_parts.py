"""The components of the Train tab, in their places, and what it remembers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import gradio as gr

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold import suffixes
from pdfqa_core.services import Outcome, Services, SyntheticQuestion
from pdfqa_core.services.synthesis import FEWEST_TURNS, MOST_EXAMPLES, MOST_TURNS, USUAL_EXAMPLES, SynthesisPlan, talks
from pdfqa_core.services.training import TrainingPlan
from pdfqa_core.synthesis import CONVERSATIONS, FEW_SHOT, RULES, ZERO_SHOT
from pdfqa_core.training import BI_ENCODER, DPR, LATE_INTERACTION, Precision, TrainingSettings
from pdfqa_core.types import Passage
from pdfqa_core.ui import downloads
from pdfqa_core.ui.components import FIELD_HEIGHT, Click, clicked, live_html, render, switch
from pdfqa_core.ui.evaluate_setup import ACCEPTED_QUESTIONS, OWN_FILE, SAMPLE_QUESTIONS
from pdfqa_core.ui.page_view import main_page, show_page
from pdfqa_core.ui.session import Session
from pdfqa_core.ui.train_view import pages_of

TICK = 1.5  # seconds between two looks at what goes on
WAITING, ACCEPTED, REJECTED, DROPPED = FILTERS = ("waiting", "accepted", "rejected", "dropped")
FILES = {"jsonl": "JSON lines", "beir": "BEIR (ZIP)"}
MAKING = (
    "Each question is made from one passage, with its answer. The answer must stand in that passage, and a search must "
    "find it again. Vague, copied and nearly equal questions are dropped. A stopped run continues where it stopped."
)
TRAINING = (
    "The model learns to rank the right passage of each question above similar ones. Some documents are held out to "
    "measure it. You can close this page, and stop and continue the training."
)
MAKERS = [
    ("By rules, of table rows, definitions, counts and headings", RULES),
    ("By the language model (zero-shot)", ZERO_SHOT),
    ("By the language model, after examples (few-shot)", FEW_SHOT),
    ("Conversations, by the language model", CONVERSATIONS),
]
MODELS = [
    ("Embedding model, for dense and hybrid", BI_ENCODER),
    ("Two of them, for questions and for passages (DPR)", DPR),
    ("Late interaction (ColBERT): compares word by word", LATE_INTERACTION),
]
SIMILARITIES = [("cosine", "cosine"), ("inner product", "dot")]
KEPT = [("best on held-out questions", "best"), ("last, of all steps", "last")]
# Numbers under "More": label, explanation, whether it is a whole number; names as in TrainingSettings and TrainingPlan.
NUMBERS: Mapping[str, tuple[str, str, bool]] = {
    "steps": ("Steps of each round", "at most; training ends earlier without a gain", True),
    "batch": ("Questions per step", "more compare better and take longer", True),
    "hard_negatives": ("Hard negatives", "of each question in a step", True),
    "learning_rate": ("Learning rate", "higher learns faster and forgets more", False),
    "chunk": ("Texts computed at once", "fewer take less memory and more time", True),
    "evaluate_every": ("Steps between scores", "of held-out questions", True),
    "patience": ("Scores without a gain", "after which a round ends; 0: never", True),
    "seed": ("Seed", "draws held-out documents and batches", True),
    "k": ("Negatives among the first", "hits of the retriever", True),
    "margin": ("Margin", "a hit above this share of the right score is no negative; 0: off", False),
    "held_out": ("Held out", "share of the questions, by document; 0: none", False),
}


@dataclass(frozen=True, slots=True)
class TrainState:
    """The open step, the question in review with those skipped and decided before it, and the model compared.

    `undo` are questions as they were before the last decisions, the newest last.
    """

    step: str = ""
    only: str = WAITING
    question: str = ""
    skipped: tuple[str, ...] = ()
    undo: tuple[SyntheticQuestion, ...] = ()
    model: str = ""


def _heading(words: str, more: str) -> None:
    gr.HTML(render("models_heading", words=words, more=more), padding=False, apply_default_css=False)


class Parts:
    """All components, in three columns: the path, the open step, and the page beside a question.

    Two lists of fields have an order. `making`: kind, passages, questions, documents, examples, turns, keep_all;
    `training`: kind, name, unreviewed, base, precision, similarity, keep, then NUMBERS.
    """

    def __init__(self) -> None:
        self.state, self.steps = gr.State(TrainState()), dict[str, gr.Column]()
        switch("train-columns", "Path", "Step", "Page", chosen=1)
        with gr.Row(elem_classes=["pq-columns"], elem_id="train-columns"):
            with gr.Column(scale=2):
                self.path, self.message = live_html(elem_id="train-path"), live_html(elem_id="train-message")
            with gr.Column(scale=4):
                builders = {
                    "generate": self._generate,
                    "review": self._review,
                    "train": self._train,
                    "compare": self._compare,
                }
                for name, build in builders.items():
                    with gr.Column(visible=False, elem_classes=["pq-step"]) as self.steps[name]:
                        build()
            with gr.Column(scale=3):
                self.page = live_html(elem_id="train-page")
                self.file = gr.DownloadButton("download", elem_id="train-download", elem_classes=["pq-offstage"])
        self.timer = gr.Timer(TICK, active=False)

    def _generate(self) -> None:
        _heading("Make questions", MAKING)
        with gr.Column(visible=False, elem_classes=["pq-fields"]) as self.fields:
            kind = gr.Radio(MAKERS, value=RULES, label="How", elem_id="train-kind")
            with gr.Row():
                passages = gr.Number(
                    20,
                    label="Passages of each document",
                    info="drawn by chance; 0 takes all; conversations begin with them",
                    precision=0,
                    minimum=0,
                    elem_id="train-passages",
                )
                questions = gr.Number(
                    1,
                    label="Questions of each passage",
                    precision=0,
                    minimum=1,
                    maximum=10,
                    elem_id="train-questions",
                    info="at most; nearly equal ones are dropped",
                )
            examples = gr.Number(
                USUAL_EXAMPLES,
                label="Examples shown",
                precision=0,
                minimum=1,
                maximum=MOST_EXAMPLES,
                visible=False,
                info="k of the prompt: questions you accepted first, then ones that come with the program",
                elem_id="train-examples",
            )
            turns = gr.Number(
                SynthesisPlan().turns,
                label="Turns of each conversation",
                info="at most",
                precision=0,
                minimum=FEWEST_TURNS,
                maximum=MOST_TURNS,
                visible=False,
                elem_id="train-turns",
            )
            documents = gr.Dropdown(
                [], multiselect=True, label="Documents", info="Empty: all of them", elem_id="train-documents"
            )
            keep_all = gr.Checkbox(
                False, label="Keep all", info="drop nothing, whatever was written", elem_id="train-keep-all"
            )
        self.drawn, self.make_work = live_html(elem_id="train-drawn"), live_html(elem_id="train-make-work")
        with gr.Row():
            self.make = gr.Button("Make questions", variant="primary", elem_id="train-make")
            self.make_stop = gr.Button("Stop", visible=False, elem_classes=["pq-stop"], elem_id="train-make-stop")
        self.made = live_html(elem_id="train-made")
        self.making: tuple[Any, ...] = (kind, passages, questions, documents, examples, turns, keep_all)

    def _review(self) -> None:
        self.only = gr.Radio(list(FILTERS), value=WAITING, label="Show", elem_id="train-only")
        self.card, self.sets = live_html(elem_id="train-review"), live_html(elem_id="train-sets")
        with gr.Column(visible=False) as self.files, gr.Row():
            self.downloads = {
                kind: gr.Button(label, size="sm", elem_id=f"train-{kind}", scale=0, min_width=120)
                for kind, label in FILES.items()
            }

    def _train(self) -> None:
        usual, plan = TrainingSettings(), TrainingPlan()
        _heading("Train", TRAINING)
        kind = gr.Radio(MODELS, value=BI_ENCODER, label="What", elem_id="train-model-kind")
        name = gr.Textbox(
            label="Name",
            info="Empty: the first free one",
            placeholder="my-bi-encoder",
            max_length=60,
            elem_id="train-name",
        )
        unreviewed = gr.Checkbox(
            False, label="Also with questions that nobody has reviewed", elem_id="train-unreviewed"
        )
        with gr.Accordion("More", open=False):
            base = gr.Textbox(
                label="Start from",
                info="Folder or name of a model; empty: the one that the recipe uses",
                elem_id="train-base",
            )
            precision = gr.Radio(
                list(get_args(Precision)),
                value=usual.precision,
                label="Precision",
                info="bf16: 16 bits, quicker where the processor has them; auto finds out",
                elem_id="train-precision",
            )
            with gr.Row():
                similarity = gr.Radio(
                    SIMILARITIES,
                    value=usual.similarity,
                    label="Compared by",
                    info="in search too",
                    elem_id="train-similarity",
                )
                keep = gr.Radio(
                    KEPT,
                    value=usual.keep,
                    label="Weights kept",
                    info="with nothing held out the last ones",
                    elem_id="train-keep",
                )
            names, numbers = list(NUMBERS), []
            for start in range(0, len(names), 2):
                with gr.Row():
                    for one in names[start : start + 2]:
                        label, info, whole = NUMBERS[one]
                        value = getattr(plan if hasattr(plan, one) else usual, one)
                        numbers.append(
                            gr.Number(
                                value,
                                label=label,
                                info=info,
                                precision=0 if whole else None,
                                minimum=0,
                                step=1 if whole else 0.00001 if one == "learning_rate" else 0.05,
                                elem_id=f"train-{one.replace('_', '-')}",
                            )
                        )
            with gr.Row():
                self.triples = gr.Button(
                    "Triples as a file (TSV)", size="sm", elem_id="train-triples", scale=0, min_width=200
                )
        self.train_work = live_html(elem_id="train-work")
        with gr.Row():
            self.estimate = gr.Button("What it takes", elem_id="train-estimate")
            self.train = gr.Button("Train", variant="primary", elem_id="train-go")
            self.train_stop = gr.Button("Stop", visible=False, elem_classes=["pq-stop"], elem_id="train-stop")
        self.live, self.curves = live_html(elem_id="train-live"), live_html(elem_id="train-curves")
        self.training: tuple[Any, ...] = (kind, name, unreviewed, base, precision, similarity, keep, *numbers)

    def _compare(self) -> None:
        self.compared = live_html(elem_id="train-compared")
        with gr.Column(visible=False) as self.people:
            self.source = gr.Radio(
                [SAMPLE_QUESTIONS, OWN_FILE],
                value=OWN_FILE,
                label="Measure on questions of people too",
                elem_id="train-source",
            )
            self.upload = gr.File(
                label="Questions with gold", file_types=list(suffixes()), height=FIELD_HEIGHT, elem_id="train-file"
            )
            self.measure_work = live_html(elem_id="train-measure-work")
            with gr.Row():
                self.measure = gr.Button("Measure before and after", elem_id="train-measure")
                self.measure_stop = gr.Button(
                    "Stop", visible=False, elem_classes=["pq-stop"], elem_id="train-measure-stop"
                )
            self.measured = live_html(elem_id="train-measured")


# ----------------------------------------------------------------------------------------------------
# Looking over questions on the Train tab: one after the other, by keys, each beside its passage on its page.

OUTCOMES = {
    WAITING: Outcome.NEW, ACCEPTED: Outcome.ACCEPTED, REJECTED: Outcome.REJECTED, DROPPED: Outcome.DROPPED,
}  # fmt: skip
DECISIONS = {"accept": Outcome.ACCEPTED, "reject": Outcome.REJECTED, "edit-question": Outcome.ACCEPTED}
EDITED = {"edit-turn": "text", "edit-answer": "answer"}  # what is changed before it is decided about the rest
MOST_UNDO = 50
NAMES = {"jsonl": "questions.jsonl", "beir": "questions-beir.zip"}


class Review:
    """Decides about questions; each decision is stored before the next question is shown."""

    def __init__(self, services: Services, parts: Parts) -> None:
        self.services = services
        self.parts = parts

    # ------------------------------------------------------------ showing

    def shown(self, state: TrainState, session: Session) -> dict[Any, Any]:
        """Return the question in review with its passage and page, and what accepted ones are good for."""
        every = self.services.training.synthesis.kept.list(session.owner)
        accepted = sum(one.outcome is Outcome.ACCEPTED for one in every)
        queue = self._queue(every, state)
        turns = next((one for one in queue if one[0].id == state.question), queue[0] if queue else [])
        chosen = turns[0] if turns else None
        state = replace(state, question=chosen.id if chosen else "")
        return {
            self.parts.state: state,
            self.parts.card: self._card(turns, queue, every, accepted, state, session),
            self.parts.page: self._page(chosen, session, Click()) if chosen else "",
            self.parts.sets: render("train_sets", accepted=accepted, name=ACCEPTED_QUESTIONS),
            self.parts.files: gr.Column(visible=accepted > 0),
            self.parts.only: gr.Radio(value=state.only),
        }

    @staticmethod
    def _queue(every: Sequence[SyntheticQuestion], state: TrainState) -> list[list[SyntheticQuestion]]:
        """Return the questions and conversations of the filter in their order, the skipped ones last."""
        wanted = talks([one for one in every if one.outcome is OUTCOMES[state.only]])
        places = {name: place for place, name in enumerate(state.skipped, start=1)}
        return sorted(wanted, key=lambda turns: places.get(turns[0].id, 0))

    def _card(
        self,
        turns: Sequence[SyntheticQuestion],
        queue: Sequence[Sequence[SyntheticQuestion]],
        every: Sequence[SyntheticQuestion],
        accepted: int,
        state: TrainState,
        session: Session,
    ) -> str:
        living = [one for one in every if one.outcome is not Outcome.DROPPED]
        looked = sum(one.outcome is not Outcome.NEW for one in living)
        if not turns:
            return render(
                "train_review",
                question=None,
                made=len(living),
                only=state.only,
                accepted=accepted,
                undo=bool(state.undo),
            )
        chosen = turns[0]
        name = self.services.documents.names(session.owner).get(chosen.document_id, "")
        return render(
            "train_review",
            question=chosen,
            turns=turns,
            position=queue.index(turns) + 1,
            total=len(queue),
            only=state.only,
            accepted=accepted,
            looked=looked,
            of=len(living),
            undo=bool(state.undo),
            maker="rules" if chosen.kind == RULES else f"{chosen.model}, {chosen.kind}",
            place=f"{name}, {pages_of(chosen)}",
        )

    def _page(self, one: SyntheticQuestion, session: Session, request: Click) -> str:
        passage = Passage(one.passage_id, one.spans, one.passage)
        name = self.services.documents.names(session.owner).get(one.document_id, "the document")
        return show_page(
            self.services,
            session.owner,
            one.document_id,
            main_page(passage),
            settings=session.settings,
            passage=passage,
            request=request,
            filename=name,
        ).html

    # ------------------------------------------------------------ deciding

    def clicked(self, state: TrainState, session: Session, event: gr.EventData) -> TrainState:
        """Do what a button of the card says; returns the state after it."""
        data = clicked(event)
        match data.get("action"):
            case "accept" | "reject" | "edit-question" | "edit-turn" | "edit-answer":
                return self._decided(data, state, session)
            case "later":
                name = data["question"]
                return replace(state, question="", skipped=(*(one for one in state.skipped if one != name), name))
            case "back":
                queue = self._queue(self.services.training.synthesis.kept.list(session.owner), state)
                place = next((n for n, one in enumerate(queue) if one[0].id == data["question"]), 0)
                return replace(state, question=queue[max(0, place - 1)][0].id if queue else "")
            case "undo" if state.undo:
                before = state.undo[-1]
                self.services.training.synthesis.kept.restore(session.owner, before)
                only = next(name for name, outcome in OUTCOMES.items() if outcome is before.outcome)
                every = self.services.training.synthesis.kept.list(session.owner)
                first = next(talk[0].id for talk in talks(every) if any(one.id == before.id for one in talk))
                return replace(state, undo=state.undo[:-1], question=first, only=only)
            case "step":
                return replace(state, step=data["step"])
        return state

    def _decided(self, data: Click, state: TrainState, session: Session) -> TrainState:
        text = data.get("text", "")
        if data["action"] == "edit-question" and not text.strip():
            raise UsageError("The question has no words.", "Type some, or reject it.")
        every = self.services.training.synthesis.kept.list(session.owner)
        before = next((one for one in every if one.id == data["question"]), None)
        if before is None:
            raise UsageError("There is no such question here.", "It may have been removed with its document.")
        undo = (*state.undo, before)[-MOST_UNDO:]
        if changed := EDITED.get(data["action"]):
            self.services.training.synthesis.kept.decide(session.owner, before.id, before.outcome, **{changed: text})
            return replace(state, undo=undo)
        queue = self._queue(every, state)
        place = next((n for n, one in enumerate(queue) if one[0].id == before.id), -1)
        self.services.training.synthesis.kept.decide(session.owner, before.id, DECISIONS[data["action"]], text)
        following = queue[place + 1][0].id if 0 <= place < len(queue) - 1 else ""
        return replace(state, undo=undo, question=following)

    def page_clicked(self, state: TrainState, session: Session, event: gr.EventData) -> Any:
        """Turn the page beside the question."""
        found = [one for one in self.services.training.synthesis.kept.list(session.owner) if one.id == state.question]
        return self._page(found[0], session, clicked(event)) if found else gr.skip()

    # ------------------------------------------------------------ files

    def download(self, kind: str, session: Session) -> str:
        """Return the path of the accepted questions as a file; `kind` is one of NAMES."""
        chosen, owner = (Outcome.ACCEPTED,), session.owner
        if kind == "beir":
            files, _ = self.services.training.synthesis.beir_files(owner, chosen, session.settings)
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, data in files.items():
                    archive.writestr(name, data)
            return downloads.write(NAMES[kind], packed.getvalue())
        data, _ = self.services.training.synthesis.questions_file(owner, chosen)
        return downloads.write(NAMES[kind], data)
