"""The Evaluate tab: questions with gold on the left, systems in the middle, what they reach on the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.evaluation_files import trec_files
from pdfqa_core.exports.figure import figure
from pdfqa_core.exports.frames import items_frame, write_frame
from pdfqa_core.exports.report import report_html, table_latex
from pdfqa_core.exports.runs import write_results
from pdfqa_core.protocols.base import SEED
from pdfqa_core.protocols.retrieval import TEMPLATE, template
from pdfqa_core.services import Services
from pdfqa_core.services.recipes import names as strategies
from pdfqa_core.types import Progress
from pdfqa_core.ui import downloads, evaluate_runs
from pdfqa_core.ui.components import AT_ONCE, QUIET, error_html, live_html, switch
from pdfqa_core.ui.documents import work_html
from pdfqa_core.ui.evaluate_results import FILTERS, SHOWN, Results
from pdfqa_core.ui.evaluate_runs_form import WHAT
from pdfqa_core.ui.evaluate_setup import (
    OWN_FILE,
    SOURCES,
    Setup,
    Upload,
    counting,
    file_field,
    finders,
    scope_field,
    template_button,
    trained_on_field,
)
from pdfqa_core.ui.roles import check_models
from pdfqa_core.ui.session import EvaluateState, Session, Shown

# ----------------------------------------------------------------------------------------------------
# Files of the Evaluate tab: what the buttons above the questions give to the browser.

FILES = {
    "html": ("HTML report", "retrieval.html"), "csv": ("CSV", "retrieval.csv"),
    "parquet": ("Parquet", "retrieval.parquet"), "latex": ("LaTeX", "retrieval.tex"),
    "figure": ("Figure", "retrieval.pdf"), "json": ("JSON", "retrieval.json"), "trec": ("TREC runs", "trec.zip"),
}  # fmt: skip


def download(services: Services, kind: str, state: EvaluateState, session: Session) -> str:
    """Return the path of a file of the shown evaluation; `kind` is one of FILES."""
    if not state.evaluation:
        raise UsageError("There is nothing to download yet.", "Evaluate first.")
    return downloads.write(FILES[kind][1], _made(services, kind, state, session.owner))


def _made(services: Services, kind: str, state: EvaluateState, owner: str) -> bytes:
    evaluation = replace(services.evaluation.kept.get(owner, state.evaluation), measures=SHOWN)
    comparison = services.evaluation.compared(owner, state.evaluation, SHOWN, state.baseline)
    match kind:
        case "html":
            return report_html(evaluation, comparison)
        case "latex":
            return table_latex(evaluation, comparison)
        case "figure":
            return figure(evaluation, comparison, "pdf")
        case "json":
            return write_results(evaluation, comparison)
        case "trec":
            rankings = services.evaluation.kept.rankings(owner, state.evaluation)
            systems = [system.name for system in evaluation.systems]
            return downloads.zipped(trec_files(rankings, systems, services.documents.filenames(owner)))
    return write_frame(items_frame(evaluation), kind)


# ----------------------------------------------------------------------------------------------------
# The Evaluate tab: questions with gold on the left, systems in the middle, what they reach on the right.

FETCH = "() => window.pdfqa.fetch('evaluate-download')"


class Tab:
    """Measuring, and filling the tab."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.setup = Setup(services)
        self.results = Results(services)

    def evaluate(
        self,
        source: str,
        upload: Upload,
        scope: Sequence[str],
        chunkers: Sequence[str],
        retrievers: Sequence[str],
        match: str,
        as_in_sources: bool,
        baseline: str,
        session: Session,
        state: EvaluateState,
        trained_on: bool,
        request: gr.Request,
    ) -> Iterator[tuple[Any, ...]]:
        """Measure the systems, with progress; Stop keeps nothing of an unfinished evaluation."""
        still = [gr.skip()] * 7
        message = ""
        yield work_html(Progress("reading the questions")), gr.Button(visible=False), gr.Button(visible=True), *still
        try:
            file = self.setup.file(source, upload, session.owner)
            systems = self.setup.made(chunkers, retrievers, as_in_sources, session)
            check_models(self.services, systems.values())
            searched = self.setup.searched(source, scope, session)
            for event in self.services.evaluation.evaluate_retrieval(
                session.owner,
                file,
                systems,
                document_ids=searched,
                gold_match=match,
                profile=SEED if as_in_sources else "",
                trained_on=trained_on,
                task=self._key(request),
            ):
                if isinstance(event, Progress):
                    yield work_html(event), gr.skip(), gr.skip(), *still
                else:
                    state = EvaluateState(event.id, baseline)
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            message = error_html(error)
        shown = still if message else self.results.results(state, session)
        yield message, gr.Button(visible=True), gr.Button(visible=False), *shown

    @staticmethod
    def _key(request: gr.Request) -> str:
        return f"evaluate-{request.session_hash}"

    def stop(self, request: gr.Request) -> None:
        """Stop evaluating."""
        self.services.tasks.stop(self._key(request))

    def show(
        self,
        source: str,
        upload: Upload,
        scope: Sequence[str],
        chunkers: Sequence[str],
        retrievers: Sequence[str],
        match: str,
        as_in_sources: bool,
        baseline: str,
        session: Session,
        state: EvaluateState,
    ) -> tuple[Any, ...]:
        """Fill the tab; a page that still shows what it was built with gets the choices of the last visit."""
        fields: tuple[Any, ...] = (gr.skip(),) * 6
        shown = (source, list(chunkers), list(retrievers), match, as_in_sources)
        choices = self.setup.choices(session.owner)
        if choices and shown == self.setup.defaults:
            source, baseline = choices["source"], choices["baseline"]
            chunkers, retrievers = choices["chunkers"], choices["retrievers"]
            match, as_in_sources = choices["match"], choices["as_in_sources"]
            known = None if upload else self.setup.remembered_file(session.owner)
            visible = source == OWN_FILE
            file = gr.File(value=[known], visible=visible) if known else gr.skip()
            file = gr.File(visible=visible) if upload else file
            upload = upload or known
            # What is as it was is left alone: a hand that is quicker than this answer may have changed it.
            first, *others = (
                gr.skip() if old == new else new
                for old, new in zip(shown, (source, chunkers, retrievers, match, as_in_sources), strict=True)
            )
            fields = first, file, *others
        found_by: dict[str, Any] = {"choices": finders(self.services)}  # a model may have been trained since
        if isinstance(fields[3], list):
            found_by["value"] = fields[3]
        return (
            *fields[:2],
            self.setup.offered(source, scope, session),
            fields[2],
            gr.CheckboxGroup(**found_by),
            *fields[4:],
            self.setup.questions(source, upload, scope, session),
            *self.setup.systems(chunkers, retrievers, match, as_in_sources, baseline, session),
            *self.results.results(state, session),
        )


def build(services: Services, session: gr.State) -> Shown:
    """Build the tab: what finds pages, and behind a switch what answers questions."""
    with gr.Column(elem_classes=["pq-part"]) as of_retrieval:
        found, measured = build_retrieval(services, session)
    with gr.Column(visible=False, elem_classes=["pq-part"]) as of_answers:
        runs = evaluate_runs.build(services, session)
    for choice, own in ((measured, WHAT[0]), (runs.what, WHAT[1])):
        choice.input(partial(_turned, own), choice, [of_retrieval, of_answers, measured, runs.what], **AT_ONCE)
    first = len(found.inputs)

    def show(*inputs: Any) -> tuple[Any, ...]:
        return (*found.handler(*inputs[:first]), *runs.handler(*inputs[first:]))

    return Shown(show, [*found.inputs, *runs.inputs], [*found.outputs, *runs.outputs], states=found.states)


def _turned(own: str, chosen: str) -> tuple[Any, ...]:
    """Show the part that was chosen; each part's own choice stays on itself."""
    if chosen == own:
        return (gr.skip(),) * 4
    answers = chosen == WHAT[1]
    return gr.Column(visible=not answers), gr.Column(visible=answers), gr.Radio(value=WHAT[0]), gr.Radio(value=WHAT[1])


def build_retrieval(services: Services, session: gr.State) -> tuple[Shown, gr.Radio]:
    """Build what measures retrieval; return what fills it, and the choice of what is measured."""
    tab, state = Tab(services), gr.State(EvaluateState())
    setup, results = tab.setup, tab.results
    switch("evaluate-columns", "Set-up", "Results", "Evidence")
    with gr.Row(elem_classes=["pq-columns"], elem_id="evaluate-columns"):
        with gr.Column(scale=2):
            what = gr.Radio(list(WHAT), value=WHAT[0], label="Measure", elem_id="evaluate-what")
            source = gr.Radio(list(SOURCES), value=setup.defaults[0], label="Questions", elem_id="evaluate-source")
            upload = file_field("Questions with gold", "evaluate-file")
            blank = template_button("evaluate-template")
            scope = scope_field("evaluate-scope")
            known = live_html(elem_id="evaluate-questions")
            chunkers = gr.CheckboxGroup(
                list(strategies("chunker")),
                value=setup.defaults[1],
                label="Passages by",
                elem_id="evaluate-chunkers",
            )
            retrievers = gr.CheckboxGroup(
                finders(services),
                value=setup.defaults[2],
                label="Found by",
                info="a retriever, or one with a model that was trained here",
                elem_id="evaluate-retrievers",
            )
            match, sources = counting(setup.defaults)
            trained_on = trained_on_field("evaluate-trained-on")
            systems = live_html(elem_id="evaluate-systems")
            baseline = gr.Dropdown([], label="Compare with", elem_id="evaluate-baseline")
            work = live_html(elem_id="evaluate-work")
            with gr.Row():
                go = gr.Button("Evaluate", variant="primary", elem_id="evaluate-go")
                stop = gr.Button("Stop", visible=False, elem_classes=["pq-stop"], elem_id="evaluate-stop")
        with gr.Column(scale=5):
            earlier = gr.Dropdown([], label="Evaluation", visible=False, elem_id="evaluate-earlier")
            table = live_html(elem_id="evaluate-results")
            with gr.Column(visible=False) as tools:
                with gr.Row():
                    buttons = {
                        kind: gr.Button(label, size="sm", elem_id=f"evaluate-{kind}", scale=1, min_width=86)
                        for kind, (label, _) in FILES.items()
                    }
                only = gr.Radio(
                    list(FILTERS),
                    value="all",
                    label="Show questions",
                    info="won, lost: a system did better or worse than the baseline",
                    elem_id="evaluate-only",
                )
            file = gr.DownloadButton("download", elem_id="evaluate-download", elem_classes=["pq-offstage"])
            items = live_html(elem_id="evaluate-items")
        with gr.Column(scale=3):
            item = live_html(elem_id="evaluate-item")
            page = live_html(elem_id="evaluate-page")
    chosen = [chunkers, retrievers, match, sources, baseline, session]
    shown = [earlier, table, items, tools, item, state, page]
    _wire_questions(setup, [source, upload, scope, session], blank, known, work)
    _wire_choices(setup, source, chosen, [systems, baseline])
    asked = [source, upload, scope, *chosen, state]
    go.click(tab.evaluate, [*asked, trained_on], [work, go, stop, *shown], concurrency_limit=None, **QUIET)
    stop.click(tab.stop, None, None, **AT_ONCE)
    table.click(results.table_clicked, [state, session], shown, **QUIET)
    earlier.input(results.reopened, [earlier, state, session], shown, **QUIET)
    baseline.input(results.compared, [baseline, state, session], shown, **QUIET)
    only.input(results.filtered, [only, state, session], [items, state], **AT_ONCE)
    items.click(results.item_clicked, [state, session], [items, item, page, state], **QUIET)
    item.click(results.evidence_clicked, [state, session], [item, page, state], **QUIET)
    page.click(results.page_clicked, [session], page, **QUIET)
    _wire_files(services, file, blank, buttons, [state, session])
    return (
        Shown(
            tab.show,
            asked,
            [source, upload, scope, chunkers, retrievers, match, sources, known, systems, baseline, *shown],
            states=[state],
        ),
        what,
    )


def _wire_questions(setup: Setup, about: list[Any], blank: gr.Button, known: gr.HTML, work: gr.HTML) -> None:
    """Have the page say what is in the questions; `about` are their source, file, what is searched, and the session."""
    source, upload, scope, session = about
    source.change(
        lambda s: (gr.File(visible=s == OWN_FILE), gr.Button(visible=s == OWN_FILE)), source, [upload, blank], **AT_ONCE
    )
    source.change(setup.offered, [source, scope, session], scope, **AT_ONCE)
    for changed in (source.change, scope.input):
        changed(setup.questions, about, known, **QUIET)
    for changed in (upload.upload, upload.clear):
        changed(setup.uploaded, about, known, **QUIET)
    known.click(setup.question_clicked, about, [known, work], concurrency_limit=None, **QUIET)


def _wire_choices(setup: Setup, source: gr.Radio, chosen: Sequence[Any], made: list[Any]) -> None:
    """Have choices remembered, and the systems shown that they make; `chosen` as the handlers of `Setup` take them."""
    chunkers, retrievers, match, sources, baseline, _ = chosen
    last: dict[str, Any] = {"trigger_mode": "always_last"}
    for by_hand in (source.input, match.input, baseline.input):
        by_hand(setup.remember, [source, *chosen], None, **last, **AT_ONCE)
    taken = sources.input(setup.of_profile, sources, [chunkers, match], **last, **AT_ONCE)
    for changed in (partial(chunkers.input, **last), partial(retrievers.input, **last), taken.then):
        listed = changed(setup.systems, chosen, made, **QUIET)
        # Only then: until the page has the new systems, Gradio refuses the one that it compares with.
        listed.then(setup.remember, [source, *chosen], None, **AT_ONCE)


def _wire_files(
    services: Services, file: gr.DownloadButton, blank: gr.Button, buttons: dict[str, gr.Button], shown: list[gr.State]
) -> None:
    """Have the buttons give the browser their files: the template, and those of what is shown."""
    made = [blank.click(lambda: downloads.write(TEMPLATE, template()), None, file, **QUIET)]
    made += [button.click(partial(download, services, kind), shown, file, **QUIET) for kind, button in buttons.items()]
    for one in made:
        one.success(None, None, None, js=FETCH)
