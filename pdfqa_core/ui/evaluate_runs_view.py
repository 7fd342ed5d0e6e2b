"""What the Evaluate tab shows of runs: their list, the table of results, the questions, and one question's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import gradio as gr
from markupsafe import Markup

from pdfqa_core.evaluation_types import Evaluation, Prediction, Run, RunState, RunSummary, ScoredItem
from pdfqa_core.exports.insights import guide, insights, of_item, successes
from pdfqa_core.exports.report import deviations_of
from pdfqa_core.exports.runs import chart_panels, drawable
from pdfqa_core.exports.table import interval_words, matching, measure_of, spread_text
from pdfqa_core.metrics.comparison import TURN, TYPE, Comparison, ItemGroup, compare, grouped, latency, spreads
from pdfqa_core.metrics.rag import PHRASE
from pdfqa_core.metrics.short_answers import answer_tokens, normalise_answer
from pdfqa_core.reading.answerability import RefusalCurve, refusal_curves
from pdfqa_core.reading.outcomes import nothing_words
from pdfqa_core.services import Services
from pdfqa_core.services.evaluation import SoFar
from pdfqa_core.types import Answer, Hit, Passage, Progress
from pdfqa_core.ui.components import day, plural, render
from pdfqa_core.ui.evaluate_results import ShownCell, cell_of
from pdfqa_core.ui.session import Session

# ----------------------------------------------------------------------------------------------------
# The chart beside the setting "Evidence needed": precision and recall of refusals at every threshold, as SVG.

WIDTH, HEIGHT = 320.0, 190.0  # of the plot, in the units of the SVG
LOWEST = 0.4  # precision at the bottom of the plot
TICKS = 5


def refusal_chart(refusal: str, threshold: float) -> str:
    """Return the measured curves of a way to refuse with the threshold marked, and what it means in words."""
    curves = refusal_curves(refusal)
    return render(
        "refusal_curve",
        refusal=refusal,
        curves=[_drawn(curve, threshold) for curve in curves],
        threshold=f"{threshold:.2f}",
        asked=sorted({curve.model for curve in curves if curve.model}),
        measured=max((curve.measured for curve in curves), default=""),
        xs=[(_x(n / TICKS), f"{100 * n // TICKS}") for n in range(TICKS + 1)],
        ys=[(_y(n / 10), f"{10 * n}") for n in range(4, 11, 2)],
        width=WIDTH,
        height=HEIGHT,
    )


def _x(recall: float) -> float:
    return round(WIDTH * recall, 1)


def _y(precision: float) -> float:
    return round(HEIGHT * (1 - max(0.0, precision - LOWEST) / (1 - LOWEST)), 1)


def _drawn(curve: RefusalCurve, threshold: float) -> dict[str, Any]:
    precision, asked = curve.precision(threshold), curve.answerable + curve.unanswerable
    words = (
        f"turns away {curve.recall(threshold):.0%} of the questions that cannot be answered, and "
        f"{curve.lost(threshold):.0%} of those that can ({curve.dataset}, {asked} questions)"
    )
    point = None if precision is None else (_x(curve.recall(threshold)), _y(precision))
    return {"line": _line(curve.points()), "point": point, "words": words.replace("%", " %")}


def _line(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_x(recall)},{_y(precision)}" for recall, precision in points)


# ----------------------------------------------------------------------------------------------------
# What the Evaluate tab shows of runs: their list, the table of results, the questions, and one question's answers.

# Which questions are shown: by how a system did against the baseline, and by how it did where there is no other.
FILTERS = {
    "all": "all", "better": "better", "worse": "worse", "right, baseline wrong": "won", "wrong, baseline right": "lost",
    "failed": "failed",
}  # fmt: skip
FILTERS_OF_ONE = {"all": "all", "right": "right", "wrong": "wrong", "failed": "failed"}
RIGHT = 0.5  # from which value on an answer counts as right
SHORT = 5  # words of a gold answer up to which an answer is right that has them all, in however long a sentence
OF_WORDS = ("answer_f1", "bleu_1", "rouge_l", "rouge_l_sum")  # what falls the more an answer says besides
RIGHT_WORDS = f"right: from .5 on; where the gold answer has up to {SHORT} words, an answer that has all of them"
MOST_MEASURES = 7  # columns of the table
SPARE = "bleu_1"  # what is left out first where there are more
MOST_ITEMS = 400  # rows of questions
_CUT = {
    "Insufficient context detection": "Missing context", "Supporting facts": "Supp. facts", "HotpotQA": "Hotpot",
    "Entailment": "Entail.",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which questions: one of FILTERS, of one part ("turn 2", "type fact"), of one system (`other`, empty: any)."""

    baseline: str = ""
    only: str = "all"
    part: str = ""
    other: str = ""


def run_rows(runs: Sequence[RunSummary], chosen: str, going: str) -> list[dict[str, Any]]:
    """Return the list of runs; `going` is the one under way, though its thread may not have begun yet."""
    runs = [replace(one, state=RunState.RUNNING) if one.id == going else one for one in runs]
    return [
        {
            "id": one.id,
            "name": one.name,
            "state": state_words(one),
            "when": f"{day(one.created_at)} {one.created_at.astimezone():%H:%M}",
            "chosen": one.id == chosen,
            "open": one.state in (RunState.STOPPED, RunState.FAILED),
            "failed": one.failed,
        }
        for one in runs
    ]


def state_words(run: RunSummary) -> str:
    """Return how far a run is: "40 answers", "paused, 12 of 40", "12 of 40"."""
    failed = f", {run.failed} failed" if run.failed else ""
    if run.state is RunState.DONE:
        return f"{plural(run.total, 'answer')}{failed}"
    said = {RunState.STOPPED: "paused, ", RunState.FAILED: "broke off, "}.get(run.state, "")
    return f"{said}{run.done} of {run.total}{failed}"


def paused_words(run: RunSummary) -> str:
    """Return what there is to say of a run that was paused."""
    return f"Paused after {run.done} of {run.total} answers. They are kept; “go on” asks the rest."


def steps_of(step: Progress, run: RunSummary) -> tuple[Progress, ...]:
    """Return what a run under way shows: all answers with the time left, and what is done right now."""
    if run.done >= run.total or step.total >= run.total:
        return (step,)
    return Progress("all answers", run.done, run.total, step.seconds_left), replace(step, seconds_left=None)


def so_far_rows(found: Sequence[SoFar]) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Return the measures of an unfinished run by their names, and its systems with their means so far."""
    names = tuple(dict.fromkeys(name for one in found for name, _ in one.means))
    rows = []
    for one in found:
        means = dict(one.means)
        cells = tuple("–" if (mean := means.get(name)) is None else f"{mean:.3f}" for name in names)
        rows.append({"system": one.system, "done": one.done, "total": one.total, "failed": one.failed, "cells": cells})
    return tuple(measure_of(name).pretty_name for name in names), rows


def shown_measures(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the measures that the table has room for."""
    names = evaluation.measures
    kept = names if len(names) <= MOST_MEASURES else tuple(name for name in names if name != SPARE)
    return kept[:MOST_MEASURES]


def seconds_words(seconds: float) -> str:
    """Return "2.3 s", "0.04 s", in one piece."""
    return f"{seconds:.1f}\N{NO-BREAK SPACE}s" if seconds >= 1 else f"{max(seconds, 0.01):.2f}\N{NO-BREAK SPACE}s"


def head_of(measure: str) -> str:
    """Return a measure's name for the head of a column, its longest words cut."""
    name = measure_of(measure).pretty_name
    for long, short in _CUT.items():
        name = name.replace(long, short)
    return name


def result_rows(evaluation: Evaluation, comparison: Comparison, sort: str) -> list[dict[str, Any]]:
    """Return the table of results, best first by the measure `sort`; without one in the order of the run.

    The number of a system stands for it where there is no room for its name.
    """
    rows = []
    for number, system in enumerate(evaluation.systems, start=1):
        cells = comparison.cells[system.name]
        spent = latency(system)
        row = {
            "number": number,
            "name": system.name,
            "baseline": system.name == comparison.baseline,
            "cells": [cell_of(cells[name], name) for name in comparison.measures],
            "seconds": seconds_words(spent[0]) if spent else "",
        }
        mean = cells[sort].summary.mean if sort in cells else None
        rows.append((-1.0 if mean is None else mean, row))
    if sort in comparison.measures:
        falling = measure_of(sort).higher_is_better is not False
        rows.sort(key=lambda pair: -pair[0] if falling else pair[0])
    return [row for _, row in rows]


def groups_of(evaluation: Evaluation, by: str) -> tuple[str, ...]:
    """Return the values by which the questions can be filtered: turns, types."""
    return tuple(dict.fromkeys(item.texts[by] for item in evaluation.systems[0].items if by in item.texts))


def wanted_items(evaluation: Evaluation, measure: str, wanted: Wanted) -> tuple[int, ...]:
    """Return the places of the questions that the filters leave."""
    names = [system.name for system in evaluation.systems]
    base = names.index(wanted.baseline) if wanted.baseline in names else 0
    compared = [names.index(wanted.other)] if wanted.other in names else [n for n in range(len(names)) if n != base]
    found = []
    for place, items in enumerate(zip(*(system.items for system in evaluation.systems), strict=True)):
        texts = items[0].texts
        if wanted.part and wanted.part not in (f"turn {texts.get('turn', '')}", f"type {texts.get('type', '')}"):
            continue
        if wanted.only == "failed":
            fits = any("error" in item.texts for item in items)
        else:
            others = (items[one] for one in compared or [base])
            fits = wanted.only == "all" or any(_fits(one, items[base], measure, wanted.only) for one in others)
        if fits:
            found.append(place)
    return tuple(found)


def _fits(item: ScoredItem, base: ScoredItem, measure: str, only: str) -> bool:
    value, other = item.metrics.get(measure), base.metrics.get(measure)
    if value is None or other is None:
        return False
    own, its = is_right(item, measure), is_right(base, measure)
    return {
        "better": value > other,
        "worse": value < other,
        "won": own and not its,
        "lost": its and not own,
        "right": own,
        "wrong": not own,
    }.get(only, False)


def is_right(item: ScoredItem, measure: str) -> bool:
    """Return whether an answer counts as right by a measure.

    A sentence with a short gold answer in it has a low value by every measure of shared words: there it has to have
    all words of the gold answer. Elsewhere, and in runs that were scored without token recall, the value says it.
    """
    recall, gold = item.metrics.get("token_recall"), item.texts.get("gold_answer", "").split(" | ")
    if measure in OF_WORDS and recall is not None and max(len(answer_tokens(one)) for one in gold) <= SHORT:
        return recall == 1
    return (item.metrics.get(measure) or 0.0) >= RIGHT


def item_rows(evaluation: Evaluation, measure: str, wanted: Wanted) -> tuple[list[dict[str, Any]], int]:
    """Return the questions of a filter and how many there are in all.

    Each has every system's value of the measure, with its tone against the baseline.
    """
    names = [system.name for system in evaluation.systems]
    base = names.index(wanted.baseline) if wanted.baseline in names else 0
    places = wanted_items(evaluation, measure, wanted)
    rows = []
    for place in places[:MOST_ITEMS]:
        items = [system.items[place] for system in evaluation.systems]
        texts, values = items[0].texts, [item.metrics.get(measure) for item in items]
        about = (f"turn {texts['turn']}" if "turn" in texts else "", texts.get("type", ""))
        rows.append(
            {
                "id": items[0].id,
                "question": texts.get("question", ""),
                "about": " · ".join(filter(None, about)),
                "scores": [_value(value, values[base], n == base) for n, value in enumerate(values)],
            }
        )
    return rows, len(places)


def _value(value: float | None, base: float | None, own: bool) -> tuple[str, str]:
    if value is None:
        return "–", ""
    words = f"{value:.0f}" if value in (0, 1) else f"{value:.2f}".removeprefix("0" if 0 < value < 1 else "")
    if own or base is None or value == base:
        return words, ""
    return (f"{words}↑", "good") if value > base else (f"{words}↓", "bad")


def answers_of(
    evaluation: Evaluation,
    predictions: Mapping[tuple[str, str], Prediction],
    item_id: str,
    filenames: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return every system's answer to one question: its words, each with its marks, and what it rests on.

    `outcome` is what stands before it ("refused", "perhaps"), `quote` the lines before one that is not sure. `evidence`
    are label, text, document id, page and whether it is cited.
    """
    found = []
    said = {
        system.name: normalise_answer(one.answer).split()
        for system in evaluation.systems
        if (one := predictions.get((system.name, item_id))) is not None and not one.failed
    }
    first, second = (*said, "", "")[:2]
    for system in evaluation.systems:
        item = next((one for one in system.items if one.id == item_id), None)
        prediction = predictions.get((system.name, item_id), Prediction(item_id, error="Not answered yet."))
        if item is None:
            continue
        beside = first if system.name != first else second if len(said) == 2 else ""
        gold = set(normalise_answer(item.texts.get("gold_answer", "")).split())
        cited = {(place.filename, place.page) for place in prediction.citations} | {
            (place.id, place.page) for place in prediction.citations
        }
        evidence = tuple(
            (
                f"{name}, p. {one.page}" if (name := filenames.get(one.document_id, "")) else one.id,
                one.text,
                one.document_id if one.document_id in filenames else "",
                one.page,
                (name or one.id, one.page) in cited,
            )
            for one in prediction.evidence
        )
        scores = tuple(
            (measure_of(name).pretty_name, "–" if (value := item.metrics.get(name)) is None else f"{value:.2f}")
            for name in evaluation.measures
            if name in item.metrics
        )
        refusal, notes = refusal_of(prediction)
        words = ((refusal, ""),) if refusal else marked(prediction.answer, gold, said.get(beside))
        refused, lines = prediction.refused or bool(refusal), prediction.quote if prediction.perhaps else None
        quoted = f"“{' '.join(lines.quote.split())}” ({lines.filename}, p. {lines.page})" if lines else ""
        found.append(
            {
                "system": system.name,
                "words": words,
                "scores": scores,
                "outcome": "refused" if refused else "perhaps" if prediction.perhaps else "",
                "quote": quoted if lines and lines.quote.split() != prediction.answer.split() else "",
                "error": prediction.error,
                "hint": prediction.hint,
                "searched": prediction.asked if prediction.asked != item.texts.get("question") else "",
                "evidence": evidence,
                "seconds": seconds_words(prediction.seconds) if prediction.seconds is not None else "",
                "notes": notes,
                "in_words": of_item(item.metrics),
            }
        )
    return found


def refusal_of(prediction: Prediction) -> tuple[str, tuple[str, ...]]:
    """Return what Chat shows in the place of a refusal, and the notes beside it; "" where there is an answer to show.

    Of an answer that was brought in a file only the text is known.
    """
    if normalise_answer(prediction.answer) != PHRASE:
        return "", prediction.notes
    hits = tuple(Hit(Passage(one.id, one.spans, one.text), 0.0, 0, "") for one in prediction.evidence)
    said, *notes = nothing_words(Answer("", hits=hits, notes=prediction.notes))
    return said, tuple(notes)


def marked(answer: str, gold: set[str], beside: Sequence[str] | None = None) -> tuple[tuple[str, str], ...]:
    """Return the words of an answer, each with its marks: "other" if no gold answer has it, "differs" if `beside` not.

    `beside` are the normalised words of another system's answer, None where no other is shown. Without gold words no
    word is marked as "other".
    """
    there = None if beside is None else set(beside)
    words = []
    for word in answer.split():
        plain = normalise_answer(word).split()
        other = bool(gold) and bool(plain) and not gold.issuperset(plain)
        differs = there is not None and bool(plain) and not there.issuperset(plain)
        words.append((word, " ".join(["other"] * other + ["differs"] * differs)))
    return tuple(words)


def group_rows(
    groups: Sequence[ItemGroup], measure: str, names: Sequence[str]
) -> tuple[tuple[str, int, tuple[ShownCell, ...]], ...]:
    """Return the means of one measure by group, a cell per system."""
    return tuple(
        (group.value, group.n, tuple(cell_of(group.cells[name][measure], measure) for name in names))
        for group in groups
    )


# ----------------------------------------------------------------------------------------------------
# The results of a run, or of several beside each other: table, charts, questions, and one question's answers.

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
        return self.services.evaluation.together(session.owner, state.runs)

    def settled(self, state: RunsState, session: Session) -> tuple[RunsState, dict[str, str], Evaluation]:
        """Return the state without choices that are gone, the runs that can stand beside by name, and the scores."""
        others = self.services.evaluation.comparable(session.owner, state.run)
        listed = {one.id: f"{one.name} ({one.created_at.astimezone():%d %b %H:%M})" for one in others}
        state = replace(state, beside=tuple(one for one in state.beside if one in listed))
        evaluation = self.evaluation(state, session)
        names = [system.name for system in evaluation.systems]
        state = replace(
            state,
            baseline=state.baseline if state.baseline in names else names[0],
            other=state.other if state.other in names else "",
            part=state.part if state.part in self.parts(evaluation) else "",
            sort=state.sort if state.sort in evaluation.measures else "",
            only=state.only if state.only in filters_of(evaluation).values() else "all",
        )
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
                choices=list(filters_of(evaluation).items()),
                value=state.only,
                info=f"{AGAINST}; {RIGHT_WORDS}" if several else RIGHT_WORDS,
            ),
        )

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
            "evaluate_run_results",
            run=run,
            beside=len(state.beside),
            count=len(evaluation.systems[0].items),
            notes=found.notes,
            deviations=found,
            shared=evaluation.settings.get("all systems", ""),
            measures=[(name, head_of(name), measure_of(name), found.marks.get(name, "")) for name in measures],
            sort=state.sort,
            rows=result_rows(evaluation, comparison, state.sort),
            matching=matching(evaluation) if any(name.startswith("HR@") for name in measures) else "",
            others=len(names) - 1,
            names=names,
            turns=group_rows(turns, by, names),
            first=measure_of(by).pretty_name,
            baseline=state.baseline,
            left_out=len(evaluation.measures) - len(measures),
            intervals=interval_words(comparison),
            insights=insights(evaluation, comparison),
            spreads=[
                (one.system, measure_of(one.measure).pretty_name, spread_text(one))
                for one in spreads(evaluation, measures)
            ],
            successes=successes(replace(evaluation, measures=measures)),
            guide=guide(evaluation),
        )

    def _compare(self, owner: str, runs: tuple[str, ...], stamp: str, baseline: str) -> Comparison:
        """Return the systems of runs compared; `stamp` is another one where they were scored or named anew."""
        results = self.services.evaluation.together(owner, runs)
        return compare(results, measures=shown_measures(results), baseline=baseline)

    # ------------------------------------------------------------ charts

    def charts(self, state: RunsState, session: Session, measure: str) -> tuple[Any, ...]:
        """Return the choices of measures, and the charts of the shown runs."""
        if not state.run:
            return gr.skip(), ""
        run = self.services.evaluation.runs.get(session.owner, state.run)
        if run.results is None:
            return gr.skip(), render("charts", charts=(), missing="There are no scores yet.")
        evaluation = self.evaluation(state, session)
        names = drawable(evaluation)
        if not names:
            return gr.skip(), render("charts", charts=(), missing="No measure has a value to draw.")
        measure = measure if measure in names else names[0]
        charts = self._charted(session.owner, state.runs, _stamp(evaluation), measure)
        listed = [(measure_of(name).pretty_name, name) for name in names]
        return gr.Dropdown(choices=listed, value=measure), render("charts", charts=charts, missing="")

    def _chart(self, owner: str, runs: tuple[str, ...], stamp: str, measure: str) -> tuple[tuple[str, Markup], ...]:
        evaluation = self.services.evaluation.together(owner, runs)
        drawn = chart_panels(evaluation, measure)
        return tuple((title, Markup(svg)) for title, svg in drawn)  # noqa: S704 - made by the charts, names escaped

    # ------------------------------------------------------------ questions

    def items(self, evaluation: Evaluation, state: RunsState) -> str:
        """Return the questions that the filters leave."""
        measure = state.sort or evaluation.measures[0]
        rows, count = item_rows(evaluation, measure, state.wanted)
        return render(
            "evaluate_run_items",
            rows=rows,
            count=count,
            measure=measure_of(measure).pretty_name,
            names=[system.name for system in evaluation.systems],
            chosen=state.item,
        )

    def item(self, evaluation: Evaluation, state: RunsState, session: Session) -> str:
        """Return what every system answered to the open question."""
        item = next((one for one in evaluation.systems[0].items if one.id == state.item), None)
        if item is None:
            return render("evaluate_run_item", item=None)
        predictions = self.services.evaluation.predicted(session.owner, state.runs)
        answers = answers_of(evaluation, predictions, item.id, self.services.documents.filenames(session.owner))
        return render("evaluate_run_item", item=item, answers=answers)


def filters_of(evaluation: Evaluation) -> dict[str, str]:
    """Return the ways to choose questions, by what they are called: there are other ones where nothing is compared."""
    return FILTERS if len(evaluation.systems) > 1 else FILTERS_OF_ONE


def _stamp(evaluation: Evaluation) -> str:
    return f"{evaluation.made_at.isoformat()} {[system.name for system in evaluation.systems]}"
