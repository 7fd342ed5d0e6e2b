"""What the Evaluate tab shows of an evaluation: table, curve, questions, and one question's evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError
from pdfqa_core.evaluation_types import Evaluation, EvaluationSummary, ScoredItem
from pdfqa_core.exports.deviations import deviations_of
from pdfqa_core.exports.frames import clipboard_text, comparison_frame
from pdfqa_core.protocols.retrieval import DEPTH, counted, curve
from pdfqa_core.services import Services
from pdfqa_core.ui.components import clicked, day, error_html, plural, render
from pdfqa_core.ui.evaluate_view import (
    SHOWN,
    ShownHit,
    mark_words,
    numbers_of,
    place_of,
    rank_of,
    rows_of,
    short_names,
)
from pdfqa_core.ui.page_view import show_page
from pdfqa_core.ui.session import EvaluateState, Session

NOTHING_YET = "Choose questions and systems, then press Evaluate. What was measured stays here for the next time."
NO_QUESTION = "Click a question of the results to see where its answer stands and what each system found."
FILTERS = ("all", "won", "lost", "not found")
_NEVER = 10**9  # the rank of what was not found


class Results:
    """The middle and the right column: what was measured."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def results(self, state: EvaluateState, session: Session) -> tuple[Any, ...]:
        """Return earlier evaluations, table, plot, questions, downloads, evidence, state and page of an evaluation."""
        stored = self.services.evaluation.list(session.owner)
        if not stored:
            nothing = render("evaluate_results", message=NOTHING_YET)
            hidden = gr.LinePlot(visible=False)
            return gr.Dropdown(visible=False), nothing, hidden, "", gr.Column(visible=False), "", EvaluateState(), ""
        shown = next((one for one in stored if one.id == state.evaluation), stored[0])
        baseline = state.baseline if state.baseline in shown.systems else shown.systems[0]
        state = replace(state, evaluation=shown.id, baseline=baseline)
        evaluation = self.services.evaluation.get(session.owner, shown.id)
        earlier = gr.Dropdown(
            choices=[(_title(one), one.id) for one in stored], value=shown.id, visible=len(stored) > 1
        )
        return (
            earlier, self._table(evaluation, state, session), _plot(evaluation), _items(evaluation, state),
            gr.Column(visible=True), self._item(evaluation, state, session), state, gr.skip() if state.item else "",
        )  # fmt: skip

    def _table(self, evaluation: Evaluation, state: EvaluateState, session: Session) -> str:
        compared = self.services.evaluation.compared(session.owner, evaluation.id, SHOWN, state.baseline)
        n = compared.cells[state.baseline]["MRR"].summary
        found = deviations_of(evaluation.notes, SHOWN)
        return render(
            "evaluate_results", message="", evaluation=evaluation.id, dataset=evaluation.dataset,
            when=day(evaluation.made_at), n=n.n,
            count=n.n + n.unscored, unscored=n.unscored, notes=found.notes, measures=SHOWN,
            otherwise=(*(text for _, text in found.lettered), *found.others),
            common=short_names([system.name for system in evaluation.systems])[1],
            rows=rows_of(evaluation, compared), copied=clipboard_text(comparison_frame(compared)),
        )  # fmt: skip

    def _item(self, evaluation: Evaluation, state: EvaluateState, session: Session) -> str:
        asked = next((item.texts for item in evaluation.systems[0].items if item.id == state.item), {})
        rankings = self.services.evaluation.rankings(session.owner, evaluation.id, state.item) if asked else {}
        if not rankings:
            return render("evaluate_results", message=NO_QUESTION)
        names = self.services.documents.filenames(session.owner)
        systems = [system.name for system in evaluation.systems]
        shorts = zip(short_names(systems)[0], systems, strict=True)
        found = [(short, rankings[name, state.item]) for short, name in shorts if (name, state.item) in rankings]

        def words(document: str, numbers: Sequence[int]) -> str:
            return f"{names.get(document, document[:12])}, p. {', '.join(map(str, numbers))}"

        places = found[0][1].gold
        gold = [
            (place, words(document, [page]), "quote" if span else "whole page")
            for place in places for document, page, span in [place_of(place)]
        ]  # fmt: skip
        hits = [
            (name, [
                ShownHit(document, numbers[0], words(document, numbers), relevant)
                for (_, numbers, document), relevant in list(zip(ranking.hits, counted(ranking), strict=True))[:5]
            ])
            for name, ranking in found
        ]  # fmt: skip
        shown = state.place or (gold[0][0] if gold else "")
        return render(
            "evaluate_item", question=asked["question"], gold=gold, systems=hits, shown=shown,
            mark=mark_words(places),
        )  # fmt: skip

    # ------------------------------------------------------------ clicks

    def reopened(self, evaluation_id: str, state: EvaluateState, session: Session) -> tuple[Any, ...]:
        """Show an earlier evaluation."""
        return self.results(replace(state, evaluation=evaluation_id, item="", place=""), session)

    def compared(self, baseline: str, state: EvaluateState, session: Session) -> tuple[Any, ...]:
        """Compare with another baseline."""
        return self.results(replace(state, baseline=baseline), session)

    def table_clicked(self, state: EvaluateState, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Delete the evaluation, which the page has asked about."""
        data = clicked(event)
        if data.get("action") != "delete":
            return (gr.skip(),) * 8
        self.services.evaluation.remove(session.owner, data.get("evaluation", ""))
        return self.results(replace(state, evaluation="", item="", place=""), session)

    def filtered(self, only: str, state: EvaluateState, session: Session) -> tuple[str, EvaluateState]:
        """Show some of the questions."""
        state = replace(state, only=only)
        return _items(self._shown(state, session), state), state

    def item_clicked(self, state: EvaluateState, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Open a question: what each system found, and the gold page."""
        state = replace(state, item=clicked(event).get("item", ""), place="")
        evaluation = self._shown(state, session)
        rankings = self.services.evaluation.rankings(session.owner, evaluation.id, state.item)
        gold = next((ranking.gold for ranking in rankings.values()), ())
        page = self._gold_page(gold[0], session) if gold else ""
        return _items(evaluation, state), self._item(evaluation, state, session), page, state

    def evidence_clicked(self, state: EvaluateState, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Show the page of a gold place or of a hit."""
        data = clicked(event)
        if data.get("action") == "gold":
            state = replace(state, place=data.get("place", ""))
            evaluation = self._shown(state, session)
            return self._item(evaluation, state, session), self._gold_page(state.place, session), state
        document, number = data.get("document", ""), data.number("number", 1)
        return gr.skip(), show_page(self.services, session.owner, document, number).html, state

    def page_clicked(self, session: Session, event: gr.EventData) -> Any:
        """Turn the page."""
        data = clicked(event)
        if not data.get("document"):
            return gr.skip()
        return show_page(self.services, session.owner, data["document"], data.number("number", 1)).html

    def _shown(self, state: EvaluateState, session: Session) -> Evaluation:
        return self.services.evaluation.get(session.owner, state.evaluation)

    def _gold_page(self, place: str, session: Session) -> str:
        document, page, span = place_of(place)
        try:
            return show_page(self.services, session.owner, document, page, marks=(span,) if span else ()).html
        except PdfQAError as error:
            return error_html(error)


def _title(one: EvaluationSummary) -> str:
    systems = plural(len(one.systems), "system")
    return f"{one.dataset}, {systems}, {day(one.made_at)} {one.made_at.astimezone():%H:%M}"


def _plot(evaluation: Evaluation) -> gr.LinePlot:
    import pandas as pd

    shorts, _ = short_names([system.name for system in evaluation.systems])
    points = [
        (short, k, value) for short, system in zip(shorts, evaluation.systems, strict=True)
        for k, value in curve(system)
    ]  # fmt: skip
    end = min(DEPTH, max((one.index.passages for one in evaluation.systems if one.index), default=0) or DEPTH)
    drawn = pd.DataFrame([point for point in points if point[1] <= end], columns=["System", "k", "HR@k"])
    return gr.LinePlot(value=drawn, x_lim=[0, end], visible=True)


def _items(evaluation: Evaluation, state: EvaluateState) -> str:
    names = [system.name for system in evaluation.systems]
    place = names.index(state.baseline) if state.baseline in names else 0
    rows = []
    numbers = numbers_of([item.id for item in evaluation.systems[0].items])
    for items in zip(*(system.items for system in evaluation.systems), strict=True):
        if items[0].metrics.get("MRR") is None or not _wanted(items, place, state.only):
            continue
        base = items[place].rank
        ranks = [rank_of(item.rank, base, number == place) for number, item in enumerate(items)]
        rows.append((items[0].id, numbers[items[0].id], items[0].texts.get("question", ""), ranks))
    message = "" if rows else "No question of this kind."
    systems = short_names(names)[0]
    return render("evaluate_items", rows=rows, systems=systems, chosen=state.item, message=message)


def _wanted(items: tuple[ScoredItem, ...], base: int, only: str) -> bool:
    ranks = [item.rank or _NEVER for item in items]
    match only:
        case "won":
            return min(ranks) < ranks[base]
        case "lost":
            return max(ranks) > ranks[base]
        case "not found":
            return max(ranks) == _NEVER
    return True
