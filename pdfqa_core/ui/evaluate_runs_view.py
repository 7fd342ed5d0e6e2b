"""What the Evaluate tab shows of runs: their list, the table of results, the questions, and one question's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pdfqa_core.exports.table import measure_of
from pdfqa_core.metrics.comparison import Cell, Comparison, latency
from pdfqa_core.metrics.groups import ItemGroup
from pdfqa_core.metrics.normalisation import normalise_answer
from pdfqa_core.types import Evaluation, Prediction, Run, RunState, RunSummary, ScoredItem
from pdfqa_core.ui.components import day, plural
from pdfqa_core.ui.evaluate_view import ShownCell

FILTERS = ("all", "better", "worse", "failed")
MOST_MEASURES = 7  # columns of the table
MOST_ITEMS = 400  # rows of questions


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the list."""

    id: str
    name: str
    protocol: str
    state: str
    when: str
    chosen: bool
    open: bool
    failed: int


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A system in the table of results; `number` stands for it where there is no room for its name."""

    number: int
    name: str
    baseline: bool
    cells: tuple[ShownCell, ...]
    seconds: str


@dataclass(frozen=True, slots=True)
class ItemRow:
    """A question in the list: each system's value of the shown measure, with its tone against the baseline."""

    id: str
    question: str
    about: str
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """One system's answer: its words, each with whether no gold answer has it, and what it rests on."""

    system: str
    words: tuple[tuple[str, bool], ...]
    scores: tuple[tuple[str, str], ...]
    refused: bool
    error: str
    hint: str
    searched: str
    evidence: tuple[tuple[str, str, str, int, bool], ...]  # label, text, document id, page, cited
    seconds: str
    notes: tuple[str, ...]


def run_rows(runs: Sequence[RunSummary], chosen: str, going: str) -> tuple[RunRow, ...]:
    """Return the list of runs; `going` is the one under way, though its thread may not have begun yet."""
    runs = [replace(one, state=RunState.RUNNING) if one.id == going else one for one in runs]
    return tuple(
        RunRow(
            one.id, one.name, one.protocol, state_words(one), _when(one.created_at),
            one.id == chosen, one.state in (RunState.STOPPED, RunState.FAILED), one.failed,
        )
        for one in runs
    )  # fmt: skip


def _when(moment: datetime) -> str:
    return f"{day(moment)} {moment.astimezone():%H:%M}"


def state_words(run: RunSummary) -> str:
    """Return how far a run is: "40 answers", "stopped, 12 of 40", "12 of 40"."""
    failed = f", {run.failed} failed" if run.failed else ""
    if run.state is RunState.DONE:
        return f"{plural(run.total, 'answer')}{failed}"
    said = {RunState.STOPPED: "stopped, ", RunState.FAILED: "broke off, "}.get(run.state, "")
    return f"{said}{run.done} of {run.total}{failed}"


def shown_measures(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the measures that the table has room for."""
    return evaluation.measures[:MOST_MEASURES]


def cell_of(cell: Cell, measure: str) -> ShownCell:
    """Return a mean with its interval as the table shows it."""
    summary, change = cell.summary, cell.difference
    if summary.mean is None:
        return ShownCell("–", f"nothing scored, {summary.unscored} unscored")
    value = f"{summary.mean:.3f}".removeprefix("0") if 0 <= summary.mean < 1 else f"{summary.mean:.2f}"
    title = f"n = {summary.n}" + (f", {summary.unscored} unscored" if summary.unscored else "")
    if summary.low is None or summary.high is None:
        return ShownCell(value, f"{title}: too few for an interval")
    title += f", 95 % interval {summary.low:.3f} to {summary.high:.3f}"
    mark = tone = ""
    if change is not None and change.mean is not None and cell.p is not None:
        title += f"; difference {change.mean:+.3f}, p = {cell.p:.3f}"
        better = measure_of(measure).higher_is_better
        if cell.significant:
            mark = "▲" if change.mean > 0 else "▼"
            tone = "" if better is None else "good" if (change.mean > 0) == better else "bad"
    low, high, mean = (round(100 * min(1.0, max(0.0, one)), 1) for one in (summary.low, summary.high, summary.mean))
    return ShownCell(value, title, True, low, round(high - low, 1), mean, mark, tone)


def result_rows(evaluation: Evaluation, comparison: Comparison, sort: str) -> tuple[ResultRow, ...]:
    """Return the table of results, best first by the measure `sort`; without one in the order of the run."""
    rows = []
    for number, system in enumerate(evaluation.systems, start=1):
        cells = comparison.cells[system.name]
        spent = latency(system)
        row = ResultRow(
            number, system.name, system.name == comparison.baseline,
            tuple(cell_of(cells[name], name) for name in comparison.measures),
            f"{spent[0]:.1f} s an answer" if spent else "",
        )  # fmt: skip
        mean = cells[sort].summary.mean if sort in cells else None
        rows.append((-1.0 if mean is None else mean, row))
    if sort in comparison.measures:
        falling = measure_of(sort).higher_is_better is not False
        rows.sort(key=lambda pair: -pair[0] if falling else pair[0])
    return tuple(row for _, row in rows)


def groups_of(evaluation: Evaluation, by: str) -> tuple[str, ...]:
    """Return the values by which the questions can be filtered: turns, types."""
    return tuple(dict.fromkeys(item.texts[by] for item in evaluation.systems[0].items if by in item.texts))


def item_rows(
    evaluation: Evaluation, measure: str, baseline: str, only: str, part: str
) -> tuple[tuple[ItemRow, ...], int]:
    """Return the questions of a filter with their values, and how many there are in all."""
    names = [system.name for system in evaluation.systems]
    place = names.index(baseline) if baseline in names else 0
    rows = []
    for items in zip(*(system.items for system in evaluation.systems), strict=True):
        first = items[0]
        if part and part not in (f"turn {first.texts.get('turn', '')}", f"type {first.texts.get('type', '')}"):
            continue
        values = [item.metrics.get(measure) for item in items]
        if _wanted(items, values, place, only):
            about = " · ".join(filter(None, (f"turn {first.texts['turn']}" if "turn" in first.texts else "",
                                             first.texts.get("type", ""))))  # fmt: skip
            rows.append(
                ItemRow(
                    first.id, first.texts.get("question", ""), about,
                    tuple(_value(value, values[place], n == place) for n, value in enumerate(values)),
                )
            )  # fmt: skip
    return tuple(rows[:MOST_ITEMS]), len(rows)


def _wanted(items: Sequence[ScoredItem], values: Sequence[float | None], base: int, only: str) -> bool:
    known = [value for value in values if value is not None]
    own = values[base]
    match only:
        case "better":
            return own is not None and max(known) > own
        case "worse":
            return own is not None and min(known) < own
        case "failed":
            return any("error" in item.texts for item in items)
    return True


def _value(value: float | None, base: float | None, own: bool) -> tuple[str, str]:
    if value is None:
        return "–", ""
    words = f"{value:.2f}"
    if own or base is None or value == base:
        return words, ""
    return (f"{words} ↑", "good") if value > base else (f"{words} ↓", "bad")


def answers_of(
    run: Run, evaluation: Evaluation, predictions: Mapping[tuple[str, str], Prediction], item_id: str,
    filenames: Mapping[str, str],
) -> tuple[ShownAnswer, ...]:  # fmt: skip
    """Return every system's answer to one question."""
    found = []
    for system in evaluation.systems:
        item = next((one for one in system.items if one.id == item_id), None)
        prediction = predictions.get((system.name, item_id), Prediction(item_id, error="Not answered yet."))
        if item is None:
            continue
        gold = set(normalise_answer(item.texts.get("gold_answer", "")).split())
        cited = {(place.filename, place.page) for place in prediction.citations} | {
            (place.id, place.page) for place in prediction.citations
        }
        evidence = tuple(
            (
                f"{name}, p. {one.page}" if (name := filenames.get(one.document_id, "")) else one.id, one.text,
                one.document_id if one.document_id in filenames else "", one.page,
                (name or one.id, one.page) in cited,
            )
            for one in prediction.evidence
        )  # fmt: skip
        scores = tuple(
            (measure_of(name).pretty_name, "–" if (value := item.metrics.get(name)) is None else f"{value:.2f}")
            for name in evaluation.measures if name in item.metrics
        )  # fmt: skip
        found.append(
            ShownAnswer(
                system.name, marked(prediction.answer, gold), scores, prediction.refused, prediction.error,
                prediction.hint, prediction.asked if prediction.asked != item.texts.get("question") else "", evidence,
                f"{prediction.seconds:.1f} s" if prediction.seconds is not None else "", prediction.notes,
            )
        )  # fmt: skip
    return tuple(found)


def marked(answer: str, gold: set[str]) -> tuple[tuple[str, bool], ...]:
    """Return the words of an answer, each with whether it says something that no gold answer has."""
    words = []
    for word in answer.split():
        plain = normalise_answer(word).split()
        words.append((word, bool(gold) and bool(plain) and not gold.issuperset(plain)))
    return tuple(words)


def group_rows(
    groups: Sequence[ItemGroup], measure: str, names: Sequence[str]
) -> tuple[tuple[str, int, tuple[ShownCell, ...]], ...]:
    """Return the means of one measure by group, a cell per system."""
    return tuple(
        (group.value, group.n, tuple(cell_of(group.cells[name][measure], measure) for name in names))
        for group in groups
    )
