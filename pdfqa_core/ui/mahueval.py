"""MaHuEval on the Annotate tab: the conversation that an evaluator holds now, its turns counted, and what remains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError
from pdfqa_core.protocols.conversations import Doing, Plan, Roster, Step, step_words
from pdfqa_core.reading.outcomes import rated_text
from pdfqa_core.services import Services
from pdfqa_core.services.evaluation import first_questions
from pdfqa_core.types import Progress, Retrieved, Stored, Token, Turn
from pdfqa_core.ui.annotate_view import Work
from pdfqa_core.ui.components import AT_ONCE, QUIET, clicked, error_html, live_html, render
from pdfqa_core.ui.session import Session


class ProtocolParts:
    """The components: above the item what is held now, below the sign-in the form that begins a study."""

    def __init__(self) -> None:
        with gr.Column(visible=False, elem_id="annotate-protocol") as self.box:
            self.shown = live_html(elem_id="annotate-roster")
            self.said = live_html(elem_id="annotate-protocol-said")
            self.question = gr.Textbox(
                label="Question",
                show_label=False,
                lines=1,
                max_lines=4,
                placeholder="ask…",
                max_length=2000,
                elem_id="annotate-question",
                elem_classes=["pq-field"],
            )
            with gr.Row():
                self.ask = gr.Button("Ask", variant="primary", elem_id="annotate-ask", min_width=120)
                self.finish = gr.Button("Finish and rate", elem_id="annotate-finish", min_width=160)

    def form(self) -> None:
        """Build the form that begins a study; called where it stands."""
        with gr.Accordion("New study: two people ask and rate (MaHuEval)", open=False, elem_id="annotate-mahueval"):
            live_html(render("mahueval_hint", plan=Plan(())))
            self.name = gr.Textbox(label="Name of the study", max_length=80, elem_id="annotate-mahueval-name")
            self.evaluators = gr.Textbox(
                label="The two evaluators, parted by a comma", max_length=200, elem_id="annotate-mahueval-who"
            )
            self.questions = gr.Textbox(
                label="First questions to choose from, one a line (optional)",
                lines=3,
                max_lines=6,
                max_length=100_000,
                elem_id="annotate-mahueval-questions",
            )
            self.begin = gr.Button("Begin", elem_id="annotate-mahueval-begin")

    def all(self) -> list[Any]:
        """Return what a step fills."""
        return [self.box, self.shown, self.said, self.question, self.ask, self.finish]

    def filled(self, services: Services, work: Work, session: Session, *, typed: bool = False) -> dict[Any, Any]:
        """Return what is shown of the protocol while the tab is shown; a question that is `typed` stays."""
        return dict(zip(self.all(), step_shown(services, work, session, typed=typed), strict=True))

    def wire(
        self,
        services: Services,
        work: gr.State,
        session: gr.State,
        outputs: list[Any],
        message: Any,
        opened: Callable[[str, Session], dict[Any, Any]],
        go_on: Callable[[Any, Session], dict[Any, Any]],
    ) -> None:
        """Connect them: `opened` shows a study on the tab, `go_on` the next item to rate; both fill `outputs`."""
        handlers = Handlers(services, message, opened)
        state = [work, session]
        for event in (self.ask.click, self.question.submit):
            event(handlers.ask, [self.question, *state], self.all(), **QUIET)
        self.shown.click(handlers.clicked, None, self.question, **AT_ONCE)
        finished = self.finish.click(handlers.finish, state, self.all(), **AT_ONCE)
        finished.then(go_on, state, outputs, **AT_ONCE)
        self.begin.click(handlers.begin, [self.name, self.evaluators, self.questions, session], outputs, **AT_ONCE)


class Handlers:
    """What the part does."""

    def __init__(self, services: Services, message: Any, opened: Callable[[str, Session], dict[Any, Any]]) -> None:
        self.services = services
        self.message = message
        self.opened = opened

    def begin(self, name: str, evaluators: str, questions: str, session: Session) -> dict[Any, Any]:
        """Make the study and show it."""
        plan = Plan(tuple((evaluators or "").split(",")), questions=first_questions((questions or "").splitlines()))
        try:
            study = self.services.evaluation.mahueval.begin(session.owner, name or "", plan)
        except PdfQAError as error:
            return {self.message: error_html(error)}
        return self.opened(study.id, session)

    def ask(self, question: str, work: Work, session: Session) -> Iterator[list[Any]]:
        """Ask, show the answer while it is written, and what is due after it.

        The field is emptied at the start: what is typed while the answer is written stays.
        """
        question = question or ""
        place = (session.owner, work.study_id, work.annotator)
        text = ""
        try:
            yield [*_writing(question, "searching")[:3], "", gr.Button(interactive=False), gr.skip()]
            for event in self.services.evaluation.mahueval.ask(*place, question, session.settings):
                words = ""
                if isinstance(event, Progress):
                    words = event.phase
                elif isinstance(event, Retrieved):
                    words = "reading"
                elif isinstance(event, Token):
                    text += event.text
                    words = "writing"
                elif isinstance(event, Stored):
                    break
                if words:
                    yield _writing(question, words, text)
        except Exception as error:  # noqa: BLE001 - whatever happens, one can ask again
            said = error_html(error) + render("put_back", question=question, field="annotate-question")
        else:
            said = ""
        yield step_shown(self.services, work, session, said, typed=True)

    def finish(self, work: Work, session: Session) -> list[Any]:
        """End the conversation; its turns are to be rated now."""
        try:
            self.services.evaluation.mahueval.finish(session.owner, work.study_id, work.annotator)
        except PdfQAError as error:
            return step_shown(self.services, work, session, error_html(error))
        return step_shown(self.services, work, session)

    @staticmethod
    def clicked(event: gr.EventData) -> str:
        """Put a first question that was chosen into the field."""
        return clicked(event)["question"]


def _writing(question: str, words: str, text: str = "") -> list[Any]:
    """Return what is shown while an answer is written."""
    html = render("mahueval_writing", question=question, words=words, text=text)
    return [gr.skip(), gr.skip(), html, gr.skip(), gr.skip(), gr.skip()]


def step_shown(services: Services, work: Work, session: Session, said: str = "", *, typed: bool = False) -> list[Any]:
    """Return what the evaluator does next; nothing where the study follows no protocol.

    `typed`: what stands in the field for questions stays, unless the first question is given.
    """
    hidden = [gr.Column(visible=False), "", "", gr.skip(), gr.skip(), gr.skip()]
    if not work.study_id or not services.studies.rosters.follows(work.study_id):
        return hidden
    roster = services.evaluation.mahueval.roster(session.owner, work.study_id)
    if roster is None:
        return hidden
    step = roster.step(work.annotator) if work.annotator in roster.plan.evaluators else None
    html = _html(services, roster, step, work.annotator)
    if step is None or step.doing not in (Doing.BEGIN, Doing.HOLD):
        return [gr.Column(visible=True), html, said, *([gr.update(visible=False)] * 3)]
    turns = len(step.held.turns) if step.held else 0
    full, given = turns >= roster.plan.most, step.first_question if turns == 0 else ""
    return [
        gr.Column(visible=True),
        html,
        said,
        gr.update(visible=not full, interactive=not given, **({} if typed and not given else {"value": given})),
        gr.Button(visible=not full, interactive=True),
        gr.Button(visible=turns >= roster.plan.least),
    ]


def _html(services: Services, roster: Roster, step: Step | None, annotator: str) -> str:
    plan = roster.plan
    held = step.held if step else None
    turns = held.turns if held and step and step.doing is Doing.HOLD else ()
    rounds = [
        (
            name,
            [
                (
                    sum(one.finished for one in roster.of(name) if one.round == number),
                    sum(one.rated for one in roster.of(name) if one.round == number),
                    sum(len(one.turns) for one in roster.of(name) if one.round == number and one.finished),
                )
                for number in (1, 2)
            ],
        )
        for name in plan.evaluators
    ]
    offered: tuple[str, ...] = ()
    if step and step.doing is Doing.BEGIN and not step.first_question:
        offered = services.evaluation.mahueval.suggestions(roster, annotator)
    return render(
        "mahueval",
        plan=plan,
        step=step,
        doing=step.doing.value if step else "",
        rounds=rounds,
        offered=offered,
        turns=[(one, rated_text(one.answer), _pages(one)) for one in turns],
        words=step_words(step, plan) if step else "",
        count=len(turns),
        rate=len(held.turns) - held.rated if held and held.finished else 0,
    )


def _pages(turn: Turn) -> str:
    pages = {page for hit in turn.answer.hits for page in hit.passage.pages}
    return ", ".join(map(str, sorted(pages)))
