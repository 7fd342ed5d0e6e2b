"""What the Evaluate tab shows of an evaluation: table, curve, questions, and one question's evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.evaluation_types import GOLD_MATCH, Evaluation, EvaluationSummary, IndexCost, ScoredItem
from pdfqa_core.exports.frames import clipboard_text, comparison_frame
from pdfqa_core.exports.report import deviations_of
from pdfqa_core.exports.runs import MOST_LINES
from pdfqa_core.exports.table import interval_words, matching, measure_of
from pdfqa_core.metrics.comparison import Cell, Comparison, latency
from pdfqa_core.protocols.retrieval import DEPTH, EXACT, counted, curve
from pdfqa_core.services import Services
from pdfqa_core.types import Span
from pdfqa_core.ui.components import CLICK_AGAIN, clicked, day, error_html, megabytes, plural, render
from pdfqa_core.ui.page_view import show_page
from pdfqa_core.ui.session import EvaluateState, Session

# ----------------------------------------------------------------------------------------------------
# What the Evaluate tab shows: the table of results, the list of questions, the places of one question.

SHOWN = ("HR@1", "HR@5", "MRR", "nDCG@10", "R@10")
WIDTH, HEIGHT = 360.0, 160.0  # of the curves, in the units of the SVG
_PLACE = re.compile(r"([^#]*)#([0-9]{1,9})(?::([0-9]{1,9})-([0-9]{1,9}))?")


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A mean with its interval, in percent of the bar; how it compares with the baseline, `change` in words."""

    value: str
    title: str
    interval: bool = False
    low: float = 0.0
    width: float = 0.0
    mean: float = 0.0
    mark: str = ""
    tone: str = ""
    change: str = ""


def cell_of(cell: Cell, measure: str) -> ShownCell:
    """Return a mean with its interval as the tables show it."""
    summary, change = cell.summary, cell.difference
    if summary.mean is None:
        return ShownCell("–", f"nothing scored, {summary.unscored} unscored")
    value = f"{summary.mean:.3f}".removeprefix("0") if 0 <= summary.mean < 1 else f"{summary.mean:.2f}"
    title = f"n = {summary.n}" + (f", {summary.unscored} unscored" if summary.unscored else "")
    if summary.low is None or summary.high is None:
        why = "all values are the same, so there is no interval" if summary.n > 1 else "too few for an interval"
        return ShownCell(value, f"{title}: {why}")
    kind = "exact interval" if summary.exact else "interval"
    title += f", 95 % {kind} {summary.low:.3f} to {summary.high:.3f}"
    mark = tone = said = ""
    if change is not None and change.mean is not None and cell.p is not None:
        bounds = "" if change.low is None or change.high is None else f" [{change.low:+.2f}, {change.high:+.2f}]"
        said = f"{change.mean:+.2f}{bounds}".replace("-", "−") if change.mean or change.high else "the same"
        title += f"; difference {change.mean:+.3f}, p = {cell.p:.3f}"
        better = measure_of(measure).higher_is_better
        if cell.significant:
            mark = "▲" if change.mean > 0 else "▼"
            tone = "" if better is None else "good" if (change.mean > 0) == better else "bad"
    low, high, mean = (round(100 * min(1.0, max(0.0, one)), 1) for one in (summary.low, summary.high, summary.mean))
    return ShownCell(value, title, True, low, round(high - low, 1), mean, mark, tone, said)


def rows_of(evaluation: Evaluation, comparison: Comparison) -> list[dict[str, Any]]:
    """Return the table of results."""
    found = []
    for system in evaluation.systems:
        index = system.index or IndexCost(0, 0.0, 0)
        median, slow = (1000 * seconds for seconds in latency(system) or (0.0, 0.0))
        found.append(
            {
                "name": system.name,
                "baseline": system.name == comparison.baseline or not comparison.baseline,
                "cells": [cell_of(comparison.cells[system.name][name], name) for name in comparison.measures],
                "latency": f"{median:.1f} ms a search, 19 of 20 within {slow:.1f} ms",
                "passages": plural(index.passages, "passage"),
                "size": f"index {megabytes(index.bytes)}, ready in {index.build_seconds:.1f}\u00a0s",
            }
        )
    return found


def place_of(place: str) -> tuple[str, int, Span | None]:
    """Return document, page and span of a gold place's name ("document#page" or "document#page:start-end").

    Raises UsageError for anything else.
    """
    found = _PLACE.fullmatch(place)
    if not found:
        raise UsageError(f"“{place[:40]}” is no place in a document.", CLICK_AGAIN)
    document, page, start, end = found.groups()
    return document, int(page), Span(document, int(page), int(start), int(end)) if start else None


def numbers_of(ids: Sequence[str]) -> dict[str, str]:
    """Return what is shown before each question: its id, or its place from 1 where the ids are lines of a table.

    The first line of a table is its header, so that ids which were made of lines begin with 2.
    """
    if ids[:1] == ["2"] and all(map(str.isdecimal, ids)) and sorted(ids, key=int) == list(ids):
        return {one: str(place) for place, one in enumerate(ids, start=1)}
    return dict(zip(ids, ids, strict=True))


def mark_words(places: Sequence[str], match: str = "") -> str:
    """Return what ✓ says of a passage, by what is known of the gold and what counts; empty where there is none."""
    exact = {place_of(place)[2] is not None for place in places}
    if not exact:
        return ""
    if match.startswith(f"{EXACT}:"):
        means = "is the one passage that has most of the gold quote"
    elif exact == {True}:
        means = "has words of the gold quote; another passage of the same page does not count"
    elif exact == {False}:
        means = "lies on the gold page, whatever it says there"
    else:
        means = "has words of a gold quote, or lies on a gold page of which no quote is known"
    return f"✓ {means}. Ranks and measures count the same. Each gold place counts once, where it is found first."


def rank_of(rank: int | None, base: int | None, own: bool) -> tuple[str, str]:
    """Return a rank in words with its comparison to the baseline's rank, and its tone; `own`: it is the baseline's."""
    words = "–" if rank is None else str(rank)
    if own or rank == base:
        return words, ""
    better = rank is not None and (base is None or rank < base)
    return (f"{words} ↑", "good") if better else (f"{words} ↓", "bad")


# ----------------------------------------------------------------------------------------------------
# What the Evaluate tab shows of an evaluation: table, curve, questions, and one question's evidence.

NOTHING_YET = "Choose questions and systems, then press Evaluate. What was measured stays here for the next time."
NO_QUESTION = "Click a question of the results to see where its answer stands and what each system found."
FILTERS = ("all", "won", "lost", "not found")
_NEVER = 10**9  # the rank of what was not found


class Results:
    """The middle and the right column: what was measured."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def results(self, state: EvaluateState, session: Session) -> tuple[Any, ...]:
        """Return earlier evaluations, table, questions, downloads, evidence, state and page of an evaluation."""
        stored = self.services.evaluation.kept.list(session.owner)
        if not stored:
            nothing = render("evaluate_results", message=NOTHING_YET)
            return gr.Dropdown(visible=False), nothing, "", gr.Column(visible=False), "", EvaluateState(), ""
        shown = next((one for one in stored if one.id == state.evaluation), stored[0])
        baseline = state.baseline if state.baseline in shown.systems else shown.systems[0]
        state = replace(state, evaluation=shown.id, baseline=baseline)
        evaluation = self.services.evaluation.kept.get(session.owner, shown.id)
        earlier = gr.Dropdown(
            choices=[(_title(one), one.id) for one in stored], value=shown.id, visible=len(stored) > 1
        )
        return (
            earlier,
            self._table(evaluation, state, session),
            _items(evaluation, state),
            gr.Column(visible=True),
            self._item(evaluation, state, session),
            state,
            gr.skip() if state.item else "",
        )

    def _table(self, evaluation: Evaluation, state: EvaluateState, session: Session) -> str:
        compared = self.services.evaluation.compared(session.owner, evaluation.id, SHOWN, state.baseline)
        n = compared.cells[state.baseline]["MRR"].summary
        found = deviations_of(evaluation.notes, SHOWN)
        return render(
            "evaluate_results",
            message="",
            evaluation=evaluation.id,
            dataset=evaluation.dataset,
            when=day(evaluation.made_at),
            n=n.n,
            count=n.n + n.unscored,
            unscored=n.unscored,
            notes=found.notes,
            measures=SHOWN,
            otherwise=(*(text for _, text in found.lettered), *found.others),
            rows=rows_of(evaluation, compared),
            intervals=interval_words(compared),
            matching=matching(evaluation),
            copied=clipboard_text(comparison_frame(compared)),
            **_curves(evaluation),
        )

    def _item(self, evaluation: Evaluation, state: EvaluateState, session: Session) -> str:
        asked = next((item.texts for item in evaluation.systems[0].items if item.id == state.item), {})
        rankings = self.services.evaluation.kept.rankings(session.owner, evaluation.id, state.item) if asked else {}
        if not rankings:
            return render("evaluate_results", message=NO_QUESTION)
        names = self.services.documents.filenames(session.owner)
        systems = [system.name for system in evaluation.systems]
        found = [(name, rankings[name, state.item]) for name in systems if (name, state.item) in rankings]

        def words(document: str, numbers: Sequence[int]) -> str:
            return f"{names.get(document, document[:12])}, p. {', '.join(map(str, numbers))}"

        places = found[0][1].gold
        gold = [
            (place, words(document, [page]), "quote" if span else "whole page")
            for place in places
            for document, page, span in [place_of(place)]
        ]
        hits = [
            (
                name,
                [
                    {
                        "document_id": document,
                        "page": numbers[0],
                        "place": words(document, numbers),
                        "relevant": relevant,
                    }
                    for (_, numbers, document), relevant in list(zip(ranking.hits, counted(ranking), strict=True))[:5]
                ],
            )
            for name, ranking in found
        ]
        shown = state.place or (gold[0][0] if gold else "")
        return render(
            "evaluate_item",
            question=asked["question"],
            gold=gold,
            systems=hits,
            shown=shown,
            mark=mark_words(places, evaluation.settings.get(GOLD_MATCH, "")),
        )

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
            return (gr.skip(),) * 7
        self.services.evaluation.kept.remove(session.owner, data.get("evaluation", ""))
        return self.results(replace(state, evaluation="", item="", place=""), session)

    def filtered(self, only: str, state: EvaluateState, session: Session) -> tuple[str, EvaluateState]:
        """Show some of the questions."""
        state = replace(state, only=only)
        return _items(self._shown(state, session), state), state

    def item_clicked(self, state: EvaluateState, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Open a question: what each system found, and the gold page."""
        state = replace(state, item=clicked(event).get("item", ""), place="")
        evaluation = self._shown(state, session)
        rankings = self.services.evaluation.kept.rankings(session.owner, evaluation.id, state.item)
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
        return self.services.evaluation.kept.get(session.owner, state.evaluation)

    def _gold_page(self, place: str, session: Session) -> str:
        document, page, span = place_of(place)
        try:
            return show_page(self.services, session.owner, document, page, marks=(span,) if span else ()).html
        except PdfQAError as error:
            return error_html(error)


def _title(one: EvaluationSummary) -> str:
    systems = plural(len(one.systems), "system")
    return f"{one.dataset}, {systems}, {day(one.made_at)} {one.made_at.astimezone():%H:%M}"


def _curves(evaluation: Evaluation) -> dict[str, Any]:
    """Return what is drawn of HR@k: of the first systems their lines by name, and the numbers beside the axes."""
    end = min(DEPTH, max((one.index.passages for one in evaluation.systems if one.index), default=0) or DEPTH)
    step = WIDTH / max(1, end - 1)
    drawn = {
        one.name: " ".join(f"{(k - 1) * step:.1f},{HEIGHT * (1 - value):.1f}" for k, value in curve(one) if k <= end)
        for one in evaluation.systems[:MOST_LINES]
    }
    ks = sorted({1, *(end * quarter // 4 for quarter in range(1, 5))} - {0})
    return {
        "lines": {name: line for name, line in drawn.items() if line},
        "left_out": len(evaluation.systems) > MOST_LINES,
        "xs": [(round((k - 1) * step, 1), k) for k in ks],
        "ys": [(round(HEIGHT * (1 - n / 5), 1), f"{n / 5:.1f}") for n in range(6)],
        "width": WIDTH,
        "height": HEIGHT,
    }


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
    return render("evaluate_items", rows=rows, systems=names, chosen=state.item, message=message)


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
