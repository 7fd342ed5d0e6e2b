"""The Evaluate tab: questions with gold on the left, systems in the middle, what they reach on the right."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.exports.figure import figure
from pdfqa_core.exports.report import report_html
from pdfqa_core.exports.results import write_results
from pdfqa_core.exports.table import table_latex
from pdfqa_core.metrics.scored import Evaluation, Table, tabulate
from pdfqa_core.protocols.gold import GoldFile, read_gold
from pdfqa_core.protocols.retrieval import DEPTH, ItemResult
from pdfqa_core.services import SAMPLE, Services
from pdfqa_core.services.choices import names as strategies
from pdfqa_core.services.evaluation import RetrievalEvaluation, grid
from pdfqa_core.services.evaluation_files import as_csv, as_evaluation, trec_files
from pdfqa_core.settings import Settings
from pdfqa_core.types import Progress
from pdfqa_core.ui import downloads
from pdfqa_core.ui.components import (
    AT_ONCE,
    QUIET,
    clicked,
    day,
    error_html,
    guarded,
    live_html,
    plural,
    render,
    switch,
)
from pdfqa_core.ui.documents import work_html
from pdfqa_core.ui.evaluate_view import (
    SHOWN,
    Found,
    Gold,
    ItemRow,
    SystemHits,
    place_of,
    rank_of,
    rows_of,
    short_names,
)
from pdfqa_core.ui.page_view import show_page
from pdfqa_core.ui.session import EvaluateState, Session, Shown

CHOICES, QUESTIONS, QUESTIONS_NAME = "evaluate.choices", "evaluate.questions", "evaluate.questions.name"
MOST_REMEMBERED = 2_000_000  # characters of a file of questions that is there again when the page is loaded again
SAMPLE_QUESTIONS, OWN_FILE = "The sample's 15 questions", "My file"
FILTERS = ("all", "won", "lost", "not found")
NOTHING_YET = "Choose questions and systems, then press Evaluate. What was measured stays here for the next time."
NO_QUESTION = "Click a question of the results to see where its answer stands and what each system found."
OWN_HINT = (
    "Bring a file of questions with the pages that answer them: JSONL or CSV with question, document and page (or "
    "quote), answers that cite [file.pdf#page=7], or FinanceBench rows."
)


class Handlers:
    """What the tab does."""

    def __init__(self, services: Services) -> None:
        self.services = services

    # ------------------------------------------------------------ questions and systems

    def _file(self, source: str, upload: str | None) -> GoldFile:
        if source == SAMPLE_QUESTIONS:
            return replace(read_gold(SAMPLE / "questions.jsonl"), name="sample questions")
        if not upload:
            raise UsageError("There are no questions yet.", OWN_HINT)
        return read_gold(Path(upload))

    def uploaded(self, source: str, upload: str | None, session: Session) -> str:
        """Remember the file for the next time the page is loaded, and return what is known of its questions."""
        text = ""
        if upload and Path(upload).stat().st_size <= MOST_REMEMBERED:
            text = Path(upload).read_bytes().decode("utf-8-sig", errors="replace")
        self.services.visitors.set_preference(session.owner, QUESTIONS, text)
        self.services.visitors.set_preference(session.owner, QUESTIONS_NAME, Path(upload).name if upload else "")
        return self.questions(source, upload, session)

    def _remembered_file(self, owner: str) -> str | None:
        """Return the owner's last file of questions, written to a folder of its own; None if there is none."""
        preference = self.services.visitors.preference
        text, name = preference(owner, QUESTIONS), preference(owner, QUESTIONS_NAME)
        return downloads.write(Path(str(name)).name, str(text).encode("utf-8", "replace")) if text and name else None

    def remember(
        self, source: str, chunkers: Sequence[str], retrievers: Sequence[str], baseline: str, session: Session
    ) -> None:
        """Remember the choices for the next time the page is loaded."""
        choices = {"source": source, "chunkers": chunkers, "retrievers": retrievers, "baseline": baseline}
        self.services.visitors.set_preference(session.owner, CHOICES, json.dumps(choices))

    def _choices(self, owner: str) -> dict[str, Any]:
        """Return the choices of the last visit, without what is no choice any more."""
        try:
            found = json.loads(str(self.services.visitors.preference(owner, CHOICES, "{}")))
        except ValueError:
            return {}
        known = {"chunkers": strategies("chunker"), "retrievers": strategies("retriever")}
        kept = {key: [name for name in found.get(key, ()) if name in names] for key, names in known.items()}
        if found.get("source") not in (SAMPLE_QUESTIONS, OWN_FILE) or not all(kept.values()):
            return {}
        return {**kept, "source": found["source"], "baseline": str(found.get("baseline", ""))}

    def _scope(self, source: str, session: Session) -> tuple[str, ...]:
        """Return the documents the questions are about; the sample's name none, they are about the sample."""
        if source != SAMPLE_QUESTIONS:
            return session.scope
        return self.services.documents.document_ids(session.owner, ["harbour-heat.pdf"])

    def questions(self, source: str, upload: str | None, session: Session) -> str:
        """Return what is known of the chosen questions."""
        plain: dict[str, Any] = {"error": None, "count": 0, "message": "", "offer_sample": False}
        if source == SAMPLE_QUESTIONS and not self.services.documents.has_sample(session.owner):
            message = "The sample's questions are about the sample report, which is not among your documents."
            return render("evaluate_questions", **{**plain, "message": message, "offer_sample": True})
        if source == OWN_FILE and not upload:
            return render("evaluate_questions", **{**plain, "message": OWN_HINT})
        try:
            file = self._file(source, upload)
            resolved = self.services.evaluation.gold(
                session.owner, file, session.settings, self._scope(source, session)
            )
        except PdfQAError as error:
            return render("evaluate_questions", **{**plain, "error": error})
        with_gold = sum(bool(item.gold_spans or item.gold_pages) for item in resolved.items)
        unanswerable = sum(not item.answerable for item in resolved.items)
        return render(
            "evaluate_questions", error=None, name=file.name, count=len(resolved.items), gold=with_gold,
            unanswerable=unanswerable, notes=resolved.notes,
        )  # fmt: skip

    def question_clicked(
        self, source: str, upload: str | None, session: Session, event: gr.EventData
    ) -> Iterator[tuple[str, str]]:
        """Add the sample."""
        message = ""
        try:
            if clicked(event).get("action") == "sample":
                for step in self.services.documents.add_sample(session.owner):
                    if isinstance(step, Progress):
                        yield gr.skip(), work_html(step)
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            message = error_html(error)
        yield self.questions(source, upload, session), message

    def _systems(self, chunkers: Sequence[str], retrievers: Sequence[str], session: Session) -> dict[str, Settings]:
        return grid(session.settings, chunkers, retrievers)

    def systems(
        self, chunkers: Sequence[str], retrievers: Sequence[str], baseline: str, session: Session
    ) -> tuple[str, gr.Dropdown]:
        """Return the chips of the chosen systems and the choice of a baseline."""
        try:
            systems = self._systems(chunkers, retrievers, session)
            shown = []
            for name, settings in systems.items():
                seconds = self.services.indexes.seconds(session.owner, settings)
                shown.append((name, f"about {seconds:.0f} s to index" if seconds >= 2 else ""))
        except PdfQAError as error:
            return error_html(error), gr.skip()
        names = list(systems)
        value = baseline if baseline in names else names[0]
        return render("evaluate_systems", systems=shown), gr.Dropdown(choices=names, value=value)

    # ------------------------------------------------------------ evaluating

    def evaluate(
        self, source: str, upload: str | None, chunkers: Sequence[str], retrievers: Sequence[str], baseline: str,
        session: Session, state: EvaluateState, request: gr.Request,
    ) -> Iterator[tuple[Any, ...]]:  # fmt: skip
        """Measure the systems, with progress; Stop keeps nothing of an unfinished evaluation."""
        still = [gr.skip()] * 8
        message = ""
        yield work_html(Progress("reading the questions")), gr.Button(visible=False), gr.Button(visible=True), *still
        try:
            file = self._file(source, upload)
            systems = self._systems(chunkers, retrievers, session)
            for event in self.services.evaluation.evaluate_retrieval(
                session.owner, file, systems, document_ids=self._scope(source, session), task=self._key(request)
            ):
                if isinstance(event, Progress):
                    yield work_html(event), gr.skip(), gr.skip(), *still
                else:
                    state = EvaluateState(event.made_at.isoformat(), baseline, restored=True)
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            message = error_html(error)
        yield message, gr.Button(visible=True), gr.Button(visible=False), *self.results(state, session)

    @staticmethod
    def _key(request: gr.Request) -> str:
        return f"evaluate-{request.session_hash}"

    def stop(self, request: gr.Request) -> None:
        """Stop evaluating."""
        self.services.tasks.stop(self._key(request))

    # ------------------------------------------------------------ results

    def _evaluation(self, state: EvaluateState, owner: str) -> RetrievalEvaluation | None:
        stored = self.services.evaluation.retrieval_evaluations(owner)
        return next(
            (one for one in stored if one.made_at.isoformat() == state.evaluation), stored[0] if stored else None
        )

    def results(self, state: EvaluateState, session: Session) -> tuple[Any, ...]:
        """Return earlier evaluations, table, plot, questions, downloads, evidence, state and page of an evaluation."""
        stored = self.services.evaluation.retrieval_evaluations(session.owner)
        evaluation = self._evaluation(state, session.owner)
        if evaluation is None:
            nothing = render("evaluate_results", message=NOTHING_YET)
            hidden = gr.LinePlot(visible=False)
            state = EvaluateState(restored=state.restored)
            return gr.Dropdown(visible=False), nothing, hidden, "", gr.Column(visible=False), "", state, ""

        choices = [(self._title(one), one.made_at.isoformat()) for one in stored]
        names = [system.name for system in evaluation.systems]
        state = replace(state, evaluation=evaluation.made_at.isoformat())
        if state.baseline not in names:
            state = replace(state, baseline=names[0])
        n = evaluation.systems[0].summary("MRR")
        table = render(
            "evaluate_results", message="", dataset=evaluation.dataset, when=day(evaluation.made_at), n=n.n,
            count=n.n + n.unscored, unscored=n.unscored, common=short_names(names)[1], notes=evaluation.notes,
            measures=SHOWN, rows=rows_of(evaluation, state.baseline),
        )  # fmt: skip
        earlier = gr.Dropdown(choices=choices, value=state.evaluation, visible=len(choices) > 1)
        return (
            earlier, table, self._plot(evaluation), self._items(evaluation, state), gr.Column(visible=True),
            self._item(evaluation, state, session), state, gr.skip() if state.item else "",
        )  # fmt: skip

    @staticmethod
    def _title(one: RetrievalEvaluation) -> str:
        systems = plural(len(one.systems), "system")
        return f"{one.dataset}, {systems}, {day(one.made_at)} {one.made_at.astimezone():%H:%M}"

    @staticmethod
    def _plot(evaluation: RetrievalEvaluation) -> gr.LinePlot:
        import pandas as pd

        shorts, _ = short_names([system.name for system in evaluation.systems])
        points = [
            (short, k, value)
            for short, system in zip(shorts, evaluation.systems, strict=True)
            for k, value in system.curve
        ]
        frame = pd.DataFrame(points, columns=["System", "k", "HR@k"])
        return gr.LinePlot(value=frame, visible=True)

    def _items(self, evaluation: RetrievalEvaluation, state: EvaluateState) -> str:
        systems = evaluation.systems
        place = next(n for n, system in enumerate(systems) if system.name == state.baseline)
        rows = []
        for results in zip(*(system.items for system in systems), strict=True):
            if not results[0].gold or not self._wanted(results, place, state.only):
                continue
            base = results[place].rank
            ranks = tuple(rank_of(result.rank, base, number == place) for number, result in enumerate(results))
            rows.append(ItemRow(results[0].id, results[0].question, ranks))
        message = "" if rows else "No question of this kind."
        return render(
            "evaluate_items",
            rows=rows,
            systems=short_names([s.name for s in systems])[0],
            chosen=state.item,
            message=message,
        )

    @staticmethod
    def _wanted(results: Sequence[ItemResult], base: int, only: str) -> bool:
        ranks = [result.rank or 10**9 for result in results]
        match only:
            case "won":
                return min(ranks) < ranks[base]
            case "lost":
                return max(ranks) > ranks[base]
            case "not found":
                return max(ranks) == 10**9
        return True

    def _item(self, evaluation: RetrievalEvaluation, state: EvaluateState, session: Session) -> str:
        shorts, _ = short_names([system.name for system in evaluation.systems])
        found = [
            (short, item)
            for short, system in zip(shorts, evaluation.systems, strict=True)
            for item in system.items
            if item.id == state.item
        ]
        if not found:
            return render("evaluate_results", message=NO_QUESTION)
        names = {d.id: d.filename for d in self.services.documents.list(session.owner)}
        gold = []
        for place in found[0][1].gold:
            document, page, _ = place_of(place)
            gold.append(Gold(place, f"{names.get(document, document[:12])}, p. {page}"))
        pages = {(document, page) for document, page, _ in map(place_of, found[0][1].gold)}
        systems = tuple(
            SystemHits(
                name,
                tuple(
                    Found(
                        document, numbers[0],
                        f"{names.get(document, document[:12])}, p. {', '.join(map(str, numbers))}",
                        any((document, number) in pages for number in numbers),
                    )
                    for _, numbers, document in item.hits[:5]
                ),
            )
            for name, item in found
        )  # fmt: skip
        shown = state.place or (gold[0].name if gold else "")
        return render("evaluate_item", question=found[0][1].question, gold=gold, systems=systems, shown=shown)

    def reopened(self, made_at: str, state: EvaluateState, session: Session) -> tuple[Any, ...]:
        """Show an earlier evaluation."""
        return self.results(replace(state, evaluation=made_at, item="", place=""), session)

    def compared(self, baseline: str, state: EvaluateState, session: Session) -> tuple[Any, ...]:
        """Compare with another baseline."""
        return self.results(replace(state, baseline=baseline), session)

    def filtered(self, only: str, state: EvaluateState, session: Session) -> tuple[str, EvaluateState]:
        """Show some of the questions."""
        state = replace(state, only=only)
        evaluation = self._evaluation(state, session.owner)
        return (self._items(evaluation, state) if evaluation else ""), state

    def item_clicked(self, state: EvaluateState, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Open a question: what each system found, and the gold page."""
        state = replace(state, item=clicked(event).get("item", ""), place="")
        evaluation = self._evaluation(state, session.owner)
        if evaluation is None:
            return "", "", "", state
        item = next((i for i in evaluation.systems[0].items if i.id == state.item), None)
        page = self._gold_page(item.gold[0], session) if item and item.gold else ""
        return self._items(evaluation, state), self._item(evaluation, state, session), page, state

    def evidence_clicked(self, state: EvaluateState, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Show the page of a gold place or of a hit."""
        data = clicked(event)
        evaluation = self._evaluation(state, session.owner)
        if evaluation is None:
            return gr.skip(), gr.skip(), state
        if data.get("action") == "gold":
            state = replace(state, place=data.get("place", ""))
            return self._item(evaluation, state, session), self._gold_page(state.place, session), state
        document, number = data.get("document", ""), int(data.get("number", 1))
        return gr.skip(), show_page(self.services, session.owner, document, number).html, state

    def page_clicked(self, session: Session, event: gr.EventData) -> Any:
        """Turn the page."""
        data = clicked(event)
        if not data.get("document"):
            return gr.skip()
        return show_page(self.services, session.owner, data["document"], int(data.get("number", 1))).html

    def _gold_page(self, place: str, session: Session) -> str:
        document, page, span = place_of(place)
        try:
            return show_page(self.services, session.owner, document, page, marks=(span,) if span else ()).html
        except PdfQAError as error:
            return error_html(error)

    # ------------------------------------------------------------ downloads

    def csv(self, state: EvaluateState, session: Session) -> str:
        """Return a CSV with a row per question and measure."""
        evaluation = self._required(state, session)
        return downloads.write("retrieval.csv", as_csv(evaluation.systems, SHOWN))

    def trec(self, state: EvaluateState, session: Session) -> str:
        """Return a ZIP with TREC qrels and runs."""
        evaluation = self._required(state, session)
        names = {d.id: d.filename for d in self.services.documents.list(session.owner)}
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in trec_files(evaluation.systems, names).items():
                archive.writestr(name, data)
        return downloads.write("trec.zip", packed.getvalue())

    def html(self, state: EvaluateState, session: Session) -> str:
        """Return a report that needs no other file."""
        return downloads.write("retrieval.html", report_html(*self._table(state, session)))

    def latex(self, state: EvaluateState, session: Session) -> str:
        """Return the table for a paper."""
        return downloads.write("retrieval.tex", table_latex(*self._table(state, session)))

    def figure(self, state: EvaluateState, session: Session) -> str:
        """Return the figure in six panels."""
        return downloads.write("retrieval.pdf", figure(*self._table(state, session), "pdf"))

    def json(self, state: EvaluateState, session: Session) -> str:
        """Return all results, as the command line reads them with --load."""
        return downloads.write("retrieval.json", write_results(*self._table(state, session)))

    def _table(self, state: EvaluateState, session: Session) -> tuple[Evaluation, Table]:
        found = self._required(state, session)
        scored = as_evaluation(
            found.dataset, found.systems, SHOWN, notes=found.notes, made_at=found.made_at, versions=dict(found.versions)
        )
        names = [system.name for system in found.systems]
        return scored, tabulate(scored, baseline=state.baseline if state.baseline in names else "")

    def _required(self, state: EvaluateState, session: Session) -> RetrievalEvaluation:
        evaluation = self._evaluation(state, session.owner)
        if evaluation is None:
            raise UsageError("There is nothing to download yet.", "Evaluate first.")
        return evaluation

    def show(
        self, source: str, upload: str | None, chunkers: Sequence[str], retrievers: Sequence[str], baseline: str,
        session: Session, state: EvaluateState,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Fill the tab; the first time with the choices of the last visit."""
        fields: tuple[Any, ...] = (gr.skip(),) * 4
        if not state.restored:
            state = replace(state, restored=True)
            if choices := self._choices(session.owner):
                shown = (source, chunkers, retrievers)
                source, baseline = choices["source"], choices["baseline"]
                chunkers, retrievers = choices["chunkers"], choices["retrievers"]
                upload = self._remembered_file(session.owner)
                file = gr.File(value=upload, visible=source == OWN_FILE) if upload else gr.skip()
                # What is as it was is left alone: a hand that is quicker than this answer may have changed it.
                first, *others = (
                    gr.skip() if old == new else new
                    for old, new in zip(shown, (source, chunkers, retrievers), strict=True)
                )
                fields = first, file, *others
        return (
            *fields,
            self.questions(source, upload, session),
            *self.systems(chunkers, retrievers, baseline, session),
            *self.results(state, session),
        )


def build(services: Services, session: gr.State) -> Shown:
    """Build the tab."""
    handlers = Handlers(services)
    state = gr.State(EvaluateState())
    settings = services.settings
    switch("evaluate-columns", "Set-up", "Results", "Evidence")
    with gr.Row(elem_classes=["pq-columns"], elem_id="evaluate-columns"):
        with gr.Column(scale=2):
            source = gr.Radio(
                [SAMPLE_QUESTIONS, OWN_FILE], value=SAMPLE_QUESTIONS, label="Questions", elem_id="evaluate-source"
            )
            upload = gr.File(
                label="Questions with gold", file_types=[".jsonl", ".json", ".csv"], visible=False, height=96,
                elem_id="evaluate-file",
            )  # fmt: skip
            known = live_html(elem_id="evaluate-questions")
            chunkers = gr.CheckboxGroup(
                list(strategies("chunker")), value=[settings.chunking.chunker], label="Passages by",
                elem_id="evaluate-chunkers",
            )  # fmt: skip
            retrievers = gr.CheckboxGroup(
                list(strategies("retriever")), value=["bm25", "dense", "hybrid"], label="Found by",
                elem_id="evaluate-retrievers",
            )  # fmt: skip
            systems = live_html(elem_id="evaluate-systems")
            baseline = gr.Dropdown([], label="Compare with", elem_id="evaluate-baseline")
            work = live_html(elem_id="evaluate-work")
            with gr.Row():
                go = gr.Button("Evaluate", variant="primary", elem_id="evaluate-go")
                stop = gr.Button("Stop", visible=False, elem_classes=["pq-stop"], elem_id="evaluate-stop")
        with gr.Column(scale=5):
            earlier = gr.Dropdown([], label="Evaluation", visible=False, elem_id="evaluate-earlier")
            table = live_html(elem_id="evaluate-results")
            plot = gr.LinePlot(
                None, x="k", y="HR@k", color="System", x_lim=[0, DEPTH], y_lim=[0, 1], height=260, visible=False,
                title="Questions whose gold is among the first k", x_title="k (passages)", y_title="HR@k",
                elem_id="evaluate-plot", buttons=[],
            )  # fmt: skip
            with gr.Column(visible=False) as tools:
                with gr.Row():
                    downloads = [
                        (gr.Button(label, size="sm", elem_id=f"evaluate-{name}", scale=1, min_width=86), made)
                        for label, name, made in (
                            ("HTML report", "html", handlers.html), ("CSV", "csv", handlers.csv),
                            ("LaTeX", "latex", handlers.latex), ("Figure", "figure", handlers.figure),
                            ("JSON", "json", handlers.json), ("TREC runs", "trec", handlers.trec),
                        )
                    ]  # fmt: skip
                only = gr.Radio(list(FILTERS), value="all", label="Show questions", elem_id="evaluate-only")
                file = gr.DownloadButton("download", elem_id="evaluate-download", elem_classes=["pq-offstage"])
            items = live_html(elem_id="evaluate-items")
        with gr.Column(scale=3):
            item = live_html(elem_id="evaluate-item")
            page = live_html(elem_id="evaluate-page")
    chosen = [chunkers, retrievers, baseline, session]
    shown = [earlier, table, plot, items, tools, item, state, page]
    source.change(lambda s: gr.File(visible=s == OWN_FILE), source, upload, **AT_ONCE)
    source.change(handlers.questions, [source, upload, session], known, **QUIET)
    for changed in (upload.upload, upload.clear):
        changed(handlers.uploaded, [source, upload, session], known, **QUIET)
    for chosen_by_hand in (source.input, chunkers.input, retrievers.input, baseline.input):
        chosen_by_hand(handlers.remember, [source, *chosen], None, **QUIET)
    known.click(
        guarded(handlers.question_clicked), [source, upload, session], [known, work], concurrency_limit=None, **QUIET
    )
    for field in (chunkers, retrievers):
        field.input(handlers.systems, chosen, [systems, baseline], **QUIET)
    go.click(
        handlers.evaluate, [source, upload, *chosen, state], [work, go, stop, *shown], concurrency_limit=None, **QUIET
    )
    stop.click(handlers.stop, None, None, **AT_ONCE)
    earlier.input(guarded(handlers.reopened), [earlier, state, session], shown, **QUIET)
    baseline.input(guarded(handlers.compared), [baseline, state, session], shown, **QUIET)
    only.input(guarded(handlers.filtered), [only, state, session], [items, state], **AT_ONCE)
    items.click(guarded(handlers.item_clicked), [state, session], [items, item, page, state], **QUIET)
    item.click(guarded(handlers.evidence_clicked), [state, session], [item, page, state], **QUIET)
    page.click(guarded(handlers.page_clicked), [session], page, **QUIET)
    fetch = "() => setTimeout(() => document.querySelector('#evaluate-download').click(), 300)"
    for button, made in downloads:
        button.click(guarded(made), [state, session], file, **QUIET).success(None, None, None, js=fetch)
    return Shown(
        handlers.show,
        [source, upload, *chosen, state],
        [source, upload, chunkers, retrievers, known, systems, baseline, *shown],
    )
