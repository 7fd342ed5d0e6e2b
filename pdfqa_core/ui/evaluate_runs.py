"""Runs on the Evaluate tab: questions through systems. Set up on the left, results in the middle, answers right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError
from pdfqa_core.exports.table import measure_of
from pdfqa_core.metrics.comparison import Comparison, compare
from pdfqa_core.metrics.groups import TURN, TYPE, grouped
from pdfqa_core.protocols.gold import suffixes
from pdfqa_core.protocols.runs import run_protocols
from pdfqa_core.services import Services
from pdfqa_core.services.strategies import names as strategies
from pdfqa_core.types import Evaluation, Progress, Run
from pdfqa_core.ui.components import AT_ONCE, QUIET, clicked, error_html, live_html, render, switch
from pdfqa_core.ui.documents import work_html
from pdfqa_core.ui.evaluate_runs_files import FILES, download
from pdfqa_core.ui.evaluate_runs_setup import EVIDENCE, HISTORIES, Form, described, planned
from pdfqa_core.ui.evaluate_runs_view import (
    FILTERS,
    answers_of,
    group_rows,
    groups_of,
    item_rows,
    result_rows,
    run_rows,
    shown_measures,
)
from pdfqa_core.ui.evaluate_setup import OWN_FILE, SAMPLE_QUESTIONS
from pdfqa_core.ui.page_view import show_page
from pdfqa_core.ui.session import Session

WHAT = ("Retrieval", "Answers")
TICK = 1.5  # seconds between two looks at a run that goes on
FETCH = "() => window.pdfqa.fetch('runs-download')"
EVERY = "all questions"


@dataclass(frozen=True, slots=True)
class RunsState:
    """The shown run, what its systems are compared with, the order of the table, and which question is open."""

    run: str = ""
    baseline: str = ""
    sort: str = ""
    only: str = "all"
    part: str = ""
    item: str = ""
    going: str = ""


class Tab:
    """The handlers."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self._compared = lru_cache(maxsize=32)(self._compare)

    # ------------------------------------------------------------ what is shown

    def shown(self, state: RunsState, session: Session) -> tuple[Any, ...]:
        """Return list, table, tools, baseline, parts, questions, answers, page and state of the chosen run."""
        runs = self.services.runs.list(session.owner)
        chosen = next((one.id for one in runs if one.id == state.run), runs[0].id if runs else "")
        going, _ = self.services.running.of(session.owner)
        listed = render("evaluate_runs", runs=run_rows(runs, chosen, going))
        if not chosen:
            hidden = gr.Column(visible=False)
            return listed, "", hidden, gr.skip(), gr.skip(), "", "", "", RunsState()
        state = replace(state, run=chosen)
        run = self.services.runs.get(session.owner, chosen)
        if run.results is None:
            said = "" if going == chosen else run.error or self.services.running.said(chosen)
            table = render("evaluate_run_open", run=run, said=said, going=going == chosen)
            return listed, table, gr.Column(visible=False), gr.skip(), gr.skip(), "", "", "", state
        names = [system.name for system in run.results.systems]
        state = replace(state, baseline=state.baseline if state.baseline in names else names[0])
        parts = [EVERY, *(f"turn {one}" for one in groups_of(run.results, TURN)),
                 *(f"type {one}" for one in groups_of(run.results, TYPE))]  # fmt: skip
        state = replace(state, part=state.part if state.part in parts else "")
        return (
            listed, self._table(run, run.results, state, session.owner), gr.Column(visible=True),
            gr.Dropdown(choices=names, value=state.baseline, visible=len(names) > 1),
            gr.Dropdown(choices=parts, value=state.part or EVERY, visible=len(parts) > 1),
            self._items(run.results, state), self._item(run, run.results, state, session),
            gr.skip() if state.item else "", state,
        )  # fmt: skip

    def _table(self, run: Run, evaluation: Evaluation, state: RunsState, owner: str) -> str:
        comparison = self._compared(owner, run.id, evaluation.made_at.isoformat(), state.baseline)
        measures = shown_measures(evaluation)
        names = [system.name for system in evaluation.systems]
        first = measures[0]
        deep = len(groups_of(evaluation, TURN)) > 1
        turns = grouped(evaluation, TURN, (first,), baseline=state.baseline) if deep else ()
        return render(
            "evaluate_run_results", run=run, count=len(evaluation.systems[0].items), notes=evaluation.notes,
            measures=[(name, measure_of(name)) for name in measures], sort=state.sort,
            rows=result_rows(evaluation, comparison, state.sort), others=len(names) - 1, names=names,
            turns=group_rows(turns, first, names), first=measure_of(first).pretty_name,
            left_out=len(evaluation.measures) - len(measures),
        )  # fmt: skip

    def _compare(self, owner: str, run_id: str, made: str, baseline: str) -> Comparison:
        """Return the systems of a run compared; `made` is when it was scored, for it may be scored again."""
        results = self.services.runs.get(owner, run_id).results
        assert results is not None
        return compare(results, measures=shown_measures(results), baseline=baseline)

    def _items(self, evaluation: Evaluation, state: RunsState) -> str:
        measure = state.sort or evaluation.measures[0]
        rows, count = item_rows(evaluation, measure, state.baseline, state.only, state.part)
        return render(
            "evaluate_run_items", rows=rows, count=count, measure=measure_of(measure).pretty_name,
            names=[system.name for system in evaluation.systems], chosen=state.item,
        )  # fmt: skip

    def _item(self, run: Run, evaluation: Evaluation, state: RunsState, session: Session) -> str:
        item = next((one for one in evaluation.systems[0].items if one.id == state.item), None)
        if item is None:
            return render("evaluate_run_item", item=None)
        predictions = self.services.runs.predictions(session.owner, run.id)
        answers = answers_of(run, evaluation, predictions, item.id, self.services.documents.filenames(session.owner))
        return render("evaluate_run_item", item=item, answers=answers)

    # ------------------------------------------------------------ the left column

    def described(self, session: Session, *fields: Any) -> tuple[str, str]:
        """Return what stands in the file, and what the systems are."""
        form = Form(*fields)
        sample = self.services.documents.has_sample(session.owner)
        return described(form, sample=sample), planned(self.services, form, session)

    def planned(self, session: Session, *fields: Any) -> str:
        """Return what the systems are."""
        return planned(self.services, Form(*fields), session)

    def start(self, state: RunsState, session: Session, *fields: Any) -> tuple[Any, ...]:
        """Begin a run, or go on with the one that was begun with the same choices."""
        try:
            run = self.services.running.begin(session.owner, Form(*fields).request(session))
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            return (error_html(error), *self._buttons(session), *self.shown(state, session))
        return (*self._work(session), *self.shown(RunsState(run.id), session))

    def stop(self, session: Session) -> None:
        """Stop the run; what is done stays."""
        self.services.running.stop(session.owner)

    def _buttons(self, session: Session) -> tuple[Any, ...]:
        going, _ = self.services.running.of(session.owner)
        return gr.Button(visible=not going), gr.Button(visible=bool(going)), gr.Timer(TICK, active=bool(going))

    def _work(self, session: Session) -> tuple[Any, ...]:
        _, step = self.services.running.of(session.owner)
        return (work_html(step) if isinstance(step, Progress) else "", *self._buttons(session))

    def tick(self, state: RunsState, session: Session) -> tuple[Any, ...]:
        """Show how far the run is; at its end what it came to."""
        going, _ = self.services.running.of(session.owner)
        if going:
            runs = self.services.runs.list(session.owner)
            listed = render("evaluate_runs", runs=run_rows(runs, state.run, going))
            return (*self._work(session), listed, *(gr.skip(),) * 8)
        said = self.services.running.said(state.run)
        message = error_html(PdfQAError(said)) if said else ""
        return (message, *self._buttons(session), *self.shown(state, session))

    def show(self, state: RunsState, session: Session, *fields: Any) -> tuple[Any, ...]:
        """Fill everything, also of a run that goes on since before the page was loaded."""
        going, _ = self.services.running.of(session.owner)
        state = replace(state, run=going) if going and not state.run else state
        return (*self.described(session, *fields), *self._work(session), *self.shown(state, session))

    # ------------------------------------------------------------ clicks

    def list_clicked(self, state: RunsState, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Open, name, delete a run, or go on with it."""
        data = clicked(event)
        run_id, message = data["run"], ""
        try:
            match data["action"]:
                case "rename":
                    self.services.runs.rename(session.owner, run_id, data.get("text", ""))
                case "delete":
                    self.services.runs.remove(session.owner, run_id)
                    run_id = ""
                case "resume" | "retry":
                    self.services.running.start(session.owner, run_id, retry=data["action"] == "retry")
        except PdfQAError as error:
            message = error_html(error)
        work, *buttons = self._work(session)
        keep = run_id == state.run
        return (message or work, *buttons, *self.shown(state if keep else RunsState(run_id), session))

    def bring(self, upload: str, state: RunsState, session: Session) -> tuple[Any, ...]:
        """Take in a run that was exported from another workspace."""
        message = ""
        try:
            path = Path(upload)
            state = RunsState(self.services.run_copies.take_in(session.owner, path.read_bytes(), path.name).id)
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            message = error_html(error)
        work, *buttons = self._work(session)
        return (message or work, *buttons, *self.shown(state, session))

    def table_clicked(self, state: RunsState, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Sort the table by a measure; a second click goes back to the order of the run."""
        sort = clicked(event).get("measure", "")
        return self.shown(replace(state, sort="" if sort == state.sort else sort), session)

    def changed(self, baseline: str, only: str, part: str, state: RunsState, session: Session) -> tuple[Any, ...]:
        """Compare with another system, or show some of the questions."""
        part = "" if part == EVERY else part or ""
        return self.shown(replace(state, baseline=baseline or "", only=only, part=part), session)

    def item_clicked(self, state: RunsState, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Open a question."""
        state = replace(state, item=clicked(event).get("item", ""))
        run = self.services.runs.get(session.owner, state.run)
        if run.results is None:
            return gr.skip(), gr.skip(), gr.skip(), state
        return self._items(run.results, state), self._item(run, run.results, state, session), "", state

    def page_clicked(self, session: Session, event: gr.EventData) -> Any:
        """Open the page of a passage, or turn the page."""
        data = clicked(event)
        if not data.get("document"):
            return gr.skip()
        return show_page(self.services, session.owner, data["document"], data.number("number", 1)).html

    def download(self, kind: str, state: RunsState, session: Session) -> str:
        """Return the path of a file of the shown run."""
        return download(self.services, kind, session.owner, state.run, state.baseline)


@dataclass(frozen=True, slots=True)
class Part:
    """What the tab needs of this part: its components and what fills them."""

    handler: Any
    inputs: list[Any]
    outputs: list[Any]
    what: gr.Radio


@dataclass(frozen=True, slots=True)
class Fields:
    """The left column, in the order of `Form`."""

    what: gr.Radio
    form: tuple[Any, ...]
    known: gr.HTML
    systems: gr.HTML
    work: gr.HTML
    go: gr.Button
    stop: gr.Button
    timer: gr.Timer


def set_up(services: Services) -> Fields:
    """Build the left column: questions, systems, how the answers are scored."""
    settings = services.settings
    protocols = [(run_protocols.get(name).title, name) for name in run_protocols.names()]

    def several(label: str, choices: Sequence[str], value: str, name: str, info: str | None = None) -> gr.CheckboxGroup:
        return gr.CheckboxGroup(list(choices), value=[value], label=label, info=info, elem_id=f"runs-{name}")

    what = gr.Radio(list(WHAT), value=WHAT[1], label="Measure", elem_id="runs-what")
    protocol = gr.Dropdown(protocols, value="answers", label="Protocol", elem_id="runs-protocol")
    source = gr.Radio([SAMPLE_QUESTIONS, OWN_FILE], value=SAMPLE_QUESTIONS, label="Questions", elem_id="runs-source")
    upload = gr.File(
        label="Questions with gold answers", file_types=list(suffixes()), visible=False, height=96, elem_id="runs-file"
    )
    known = live_html(elem_id="runs-questions")
    evidence = several("Evidence", tuple(EVIDENCE), next(iter(EVIDENCE)), "evidence")
    retrievers = several("Found by", strategies("retriever"), settings.retrieval.retriever, "retrievers")
    chunkers = several("Passages by", strategies("chunker"), settings.chunking.chunker, "chunkers")
    readers = several("Answered by", ("auto", *strategies("reader")), settings.reading.reader, "readers")
    with gr.Accordion("More", open=False):
        rewriters = several("Follow-up questions", strategies("rewriter"), settings.conversation.rewriter, "rewriters")
        histories = several(
            "Conversation so far", tuple(HISTORIES), next(iter(HISTORIES)), "histories", "of the protocol Conversations"
        )
        limit = gr.Number(0, label="Questions at most (0: all)", precision=0, minimum=0, elem_id="runs-limit")
        seed = gr.Number(0, label="Seed of draw and model", precision=0, minimum=0, elem_id="runs-seed")
        boxes = [
            gr.Checkbox(False, label=label, elem_id=f"runs-{name}")
            for name, label in (
                ("sources", "Set and compute all as the sources do"), ("bertscore", "BERTScore too"),
                ("judge", "Judged by the language model too"),
                ("calibrate", "Stricter judge, its threshold from labelled rows"),
            )
        ]  # fmt: skip
    systems, work = live_html(elem_id="runs-systems"), live_html(elem_id="runs-work")
    with gr.Row():
        go = gr.Button("Run", variant="primary", elem_id="runs-go")
        stop = gr.Button("Stop", visible=False, elem_classes=["pq-stop"], elem_id="runs-stop")
    form = (
        protocol, source, upload, retrievers, chunkers, readers, evidence, rewriters, histories, limit, seed, *boxes
    )  # fmt: skip
    return Fields(what, form, known, systems, work, go, stop, gr.Timer(TICK, active=False))


def build(services: Services, session: gr.State) -> Part:
    """Build the part."""
    tab = Tab(services)
    state = gr.State(RunsState())
    switch("runs-columns", "Set-up", "Results", "Answers")
    with gr.Row(elem_classes=["pq-columns"], elem_id="runs-columns"):
        with gr.Column(scale=2):
            left = set_up(services)
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
                with gr.Row():
                    baseline = gr.Dropdown([], label="Compare with", elem_id="runs-baseline")
                    part = gr.Dropdown([EVERY], value=EVERY, label="Of", elem_id="runs-part")
                only = gr.Radio(
                    list(FILTERS), value="all", label="Show questions", info="better, worse: some system than the one "
                    "compared with", elem_id="runs-only",
                )  # fmt: skip
                file = gr.DownloadButton("download", elem_id="runs-download", elem_classes=["pq-offstage"])
            items = live_html(elem_id="runs-items")
        with gr.Column(scale=3):
            item = live_html(elem_id="runs-item")
            page = live_html(elem_id="runs-page")
    form = [session, *left.form]
    shown = [listed, table, tools, baseline, part, items, item, page, state]
    working = [left.work, left.go, left.stop, left.timer, *shown]
    protocol, source, upload, *strategy, limit, seed = left.form[:11]
    source.change(lambda s: gr.File(visible=s == OWN_FILE), source, upload, **AT_ONCE)
    for event in (protocol.input, source.change, upload.upload, upload.clear, limit.input, seed.input):
        event(tab.described, form, [left.known, left.systems], **QUIET)
    for field in strategy:
        field.input(tab.planned, form, left.systems, **QUIET)
    left.go.click(tab.start, [state, *form], working, **QUIET)
    left.stop.click(tab.stop, session, None, **AT_ONCE)
    left.timer.tick(tab.tick, [state, session], working, **AT_ONCE)
    listed.click(tab.list_clicked, [state, session], working, **QUIET)
    bring.upload(tab.bring, [bring, state, session], working, **QUIET)
    table.click(tab.table_clicked, [state, session], shown, **QUIET)
    for choice in (baseline, only, part):
        choice.input(tab.changed, [baseline, only, part, state, session], shown, **QUIET)
    items.click(tab.item_clicked, [state, session], [items, item, page, state], **QUIET)
    for pages in (item, page):
        pages.click(tab.page_clicked, session, page, **QUIET)
    for kind, button in buttons.items():
        made = button.click(partial(tab.download, kind), [state, session], file, **QUIET)
        made.success(None, None, None, js=FETCH)
    return Part(tab.show, [state, *form], [left.known, left.systems, *working], left.what)
