"""A run as JSON: the results of its evaluation, with what was answered, and the scores by turn and type."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, Prediction, Run, ScoredSystem
from pdfqa_core.exports.evaluation_files import unpacked_copy
from pdfqa_core.exports.figure import draw_curve, figure_file, look, new_figure, page_svg, reach
from pdfqa_core.exports.table import difference, interval, is_share, measure_of
from pdfqa_core.json_codec import checked, parse_json, plain
from pdfqa_core.metrics.comparison import (
    TURN,
    TYPE,
    Cell,
    Comparison,
    GroupMeans,
    ItemGroup,
    group_means,
    hit_curve,
    item_values,
    latency,
    mean_of,
)
from pdfqa_core.metrics.statistics import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# ----------------------------------------------------------------------------------------------------
# Charts of a run: every system's mean, and of the first MOST_LINES by turn depth, by type of question, and HR@k.
#
# Means have 95 % bootstrap intervals. More systems would hide each other.

MOST_LINES = 5  # systems that are lines or points
MOST_GROUPS = 16  # turns or types that a chart has room for
_WIDTH = 4.4  # inches
_LONG_NAME = 26  # characters from which on a name takes two lines
_LONGEST = 52  # that are shown of a name


_Lines = Mapping[str, ScoredSystem]  # systems by what a legend calls them


@dataclass(frozen=True, slots=True)
class _Panel:
    """A chart: its title, its height in inches, and what draws it."""

    title: str
    height: float
    draw: Callable[[Axes], None]


def chart_panels(evaluation: Evaluation, measure: str = "") -> tuple[tuple[str, str], ...]:
    """Return each chart's title and its SVG for a page: ink is `currentColor`, lines are the variable `--line`.

    `measure` is what is drawn (none given: the first). Nothing where nothing was scored. Raises UsageError for a
    measure that the evaluation has not.
    """
    return tuple(
        (panel.title, page_svg(panel.title, f"c{place}-", panel.draw, (_WIDTH, panel.height)))
        for place, panel in enumerate(_panels(evaluation, measure), start=1)
    )


def charts_figure(evaluation: Evaluation, kind: str, measure: str = "") -> bytes:
    """Return all charts as one file; `kind` is png, svg or pdf. Raises UsageError for another, or nothing to draw."""
    panels = list(_panels(evaluation, measure))
    if not panels:
        raise UsageError("There is nothing to draw: no measure has a value.", "Look at what is unscored.")
    columns = min(3, len(panels))
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    heights = [max(one.height for one in row) for row in rows]

    def draw() -> Figure:
        made = new_figure(_WIDTH * columns, sum(heights))
        grid = made.add_gridspec(len(rows), columns, height_ratios=heights)
        for number, row in enumerate(rows):
            for place, panel in enumerate(row):
                axes = made.add_subplot(grid[number, place])
                panel.draw(axes)
                axes.set_title(panel.title)
        items = len(evaluation.systems[0].items)
        made.suptitle(f"{evaluation.dataset}: {items} items", x=0.01, ha="left", fontsize=13, fontweight="bold")
        return made

    return figure_file(kind, "charts", draw)


def drawable(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the measures that charts can draw: those between 0 and 1 that have a value."""
    return tuple(
        name
        for name in evaluation.measures
        if is_share(name) and any(v is not None for one in evaluation.systems for v in item_values(one, name))
    )


def _panels(evaluation: Evaluation, measure: str) -> Iterator[_Panel]:
    measures = drawable(evaluation)
    if measure and measure not in measures:
        raise UsageError(f"There is nothing to draw of {measure!r}.", f"Choose one of: {', '.join(measures)}.")
    if not measures:
        return
    measure = measure or measures[0]
    title = measure_of(measure).pretty_name
    names = [_cut(one.name) for one in evaluation.systems]
    labels = [f"{n} {one}" for n, one in enumerate(names, start=1)] if len(names) > 1 else names
    if len(labels) > 1:
        means = [mean_of(one, measure) for one in evaluation.systems]
        yield _Panel(f"{title} of every system", 1.1 + 0.34 * len(labels), lambda a: _means_of(a, labels, means, title))
    lines = dict(zip(labels[:MOST_LINES], evaluation.systems, strict=False))
    below = 0.19 * len(lines) if len(lines) > 1 else 0.0  # a legend under the chart
    which = f", the first {MOST_LINES} systems" if len(labels) > MOST_LINES else ""
    for by, words in ((TURN, "turn of the conversation"), (TYPE, "type of question")):
        groups = group_means(evaluation, by, measure)
        if 1 < len(groups) <= MOST_GROUPS:
            yield _by_group(lines, groups, by, title, words, below, which)
    curves = [hit_curve(one) for one in lines.values()]
    if any(len(curve) > 1 for curve in curves):
        name = f"Gold among the first k passages found (HR@k){which}"
        yield _Panel(name, 3.2 + below, lambda a: _hits(a, lines, curves))


def _by_group(
    lines: _Lines, groups: Sequence[GroupMeans], by: str, title: str, words: str, below: float, which: str
) -> _Panel:
    if by == TURN:
        return _Panel(f"{title} by {by}{which}", 3.2 + below, lambda a: _by_turn(a, lines, groups, words, title))
    height = 1.2 + len(groups) * (0.24 + 0.17 * len(lines)) + below
    return _Panel(f"{title} by {words}{which}", height, lambda a: _by_type(a, lines, groups, title))


# ------------------------------------------------------------------ panels


def _share_axis(axes: Axes, title: str) -> None:
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel(f"{title} (0 to 1); bars: 95 % intervals")
    axes.grid(axis="x")


def _legend(axes: Axes, lines: _Lines, below: float = 0.17) -> None:
    """Put the names under the chart."""
    if len(lines) > 1:
        columns = 1 if max(map(len, lines)) > _LONG_NAME + 2 else 2
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -below), ncols=columns, frameon=False, fontsize=7.5)


def _means_of(axes: Axes, labels: Sequence[str], means: Sequence[Summary], title: str) -> None:
    for place, summary in enumerate(means):
        if summary.mean is None:
            axes.text(0, place, "not scored", va="center", fontsize=7.5)
            continue
        axes.errorbar(
            summary.mean, place, xerr=reach([summary]), capsize=2.5, linewidth=1.2, markersize=5.5, **look(place)
        )
        axes.text(1.04, place, f"{summary.mean:.2f}", va="center", fontsize=8)
    axes.set_yticks(range(len(means)), [_two_lines(label) for label in labels])
    axes.set_ylim(len(means) - 0.4, -0.6)
    _share_axis(axes, title)


def _by_turn(axes: Axes, lines: _Lines, groups: Sequence[GroupMeans], words: str, title: str) -> None:
    for place, (label, system) in enumerate(lines.items()):
        shift = (place - (len(lines) - 1) / 2) * 0.09
        means = [(n + shift, one.means[system.name]) for n, one in enumerate(groups)]
        draw_curve(axes, means, place, label)
    axes.set_xticks(range(len(groups)), [f"{one.value}\nn = {one.n}" for one in groups])
    axes.set_ylim(-0.03, 1.05)
    axes.set_ylabel(f"{title} (0 to 1)")
    axes.set_xlabel(f"{words.capitalize()}; bars: 95 % intervals")
    axes.grid(axis="y")
    _legend(axes, lines, below=0.26)


def _by_type(axes: Axes, lines: _Lines, groups: Sequence[GroupMeans], title: str) -> None:
    step = 0.8 / len(lines)
    for place, (label, system) in enumerate(lines.items()):
        for row, group in enumerate(groups):
            summary = group.means[system.name]
            if summary.mean is None:
                continue
            axes.errorbar(
                summary.mean,
                row + (place - (len(lines) - 1) / 2) * step,
                xerr=reach([summary]),
                capsize=2.5,
                linewidth=1.2,
                markersize=5,
                linestyle="none",
                label=label if row == 0 else None,
                **look(place),
            )
    axes.set_yticks(range(len(groups)), [f"{_short(one.value)}\nn = {one.n}" for one in groups])
    axes.set_ylim(len(groups) - 0.45, -0.55)
    _share_axis(axes, title)
    _legend(axes, lines)


def _hits(axes: Axes, lines: _Lines, curves: Sequence[Sequence[float]]) -> None:
    from matplotlib.ticker import MaxNLocator

    drawn: dict[tuple[float, ...], int] = {}
    for place, (curve, label) in enumerate(zip(curves, lines, strict=True)):
        if not curve:
            continue
        same = drawn.setdefault(tuple(curve), place)
        axes.plot(
            range(1, len(curve) + 1),
            curve,
            markersize=5 if same == place else 8,
            linewidth=1.3,
            label=label,
            linestyle="-" if place % 2 == 0 else (0, (5, 1.5)),
            fillstyle="full" if same == place else "none",
            **look(place),
        )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(-0.03, 1.05)
    axes.set_xlabel("k (passages)")
    axes.set_ylabel("HR@k: share of questions (0 to 1)")
    axes.grid(axis="y")
    _legend(axes, lines)


def _two_lines(text: str) -> str:
    """Return a long name on two lines, parted where a word ends."""
    if len(text) <= _LONG_NAME:
        return text
    spaces = [place for place, character in enumerate(text) if character == " " and place > 2]
    middle = min(spaces, key=lambda place: abs(place - len(text) / 2), default=0)
    return f"{text[:middle]}\n{text[middle + 1 :]}" if middle else text


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _short(text: str) -> str:
    return text if len(text) <= 18 else f"{text[:17]}…"


# ----------------------------------------------------------------------------------------------------
# A run as a ZIP that another workspace takes: its plan, answers and scores exactly, its data, and how it was made.

FORMAT = 1
CONTENT, METHODS, DATA = "run.json", "methods.md", "data/"
_ZIP_HINT = "Give a file that “pdfqa evaluate runs export” wrote."
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time that a ZIP can hold: the same run makes the same file


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a system predicted for an item."""

    system: str
    prediction: Prediction


@dataclass(frozen=True, slots=True)
class RunCopy:
    """A run with all that was predicted in it; `plan.data` holds the names of its files."""

    run: Run
    predictions: tuple[Predicted, ...] = ()


def write_run(copy: RunCopy, data: Mapping[str, bytes], methods: str) -> bytes:
    """Return the ZIP of a run with its data by file name; the same run makes the same bytes."""
    content = json.dumps({"format": FORMAT, **plain(copy)}, separators=(",", ":"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        parts = {CONTENT: content.encode(), METHODS: methods.encode("utf-8", "replace")}
        for name, part in (parts | {f"{DATA}{name}": one for name, one in data.items()}).items():
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, part)
    return packed.getvalue()


@contextmanager
def opened_run(source: Path | bytes, name: str) -> Iterator[tuple[RunCopy, dict[str, Path]]]:
    """Give the run in a ZIP and its data, as files that are there as long as the context is, by file name.

    `name` is the file's in error messages. Raises UsageError: no such ZIP, damaged, larger than it may be, of a newer
    version, or with its data or a field missing, or a field of another kind.
    """
    with unpacked_copy(source, name, "run", CONTENT, FORMAT, _ZIP_HINT) as (folder, found):
        copy = checked(RunCopy, found, f"{name}, {CONTENT}", _ZIP_HINT)
        files = {path.name: path for path in (folder / DATA).rglob("*") if path.is_file()}
        if missing := next((one for one in copy.run.plan.data if one not in files), ""):
            raise UsageError(f"{name} is not complete: its data {missing!r} is missing.", _ZIP_HINT)
        yield copy, files


# ----------------------------------------------------------------------------------------------------
# The results of an evaluation as JSON, exactly: what is read back gives the same tables, figures and reports.

_HINT = "Give a file that “evaluate … --save” wrote."
_COSTS = {"passages": "passages", "build_seconds": "build_seconds", "index_bytes": "bytes"}  # as `IndexCost` calls them


def results_object(evaluation: Evaluation, comparison: Comparison) -> dict[str, Any]:
    """Return an evaluation as JSON's own types; the means are those of `comparison`, the items hold every value."""
    return {
        "protocol": evaluation.protocol,
        "dataset": evaluation.dataset,
        "measures": list(comparison.measures),
        "systems": [_system_object(system, comparison) for system in evaluation.systems],
        "settings": dict(evaluation.settings),
        "versions": dict(evaluation.versions),
        "notes": list(evaluation.notes),
        "published": plain(evaluation.published),
        "made_at": evaluation.made_at.isoformat(),
        "comparisons": [
            {
                "system": name,
                "baseline": comparison.baseline,
                "differences": {measure: _difference(cells[measure]) for measure in comparison.measures},
                **dict(zip(("wins", "losses"), plain(comparison.changes.get(name, ())), strict=False)),
            }
            for name, cells in comparison.cells.items()
            if name != comparison.baseline and comparison.baseline
        ],
    }


def _system_object(system: ScoredSystem, comparison: Comparison) -> dict[str, Any]:
    cells, seconds, index = comparison.cells[system.name], latency(system), system.index
    data: dict[str, Any] = {"name": system.name}
    if system.settings_fingerprint:
        data["settings_fingerprint"] = system.settings_fingerprint
    if system.repeat_of:
        data["repeat_of"] = system.repeat_of
    data["metrics"] = {name: asdict(cells[name].summary) for name in comparison.measures}
    if index is not None:
        data |= {key: getattr(index, name) for key, name in _COSTS.items()}
    if seconds is not None:
        data["seconds"] = dict(zip(("p50", "p95"), seconds, strict=True))
    data["items"] = [
        {
            "id": item.id,
            "metrics": {name: item.metrics[name] for name in comparison.measures if name in item.metrics},
            "texts": dict(item.texts),
            **({} if item.seconds is None else {"rank": item.rank, "seconds": item.seconds}),
            **({"conversation": item.conversation} if item.conversation else {}),
        }
        for item in system.items
    ]
    return data


def _difference(cell: Cell) -> dict[str, Any]:
    return {**asdict(cell.difference or Summary(0, 0, None, None, None)), "p": cell.p}


def write_results(evaluation: Evaluation, comparison: Comparison) -> bytes:
    """Return a JSON file of an evaluation. Raises UsageError if a value is not finite, which JSON cannot hold."""
    try:
        text = json.dumps(results_object(evaluation, comparison), ensure_ascii=False, allow_nan=False, indent=1)
    except ValueError as error:
        raise UsageError(f"A value cannot be written as JSON: {error}.") from error
    return (text + "\n").encode("utf-8", errors="replace")


def read_results(data: bytes, name: str) -> Evaluation:
    """Return the evaluation in a file that `write_results` wrote; `name` is the file's in error messages.

    Raises UsageError that names what is wrong and where: not UTF-8, no JSON, NaN, a missing or wrong field.
    """
    found = parse_json(data, name)
    systems = found.get("systems") if isinstance(found, Mapping) else None
    if not isinstance(systems, list):
        raise UsageError(f"{name} holds no results.", _HINT)
    placed = [{**one, "index": _index(one)} if isinstance(one, Mapping) else one for one in systems]
    read = checked(Evaluation, {**found, "systems": placed}, name, _HINT)
    if not read.measures or not read.systems or not all(one.items for one in read.systems):
        raise UsageError(f"{name} is not complete: it lacks measures, systems or items.", _HINT)
    return read


def _index(system: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a system's index cost, as `IndexCost` has it; None where that is not known."""
    cost = {name: system.get(key) for key, name in _COSTS.items()}
    return None if None in cost.values() else cost


# ----------------------------------------------------------------------------------------------------
# A run as JSON: the results of its evaluation, with what was answered, and the scores by turn and type.

Groups = Mapping[str, Sequence[ItemGroup]]  # by what the items are grouped


def with_answers(
    results: dict[str, Any], run_id: str, predictions: Mapping[tuple[str, str], Prediction], groups: Groups
) -> dict[str, Any]:
    """Return the object of an evaluation's results with the run's id, what was answered, and the groups' means."""
    for system in results["systems"]:
        for item in system["items"]:
            found = predictions.get((system["name"], item["id"]))
            item.update(_answer(found) if found is not None else {})
        own = {by: {one.value: _means(one, system["name"]) for one in parts} for by, parts in groups.items() if parts}
        if own:
            system["groups"] = own
    return {"run": run_id, **results}


def _answer(prediction: Prediction) -> dict[str, Any]:
    failure = {"error": {"what": prediction.error, "hint": prediction.hint}} if prediction.failed else {}
    lines = prediction.quote
    return {
        "answer": prediction.answer,
        "outcome": prediction.outcome.value,
        "refused": prediction.refused,
        "quote": lines and {"filename": lines.filename, "page": lines.page, "quote": lines.quote},
        "citations": [
            {"filename": one.filename, "page": one.page, "verified": one.verified, "id": one.id, "quote": one.quote}
            for one in prediction.citations
        ],
        "seconds": prediction.seconds,
        **({"searched_for": prediction.asked} if prediction.asked else {}),
        **failure,
    }


def _means(group: ItemGroup, system: str) -> dict[str, Any]:
    return {
        measure: asdict(cell.summary)
        | ({"difference": {**asdict(cell.difference), "p": cell.p}} if cell.difference is not None else {})
        for measure, cell in group.cells[system].items()
    }


def groups_text(by: str, groups: Sequence[ItemGroup], measure: str) -> str:
    """Return the means of one measure by group as lines for a terminal, with the differences to the baseline."""
    lines = [f"{measure_of(measure).pretty_name} by {by}"]
    for group in groups:
        for place, (name, cells) in enumerate(group.cells.items()):
            cell = cells[measure]
            change = difference(cell)
            lines.append(
                f"  {group.value if not place else '':<6}  {interval(cell.summary)}  {name}"
                f"{f'  ({change})' if change else ''}"
            )
    return "\n".join(lines)
