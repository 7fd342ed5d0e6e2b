"""The results of a run, or of several beside each other: table, charts, questions, and one question's answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import gradio as gr
from markupsafe import Markup

from pdfqa_core.evaluation_types import Evaluation, Run
from pdfqa_core.exports.deviations import deviations_of
from pdfqa_core.exports.insights import guide, insights, successes
from pdfqa_core.exports.run_charts import chart_panels, drawable
from pdfqa_core.exports.table import measure_of, spread_text
from pdfqa_core.metrics.comparison import Comparison, compare
from pdfqa_core.metrics.groups import TURN, TYPE, grouped
from pdfqa_core.metrics.repeats import spreads
from pdfqa_core.services import Services
from pdfqa_core.ui.components import render
from pdfqa_core.ui.evaluate_runs_view import (
    FILTERS,
    FILTERS_OF_ONE,
    RIGHT_WORDS,
    Wanted,
    answers_of,
    group_rows,
    groups_of,
    head_of,
    item_rows,
    result_rows,
    shown_measures,
)
from pdfqa_core.ui.session import Session

EVERY = "all questions"
ANY = "any system"
AGAINST = "how the system, or any of them, did against the one compared with"


@dataclass(frozen=True, slots=True)
class RunsState:
    """The shown run and those beside it, what its systems are compared with, the order of the table, the open question.

    `only`, `part` and `other` choose the questions: how a system (`other`, empty: any) did against the baseline, and
    turn or type.
    """

    run: str = ""
    beside: tuple[str, ...] = ()
    baseline: str = ""
    sort: str = ""
    only: str = "all"
    part: str = ""
    other: str = ""
    item: str = ""

    @property
    def runs(self) -> tuple[str, ...]:
        """The shown runs."""
        return (self.run, *self.beside)

    @property
    def wanted(self) -> Wanted:
        """Which questions are shown."""
        return Wanted(self.baseline, self.only, self.part, self.other)


class RunResults:
    """What is shown of runs that have scores; comparisons and charts are kept, for they take a while."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self._compared = lru_cache(maxsize=32)(self._compare)
        self._charted = lru_cache(maxsize=16)(self._chart)

    def evaluation(self, state: RunsState, session: Session) -> Evaluation:
        """Return the scores of the shown runs. Raises UsageError where one has none."""
        return self.services.runs_together.evaluation(session.owner, state.runs)

    def settled(self, state: RunsState, session: Session) -> tuple[RunsState, dict[str, str], Evaluation]:
        """Return the state without choices that are gone, the runs that can stand beside by name, and the scores."""
        others = self.services.runs_together.comparable(session.owner, state.run)
        listed = {one.id: f"{one.name} ({one.created_at.astimezone():%d %b %H:%M})" for one in others}
        state = replace(state, beside=tuple(one for one in state.beside if one in listed))
        evaluation = self.evaluation(state, session)
        names = [system.name for system in evaluation.systems]
        state = replace(
            state, baseline=state.baseline if state.baseline in names else names[0],
            other=state.other if state.other in names else "",
            part=state.part if state.part in self.parts(evaluation) else "",
            sort=state.sort if state.sort in evaluation.measures else "",
            only=state.only if state.only in filters_of(evaluation).values() else "all",
        )  # fmt: skip
        return state, listed, evaluation

    def choices(self, state: RunsState, listed: dict[str, str], evaluation: Evaluation) -> tuple[Any, ...]:
        """Return the fields: runs beside, baseline, system, part of the questions, how they were answered."""
        names = [system.name for system in evaluation.systems]
        parts = [EVERY, *self.parts(evaluation)]
        several = len(names) > 1
        return (
            gr.Dropdown([(name, key) for key, name in listed.items()], value=list(state.beside), visible=bool(listed)),
            gr.Dropdown(choices=names, value=state.baseline, visible=several),
            gr.Dropdown(choices=[ANY, *names], value=state.other or ANY, visible=len(names) > 2),
            gr.Dropdown(choices=parts, value=state.part or EVERY, visible=len(parts) > 1),
            gr.Radio(
                choices=list(filters_of(evaluation).items()), value=state.only,
                info=f"{AGAINST}; {RIGHT_WORDS}" if several else RIGHT_WORDS,
            ),
        )  # fmt: skip

    @staticmethod
    def parts(evaluation: Evaluation) -> list[str]:
        """Return the turns and types by which questions are chosen."""
        return [f"{by} {one}" for by in (TURN, TYPE) for one in groups_of(evaluation, by)]

    def table(self, run: Run, evaluation: Evaluation, state: RunsState, owner: str) -> str:
        """Return the table of means, and that of the first measure by turn."""
        comparison = self._compared(owner, state.runs, _stamp(evaluation), state.baseline)
        measures = shown_measures(evaluation)
        names = [system.name for system in evaluation.systems]
        by = state.sort or measures[0]
        deep = len(groups_of(evaluation, TURN)) > 1
        found = deviations_of(evaluation.notes, measures)
        turns = grouped(evaluation, TURN, (by,), baseline=state.baseline) if deep else ()
        return render(
            "evaluate_run_results", run=run, beside=len(state.beside), count=len(evaluation.systems[0].items),
            notes=found.notes, deviations=found, shared=evaluation.settings.get("all systems", ""),
            measures=[(name, head_of(name), measure_of(name), found.marks.get(name, "")) for name in measures],
            sort=state.sort,
            rows=result_rows(evaluation, comparison, state.sort), others=len(names) - 1, names=names,
            turns=group_rows(turns, by, names), first=measure_of(by).pretty_name, baseline=state.baseline,
            left_out=len(evaluation.measures) - len(measures), insights=insights(evaluation, comparison),
            spreads=[
                (one.system, measure_of(one.measure).pretty_name, spread_text(one))
                for one in spreads(evaluation, measures)
            ],
            successes=successes(replace(evaluation, measures=measures)), guide=guide(evaluation),
        )  # fmt: skip

    def _compare(self, owner: str, runs: tuple[str, ...], stamp: str, baseline: str) -> Comparison:
        """Return the systems of runs compared; `stamp` is another one where they were scored or named anew."""
        results = self.services.runs_together.evaluation(owner, runs)
        return compare(results, measures=shown_measures(results), baseline=baseline)

    # ------------------------------------------------------------ charts

    def charts(self, state: RunsState, session: Session, measure: str, against: str) -> tuple[Any, ...]:
        """Return the choices of measures, and the charts of the shown runs."""
        if not state.run:
            return gr.skip(), gr.skip(), ""
        run = self.services.runs.get(session.owner, state.run)
        if run.results is None:
            return gr.skip(), gr.skip(), render("charts", charts=(), missing="There are no scores yet.")
        evaluation = self.evaluation(state, session)
        names = drawable(evaluation)
        if not names:
            return gr.skip(), gr.skip(), render("charts", charts=(), missing="No measure has a value to draw.")
        measure = measure if measure in names else names[0]
        others = [name for name in names if name != measure]
        against = against if against in others else next(iter(others), "")
        charts = self._charted(session.owner, state.runs, _stamp(evaluation), measure, against)
        listed = [(measure_of(name).pretty_name, name) for name in names]
        return (
            gr.Dropdown(choices=listed, value=measure),
            gr.Dropdown(choices=[one for one in listed if one[1] != measure], value=against or None),
            render("charts", charts=charts, missing=""),
        )

    def _chart(
        self, owner: str, runs: tuple[str, ...], stamp: str, measure: str, against: str
    ) -> tuple[tuple[str, Markup], ...]:
        evaluation = self.services.runs_together.evaluation(owner, runs)
        drawn = chart_panels(evaluation, measure, against)
        return tuple((title, Markup(svg)) for title, svg in drawn)  # noqa: S704 - made by the charts, names escaped

    # ------------------------------------------------------------ questions

    def items(self, evaluation: Evaluation, state: RunsState) -> str:
        """Return the questions that the filters leave."""
        measure = state.sort or evaluation.measures[0]
        rows, count = item_rows(evaluation, measure, state.wanted)
        return render(
            "evaluate_run_items", rows=rows, count=count, measure=measure_of(measure).pretty_name,
            names=[system.name for system in evaluation.systems], chosen=state.item,
        )  # fmt: skip

    def item(self, evaluation: Evaluation, state: RunsState, session: Session) -> str:
        """Return what every system answered to the open question."""
        item = next((one for one in evaluation.systems[0].items if one.id == state.item), None)
        if item is None:
            return render("evaluate_run_item", item=None)
        predictions = self.services.runs_together.predictions(session.owner, state.runs)
        answers = answers_of(evaluation, predictions, item.id, self.services.documents.filenames(session.owner))
        return render("evaluate_run_item", item=item, answers=answers)


def filters_of(evaluation: Evaluation) -> dict[str, str]:
    """Return the ways to choose questions, by what they are called: there are other ones where nothing is compared."""
    return FILTERS if len(evaluation.systems) > 1 else FILTERS_OF_ONE


def _stamp(evaluation: Evaluation) -> str:
    return f"{evaluation.made_at.isoformat()} {[system.name for system in evaluation.systems]}"
