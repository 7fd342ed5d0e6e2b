"""Runs on the Evaluate tab: questions through systems. Set up on the left, results in the middle, answers right."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.evaluation_types import Run, RunState
from pdfqa_core.exports.figure import figure
from pdfqa_core.exports.frames import items_frame, write_frame
from pdfqa_core.exports.report import methods_text, report_html, table_latex
from pdfqa_core.exports.runs import charts_figure, drawable, results_object, with_answers
from pdfqa_core.metrics.comparison import Comparison, compare
from pdfqa_core.protocols.gold.rows import TEMPLATE, template
from pdfqa_core.protocols.study_definition import PRESETS
from pdfqa_core.services import Services
from pdfqa_core.services.run_export import answer_files
from pdfqa_core.types import Progress
from pdfqa_core.ui import downloads
from pdfqa_core.ui.components import AT_ONCE, QUIET, clicked, error_html, live_html, plural, render, switch
from pdfqa_core.ui.documents import work_html
from pdfqa_core.ui.evaluate_runs_form import (
    TICK,
    Fields,
    Form,
    described,
    installed,
    of_protocol,
    offered,
    planned,
    suited,
)
from pdfqa_core.ui.evaluate_runs_view import (
    ANY,
    EVERY,
    FILTERS_OF_ONE,
    RIGHT_WORDS,
    RunResults,
    RunsState,
    paused_words,
    run_rows,
    so_far_rows,
    steps_of,
    wanted_items,
)
from pdfqa_core.ui.evaluate_setup import OWN_FILE, finders, passages_by, scope_offered
from pdfqa_core.ui.page_view import show_page
from pdfqa_core.ui.roles import check_models, may_choose_models
from pdfqa_core.ui.session import Session

# ----------------------------------------------------------------------------------------------------
# Files of a run: what the buttons below its table give to the browser.

FILES = {
    "html": ("HTML report", "run.html"), "charts": ("Charts", "charts.pdf"), "figure": ("Figure", "figure.pdf"),
    "csv": ("CSV", "run.csv"), "parquet": ("Parquet", "run.parquet"), "latex": ("LaTeX", "run.tex"),
    "json": ("JSON", "run.json"), "answers": ("Answers", "answers.zip"), "methods": ("Methods", "methods.md"),
    "zip": ("Whole run", "run.zip"),
}  # fmt: skip


def download(services: Services, kind: str, owner: str, state: RunsState) -> str:
    """Return the path of a file of the shown runs; `kind` is one of FILES.

    Answers, methods and the ZIP are of the chosen run alone, all else of those beside it too.
    """
    run = services.evaluation.runs.get(owner, state.run) if state.run else None
    if run is None or run.results is None:
        raise UsageError("There is nothing to download yet.", "Start a run and let it finish.")
    return downloads.write(FILES[kind][1], _made(services, kind, owner, run, state))


def _made(services: Services, kind: str, owner: str, run: Run, state: RunsState) -> bytes:
    results = services.evaluation.together(owner, state.runs)

    def compared() -> Comparison:
        return compare(results, baseline=state.baseline)

    def answers() -> bytes:
        cases = services.evaluation.cases(owner, run.plan)
        return downloads.zipped(answer_files(run, cases, services.evaluation.runs.predictions(owner, run.id)))

    def everything() -> bytes:
        predictions = services.evaluation.predicted(owner, state.runs)
        found = with_answers(results_object(results, compared()), run.id, predictions, {})
        return json.dumps(found, ensure_ascii=False, indent=1).encode("utf-8", "replace")

    makers: Mapping[str, Callable[[], bytes]] = {
        "html": lambda: report_html(results, compared()),
        "charts": lambda: charts_figure(results, "pdf", state.sort if state.sort in drawable(results) else ""),
        "figure": lambda: figure(results, compared(), "pdf"),
        "csv": lambda: write_frame(items_frame(results)),
        "parquet": lambda: write_frame(items_frame(results), "parquet"),
        "latex": lambda: table_latex(results, compared()),
        "json": everything,
        "answers": answers,
        "methods": lambda: methods_text(run).encode("utf-8", "replace"),
        "zip": lambda: services.evaluation.exported(owner, run.id),
    }
    return makers[kind]()


# ----------------------------------------------------------------------------------------------------
# *Rate these*: makes a study of the questions that the Evaluate tab shows of a run.

ASKED = ("answers", "rag", "pairwise")  # those that need no rewriting


class Rate:
    """The components: a fold with how many are drawn, by which seed, and what is asked."""

    def __init__(self, results: RunResults) -> None:
        self._results = results
        with gr.Accordion("Rate these", open=False, elem_id="runs-rate"):
            with gr.Row():
                self.name = gr.Textbox(
                    label="Name of the study",
                    max_length=120,
                    placeholder="that of the run",
                    min_width=160,
                    elem_id="runs-rate-name",
                )
                self.preset = gr.Dropdown(
                    [(f"{PRESETS[one].title}: {PRESETS[one].words}", one) for one in ASKED],
                    value=ASKED[0],
                    label="What is asked",
                    min_width=160,
                    elem_id="runs-rate-preset",
                )
            with gr.Row():
                self.n = gr.Number(
                    0, label="How many (0: all)", precision=0, minimum=0, min_width=120, elem_id="runs-rate-n"
                )
                self.seed = gr.Number(1, label="Seed of the draw", precision=0, min_width=120)
            self.make = gr.Button(
                "Make a study of the questions shown below", size="sm", elem_id="runs-rate-make", scale=0
            )
            self.said = live_html(elem_id="runs-rate-said")

    def wire(self, state: gr.State, session: gr.State) -> None:
        """Make the study when the button is pressed."""
        self.make.click(self._made, [self.name, self.preset, self.n, self.seed, state, session], self.said, **QUIET)

    def _made(
        self, name: str, preset: str, n: float | None, seed: float | None, state: RunsState, session: Session
    ) -> str:
        services = self._results.services
        try:
            run = services.evaluation.runs.get(session.owner, state.run)
            evaluation = self._results.evaluation(state, session)
            measure = state.sort or evaluation.measures[0]
            items = evaluation.systems[0].items
            chosen = [items[place].id for place in wanted_items(evaluation, measure, state.wanted)]
            if not chosen:
                raise PdfQAError("No question is shown, so there is nothing to rate.", "Show other questions.")
            study = services.evaluation.study_of(
                session.owner,
                name.strip() or run.name,
                state.runs,
                item_ids=chosen,
                systems=(state.baseline, state.other) if state.other else (),
                n=max(0, int(n or 0)),
                seed=int(seed or 0),
                preset=preset,
            )
        except PdfQAError as error:
            return error_html(error)
        return render(
            "said",
            text=f"“{study.name}” is made, with {plural(len(study.turn_ids), 'item')} of "
            f"{plural(len(chosen), 'question')}; raters do not see which system answered. It is on the Annotate "
            "tab.",
        )


# ----------------------------------------------------------------------------------------------------
# The charts of a run on the Evaluate tab: drawn when they are unfolded, for they take a while.


class Charts:
    """The components: a fold, what is drawn, the charts."""

    def __init__(self, results: RunResults) -> None:
        self._results = results
        self.opened = gr.State(False)
        with gr.Accordion("Charts", open=False, elem_id="runs-charts-fold") as self.fold:
            self.measure = gr.Dropdown([], label="Measure", elem_id="runs-chart-measure", min_width=140)
            self.charts = live_html(elem_id="runs-charts-drawn")

    def wire(self, state: gr.State, session: gr.State) -> None:
        """Draw when the fold is opened, and again when something else is shown."""
        drawn: dict[str, Any] = {
            "inputs": [self.opened, self.measure, state, session],
            "outputs": [self.opened, self.measure, self.charts],
            **QUIET,
        }
        self.fold.expand(partial(self._draw, opening=True), **drawn)
        self.fold.collapse(lambda: False, None, self.opened, **QUIET)
        for changed in (state.change, self.measure.input):
            changed(self._draw, **drawn)

    def _draw(
        self, opened: bool, measure: str, state: RunsState, session: Session, *, opening: bool = False
    ) -> tuple[Any, ...]:
        if not opened and not opening:
            return (gr.skip(),) * 3
        return True, *self._results.charts(state, session, measure or "")


# ----------------------------------------------------------------------------------------------------
# Runs on the Evaluate tab: questions through systems. Set up on the left, results in the middle, answers right.

STRATEGIES = (
    "evidence", "retrievers", "chunkers", "readers", "models", "extractors", "rewriters", "histories", "repeats",
    "temperature",
)  # fmt: skip
FETCH = "() => window.pdfqa.fetch('runs-download')"


class Tab:
    """The handlers."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.results = RunResults(services)

    # ------------------------------------------------------------ what is shown

    def shown(self, state: RunsState, session: Session) -> tuple[Any, ...]:
        """Return list, table, tools, the choices, questions, answers, page and state of the chosen run."""
        runs = self.services.evaluation.list_runs(session.owner)
        chosen = next((one.id for one in runs if one.id == state.run), runs[0].id if runs else "")
        going, _ = self.services.evaluation.under_way(session.owner)
        listed = render("evaluate_runs", runs=run_rows(runs, chosen, going))
        blank = (gr.skip(),) * 5
        if not chosen:
            return listed, "", gr.Column(visible=False), *blank, "", "", "", RunsState()
        state = replace(state, run=chosen)
        run = self.services.evaluation.runs.get(session.owner, chosen)
        if run.results is None:
            return listed, self._open(run, going, session), gr.Column(visible=False), *blank, "", "", "", state
        state, others, evaluation = self.results.settled(state, session)
        return (
            listed,
            self.results.table(run, evaluation, state, session.owner),
            gr.Column(visible=True),
            *self.results.choices(state, others, evaluation),
            self.results.items(evaluation, state),
            self.results.item(evaluation, state, session),
            gr.skip() if state.item else "",
            state,
        )

    def _open(self, run: Run, going: str, session: Session) -> str:
        """Return what there is to say of a run without scores."""
        ended = run.error or self.services.evaluation.said(run.id)
        said = "" if going == run.id or run.state is RunState.STOPPED else ended
        rows = self.services.evaluation.so_far(session.owner, run.id)
        measures, listed = so_far_rows(rows)
        return render(
            "evaluate_run_open",
            run=run,
            said=said,
            going=going == run.id,
            measures=measures,
            rows=listed,
        )

    # ------------------------------------------------------------ the left column

    def _form(self, session: Session, fields: tuple[Any, ...]) -> Form:
        return Form.of(*fields).filled(self.services, session.owner)

    def described(self, session: Session, *fields: Any) -> tuple[str, str]:
        """Return what stands in the file, and what the systems are."""
        form = self._form(session, fields)
        sample = self.services.documents.has_sample(session.owner)
        return described(form, sample=sample), planned(self.services, form, session)

    def suited(self, session: Session, *fields: Any) -> Any:
        """Return the choice of evidence that suits protocol and file."""
        return suited(self.services, self._form(session, fields), session)

    def planned(self, session: Session, *fields: Any) -> str:
        """Return what the systems are."""
        return planned(self.services, self._form(session, fields), session)

    def start(self, state: RunsState, session: Session, *fields: Any) -> tuple[Any, ...]:
        """Begin a run, or go on with the one that was begun with the same choices."""
        form = self._form(session, fields)
        try:
            if form.named_models:
                may_choose_models()
            request = form.request(session)
            check_models(self.services, request.systems.values())
            run = self.services.evaluation.launch(session.owner, request)
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            return (error_html(error), *self._buttons(session), *self.shown(state, session))
        return (*self._work(session), *self.shown(RunsState(run.id), session))

    def stop(self, session: Session) -> None:
        """Pause the run; what is done stays."""
        self.services.evaluation.stop_under_way(session.owner)

    def _buttons(self, session: Session) -> tuple[Any, ...]:
        going, _ = self.services.evaluation.under_way(session.owner)
        return gr.Button(visible=not going), gr.Button(visible=bool(going)), gr.Timer(TICK, active=bool(going))

    def _work(self, session: Session) -> tuple[Any, ...]:
        going, step = self.services.evaluation.under_way(session.owner)
        if not isinstance(step, Progress):
            return ("", *self._buttons(session))
        run = next((one for one in self.services.evaluation.list_runs(session.owner) if one.id == going), None)
        return (work_html(*(steps_of(step, run) if run else (step,))), *self._buttons(session))

    def tick(self, state: RunsState, session: Session) -> tuple[Any, ...]:
        """Show how far the run is; at its end what it came to."""
        going, _ = self.services.evaluation.under_way(session.owner)
        if going:
            runs = self.services.evaluation.list_runs(session.owner)
            listed = render("evaluate_runs", runs=run_rows(runs, state.run, going))
            run = self.services.evaluation.runs.get(session.owner, going) if state.run == going else None
            table = gr.skip() if run is None or run.results is not None else self._open(run, going, session)
            return (*self._work(session), listed, table, *(gr.skip(),) * 10)
        return (self._ended(state, session), *self._buttons(session), *self.shown(state, session))

    def _ended(self, state: RunsState, session: Session) -> str:
        """Return what ended the shown run before it was finished: nothing, a pause, or an error."""
        said = self.services.evaluation.said(state.run)
        run = next((one for one in self.services.evaluation.list_runs(session.owner) if one.id == state.run), None)
        if not said or run is None:
            return ""
        return render("note", text=paused_words(run)) if run.state is RunState.STOPPED else error_html(PdfQAError(said))

    def show(self, state: RunsState, session: Session, *fields: Any) -> tuple[Any, ...]:
        """Fill everything, also of a run that goes on since before the page was loaded."""
        going, _ = self.services.evaluation.under_way(session.owner)
        state = replace(state, run=going) if going and not state.run else state
        known = self.described(session, *fields)
        found_by = gr.CheckboxGroup(choices=finders(self.services))  # a model may have been trained since
        scope = self.offered(session, *fields)
        first = installed(self.services, session), scope, found_by, *known
        return (*first, *self._work(session), *self.shown(state, session))

    def offered(self, session: Session, *fields: Any) -> gr.Dropdown:
        """Return the choice of what is searched."""
        form = Form.of(*fields)
        return scope_offered(self.services, form.source, form.scope, session)

    # ------------------------------------------------------------ clicks

    def list_clicked(self, state: RunsState, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Open, name, delete a run, or go on with it."""
        data = clicked(event)
        run_id, message = data["run"], ""
        try:
            match data["action"]:
                case "rename":
                    self.services.evaluation.runs.rename(session.owner, run_id, data.get("text", ""))
                case "delete":
                    self.services.evaluation.remove_run(session.owner, run_id)
                    run_id = ""
                case "resume" | "retry":
                    self.services.evaluation.start(session.owner, run_id, retry=data["action"] == "retry")
        except PdfQAError as error:
            message = error_html(error)
        work, *buttons = self._work(session)
        keep = run_id == state.run
        return (message or work, *buttons, *self.shown(state if keep else RunsState(run_id), session))

    def bring(self, upload: str | None, state: RunsState, session: Session) -> tuple[Any, ...]:
        """Take in a run that was exported from another workspace."""
        message = ""
        try:
            if not upload:
                raise UsageError("No file was sent.", "Choose the ZIP of a run.")
            path = Path(upload)
            state = RunsState(self.services.evaluation.take_in(session.owner, path, path.name).id)
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            message = error_html(error)
        work, *buttons = self._work(session)
        return (message or work, *buttons, *self.shown(state, session))

    def table_clicked(self, state: RunsState, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Sort the table by a measure, a second click goes back to the order of the run; or go on with an open run."""
        if clicked(event).get("action") == "resume":
            return self.list_clicked(state, session, event)
        sort = clicked(event).get("measure", "")
        state = replace(state, sort="" if sort == state.sort else sort)
        return (*(gr.skip(),) * 4, *self.shown(state, session))

    def changed(
        self, beside: list[str], baseline: str, other: str, part: str, only: str, state: RunsState, session: Session
    ) -> tuple[Any, ...]:
        """Put runs beside each other, compare with another system, or show some of the questions."""
        state = replace(
            state,
            beside=tuple(beside or ()),
            baseline=baseline or "",
            only=only,
            part="" if part == EVERY else part or "",
            other="" if other == ANY else other or "",
        )
        return self.shown(state, session)

    def item_clicked(self, state: RunsState, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Open a question."""
        state = replace(state, item=clicked(event).get("item", ""))
        run = self.services.evaluation.runs.get(session.owner, state.run)
        if run.results is None:
            return gr.skip(), gr.skip(), gr.skip(), state
        evaluation = self.results.evaluation(state, session)
        return self.results.items(evaluation, state), self.results.item(evaluation, state, session), "", state

    def page_clicked(self, session: Session, event: gr.EventData) -> Any:
        """Open the page of a passage, or turn the page."""
        data = clicked(event)
        if not data.get("document"):
            return gr.skip()
        return show_page(self.services, session.owner, data["document"], data.number("number", 1)).html

    def download(self, kind: str, state: RunsState, session: Session) -> str:
        """Return the path of a file of the shown run."""
        return download(self.services, kind, session.owner, state)


@dataclass(frozen=True, slots=True)
class Part:
    """What the tab needs of this part: its components and what fills them."""

    handler: Any
    inputs: list[Any]
    outputs: list[Any]
    what: gr.Radio


def build(services: Services, session: gr.State) -> Part:
    """Build the part."""
    tab = Tab(services)
    state = gr.State(RunsState())
    switch("runs-columns", "Set-up", "Results", "Answers")
    with gr.Row(elem_classes=["pq-columns"], elem_id="runs-columns"):
        with gr.Column(scale=2):
            left = Fields(services)
        with gr.Column(scale=5):
            listed = live_html(elem_id="runs-list")
            bring = gr.UploadButton(
                "Bring in a run (ZIP)", file_types=[".zip"], size="sm", elem_id="runs-bring", scale=0, min_width=180
            )
            table = live_html(elem_id="runs-results")
            with gr.Column(visible=False) as tools:
                with gr.Row():
                    buttons = {
                        kind: gr.Button(label, size="sm", elem_id=f"runs-{kind}", scale=1, min_width=86)
                        for kind, (label, _) in FILES.items()
                    }
                beside = gr.Dropdown(
                    [], multiselect=True, label="Runs beside it", info="of the same questions", elem_id="runs-beside"
                )
                with gr.Row():
                    baseline = gr.Dropdown([], label="Compare with", elem_id="runs-baseline")
                    other = gr.Dropdown([ANY], value=ANY, label="What is compared", elem_id="runs-other")
                    part = gr.Dropdown([EVERY], value=EVERY, label="Questions of", elem_id="runs-part")
                charts, rate = Charts(tab.results), Rate(tab.results)
                only = gr.Radio(
                    list(FILTERS_OF_ONE.items()),
                    value="all",
                    label="Show questions",
                    elem_id="runs-only",
                    info=RIGHT_WORDS,
                )
            file = gr.DownloadButton("download", elem_id="runs-download", elem_classes=["pq-offstage"])
            items = live_html(elem_id="runs-items")
        with gr.Column(scale=3):
            item = live_html(elem_id="runs-item")
            page = live_html(elem_id="runs-page")
    form = [session, *left.form]
    shown = [listed, table, tools, beside, baseline, other, part, only, items, item, page, state]
    working = [left.work, left.go, left.stop, left.timer, *shown]
    _wire_set_up(tab, left, form)
    left.go.click(tab.start, [state, *form], working, **QUIET)
    left.stop.click(tab.stop, session, None, **AT_ONCE)
    left.timer.tick(tab.tick, [state, session], working, **AT_ONCE)
    listed.click(tab.list_clicked, [state, session], working, **QUIET)
    bring.upload(tab.bring, [bring, state, session], working, **QUIET)
    table.click(tab.table_clicked, [state, session], working, **QUIET)
    for choice in (beside, baseline, other, part, only):
        choice.input(tab.changed, [beside, baseline, other, part, only, state, session], shown, **QUIET)
    charts.wire(state, session)
    rate.wire(state, session)
    items.click(tab.item_clicked, [state, session], [items, item, page, state], **QUIET)
    for pages in (item, page):
        pages.click(tab.page_clicked, session, page, **QUIET)
    taken = left.template.click(lambda: downloads.write(TEMPLATE, template()), None, file, **QUIET)
    taken.success(None, None, None, js=FETCH)
    for kind, button in buttons.items():
        made = button.click(partial(tab.download, kind), [state, session], file, **QUIET)
        made.success(None, None, None, js=FETCH)
    chosen = [left.field(name) for name in ("models", "scope", "retrievers")]
    return Part(tab.show, [state, *form], [*chosen, left.known, left.systems, *working], left.what)


def _wire_set_up(tab: Tab, left: Fields, form: list[Any]) -> None:
    """Have the left column say what stands in the file and what the systems are, as its fields are filled."""
    source, upload = left.field("source"), left.field("upload")
    described_now = {"fn": tab.described, "inputs": form, "outputs": [left.known, left.systems], **QUIET}
    planned_now = {"fn": tab.planned, "inputs": form, "outputs": left.systems, **QUIET}
    last: dict[str, Any] = {"trigger_mode": "always_last"}  # hands are quicker than answers
    suited_now = {"fn": tab.suited, "inputs": form, "outputs": left.field("evidence"), **QUIET}
    source.change(
        lambda s: (gr.File(visible=s == OWN_FILE), gr.Button(visible=s == OWN_FILE)),
        source,
        [upload, left.template],
        **AT_ONCE,
    )
    source.change(tab.offered, form, left.field("scope"), **AT_ONCE)
    for event in (source.change, upload.upload, upload.clear, upload.delete):
        brought = event(offered, [source, upload], [left.fold, *left.columns], **QUIET)
        brought.then(**suited_now).then(**described_now)
    protocol, disambig = left.field("protocol"), left.field("disambig")
    for field in (protocol, disambig):
        field.input(of_protocol, [protocol, disambig], [protocol, *left.of_protocol], **AT_ONCE)
    protocol.input(**suited_now, **last).then(**described_now)
    others = left.field("unanswerable")
    asked = (left.field(name).input for name in ("limit", "seed"))
    for event in (others.upload, others.clear, others.delete, *asked, *(field.input for field in left.columns)):
        event(**described_now, **last)
    for name in STRATEGIES:
        left.field(name).input(**planned_now, **last)
    sources, chunkers = left.field("as_in_sources"), left.field("chunkers")
    sources.input(partial(passages_by, tab.services), sources, chunkers, **last, **AT_ONCE).then(**planned_now)
