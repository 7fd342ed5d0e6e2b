"""A run as JSON: the results of its evaluation, with what was answered, and the scores by turn and type."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, IndexCost, Prediction, Run, ScoredItem, ScoredSystem
from pdfqa_core.exports.figure import draw_curve, figure_file, ink, look, new_figure, page_svg
from pdfqa_core.exports.table import difference, interval, is_share, measure_of
from pdfqa_core.extraction.process.outside import read_file, unpacked
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
# Charts of a run: every system's mean, by turn depth, by type of question, HR@k, measure against measure, seconds.
#
# Up to MOST_LINES systems are lines or points with 95 % bootstrap intervals. Of more, which would hide each other,
# tables of numbers in colour are drawn, and points carry the number of their system.

MOST_LINES = 5  # systems that are lines or points
MOST_GROUPS = 16  # turns or types that a chart has room for
_CLOSE = 0.04  # of the chart's height, and twice that of its width: nearer points share one label
_WIDTH = 4.4  # inches
_LONG_NAME = 26  # characters from which on a name takes two lines
_LONGEST = 52  # that are shown of a name


@dataclass(frozen=True, slots=True)
class _Systems:
    """The systems with the names that a legend has room for."""

    systems: tuple[ScoredSystem, ...]
    labels: tuple[str, ...]

    @property
    def many(self) -> bool:
        return len(self.systems) > MOST_LINES

    @property
    def rows(self) -> list[str]:
        """Names with their numbers as rows are labelled, on two lines where they are long."""
        return [_two_lines(name) for name in self.numbered]

    @property
    def numbered(self) -> list[str]:
        """Names with their numbers, where there are several."""
        return [f"{n} {one}" for n, one in enumerate(self.labels, start=1)] if len(self.labels) > 1 else [*self.labels]


@dataclass(frozen=True, slots=True)
class _Panel:
    """A chart: its title, its height in inches, and what draws it."""

    title: str
    height: float
    draw: Callable[[Axes], None]


def chart_panels(evaluation: Evaluation, measure: str = "", against: str = "") -> tuple[tuple[str, str], ...]:
    """Return each chart's title and its SVG for a page: ink is `currentColor`, lines are the variable `--line`.

    `measure` is what is drawn (none given: the first), `against` what it is drawn against (none given: the next).
    Nothing where nothing was scored. Raises UsageError for a measure that the evaluation has not.
    """
    return tuple(
        (panel.title, page_svg(panel.title, f"c{place}-", panel.draw, (_WIDTH, panel.height)))
        for place, panel in enumerate(_panels(evaluation, measure, against), start=1)
    )


def charts_figure(evaluation: Evaluation, kind: str, measure: str = "", against: str = "") -> bytes:
    """Return all charts as one file; `kind` is png, svg or pdf. Raises UsageError for another, or nothing to draw."""
    panels = list(_panels(evaluation, measure, against))
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


def _panels(evaluation: Evaluation, measure: str, against: str) -> Iterator[_Panel]:
    measures = drawable(evaluation)
    for name in filter(None, (measure, against)):
        if name not in measures:
            raise UsageError(f"There is nothing to draw of {name!r}.", f"Choose one of: {', '.join(measures)}.")
    if not measures:
        return
    measure = measure or measures[0]
    other = against if against and against != measure else next((name for name in measures if name != measure), "")
    data = _Systems(evaluation.systems, tuple(_cut(one.name) for one in evaluation.systems))
    count = len(data.systems)
    means = [mean_of(one, measure) for one in data.systems]
    title = measure_of(measure).pretty_name
    below = 0.19 * count if 1 < count <= MOST_LINES else 0.0  # a legend under the chart
    if count > 1:
        yield _Panel(f"{title} of every system", 1.1 + 0.34 * count, lambda a: _charted_means(a, data, means, title))
    for by, words in ((TURN, "turn of the conversation"), (TYPE, "type of question")):
        groups = group_means(evaluation, by, measure)
        if 1 < len(groups) <= MOST_GROUPS:
            yield _by_group(data, groups, by, title, words, below)
    curves = [hit_curve(one) for one in data.systems]
    if any(len(curve) > 1 for curve in curves):
        height = 1.1 + 0.34 * count if data.many else 3.2 + below
        yield _Panel("Gold among the first k passages found (HR@k)", height, lambda a: _hits(a, data, curves))
    if other and count > 1:
        others = [mean_of(one, other) for one in data.systems]
        name = measure_of(other).pretty_name
        yield _Panel(f"{title} against {name}", 3.4 + below, lambda a: _against(a, data, others, means, name, title))
    seconds = [latency(one) for one in data.systems]
    if count > 1 and all(seconds):
        middle = [Summary(1, 0, one[0], None, None) for one in seconds if one]
        words = "Seconds of an answer (median)"
        yield _Panel(
            f"{title} against seconds", 3.4 + below, lambda a: _against(a, data, middle, means, words, title, time=True)
        )


def _by_group(data: _Systems, groups: Sequence[GroupMeans], by: str, title: str, words: str, below: float) -> _Panel:
    name = f"{title} by {by if by == TURN else words}"
    if data.many:
        return _Panel(name, 1.2 + 0.34 * len(data.systems), lambda a: _grouped_table(a, data, groups, words, title))
    if by == TURN:
        return _Panel(name, 3.2 + below, lambda a: _lines(a, data, groups, words, title))
    height = 1.2 + len(groups) * (0.24 + 0.17 * len(data.systems)) + below
    return _Panel(name, height, lambda a: _rows(a, data, groups, title))


# ------------------------------------------------------------------ panels


def _bounds(summary: Summary) -> tuple[float, float]:
    """Return how far the interval reaches below and above the mean."""
    if summary.mean is None or summary.low is None or summary.high is None:
        return 0.0, 0.0
    return max(0.0, summary.mean - summary.low), max(0.0, summary.high - summary.mean)


def _share_axis(axes: Axes, title: str) -> None:
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel(f"{title} (0 to 1); bars: 95 % intervals")
    axes.grid(axis="x")


def _legend(axes: Axes, data: _Systems, below: float = 0.17) -> None:
    """Put the names under the chart; many systems are known by the numbers that the first chart gives them."""
    if 1 < len(data.systems) <= MOST_LINES:
        columns = 1 if max(map(len, data.labels)) > _LONG_NAME else 2
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -below), ncols=columns, frameon=False, fontsize=7.5)


def _charted_means(axes: Axes, data: _Systems, means: Sequence[Summary], title: str) -> None:
    for place, summary in enumerate(means):
        if summary.mean is None:
            axes.text(0, place, "not scored", va="center", fontsize=7.5)
            continue
        low, high = _bounds(summary)
        axes.errorbar(
            summary.mean, place, xerr=[[low], [high]], capsize=2.5, linewidth=1.2, markersize=5.5, **look(place)
        )
        axes.text(1.04, place, f"{summary.mean:.2f}", va="center", fontsize=8)
    axes.set_yticks(range(len(means)), data.rows)
    axes.set_ylim(len(means) - 0.4, -0.6)
    _share_axis(axes, title)


def _lines(axes: Axes, data: _Systems, groups: Sequence[GroupMeans], words: str, title: str) -> None:
    for place, (system, label) in enumerate(zip(data.systems, data.numbered, strict=True)):
        shift = (place - (len(data.systems) - 1) / 2) * 0.09
        means = [(n + shift, one.means[system.name]) for n, one in enumerate(groups)]
        draw_curve(axes, [(x, one.mean, one.low, one.high) for x, one in means], place, label)
    axes.set_xticks(range(len(groups)), [f"{one.value}\nn = {one.n}" for one in groups])
    axes.set_ylim(-0.03, 1.05)
    axes.set_ylabel(f"{title} (0 to 1)")
    axes.set_xlabel(f"{words.capitalize()}; bars: 95 % intervals")
    axes.grid(axis="y")
    _legend(axes, data, below=0.26)


def _rows(axes: Axes, data: _Systems, groups: Sequence[GroupMeans], title: str) -> None:
    step = 0.8 / len(data.systems)
    for place, (system, label) in enumerate(zip(data.systems, data.numbered, strict=True)):
        for row, group in enumerate(groups):
            summary = group.means[system.name]
            if summary.mean is None:
                continue
            low, high = _bounds(summary)
            axes.errorbar(
                summary.mean,
                row + (place - (len(data.systems) - 1) / 2) * step,
                xerr=[[low], [high]],
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
    _legend(axes, data)


def _grouped_table(axes: Axes, data: _Systems, groups: Sequence[GroupMeans], words: str, title: str) -> None:
    means = [[group.means[system.name].mean for group in groups] for system in data.systems]
    _table(axes, data, means, [f"{_short(one.value)}\nn = {one.n}" for one in groups])
    axes.set_xlabel(f"{words.capitalize()}; mean {title}")


def _table(axes: Axes, data: _Systems, means: Sequence[Sequence[float | None]], heads: Sequence[str]) -> None:
    """Draw means as numbers on their colours, a row for each system."""
    import matplotlib as mpl
    import numpy as np

    values = np.array([[np.nan if mean is None else mean for mean in row] for row in means], dtype=float)
    colours = mpl.colormaps["viridis"].with_extremes(bad=(0.0, 0.0, 0.0, 0.0))
    axes.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    for row, own in enumerate(means):
        for column, mean in enumerate(own):
            colour = ink() if mean is None else "black" if mean > 0.55 else "white"
            text = "–" if mean is None else f"{mean:.2f}"
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
    axes.set_yticks(range(len(data.systems)), data.rows)
    axes.set_xticks(range(len(heads)), heads)
    axes.tick_params(length=0)


def _hits(axes: Axes, data: _Systems, curves: Sequence[Sequence[float]]) -> None:
    from matplotlib.ticker import MaxNLocator

    if data.many:
        deepest = max(map(len, curves))
        rows = [[curve[k] if k < len(curve) else None for k in range(deepest)] for curve in curves]
        _table(axes, data, rows, [str(k) for k in range(1, deepest + 1)])
        axes.set_xlabel("k (passages); share of questions")
        return
    drawn: dict[tuple[float, ...], int] = {}
    for place, (curve, label) in enumerate(zip(curves, data.numbered, strict=True)):
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
    _legend(axes, data)


def _against(
    axes: Axes,
    data: _Systems,
    xs: Sequence[Summary],
    ys: Sequence[Summary],
    x_title: str,
    y_title: str,
    *,
    time: bool = False,
) -> None:
    """Draw a point for each system, by its number; of few systems with the intervals of both means."""
    points = []
    for place, (x, y, label) in enumerate(zip(xs, ys, data.numbered, strict=True)):
        if x.mean is None or y.mean is None:
            continue
        across, up = ((0.0, 0.0),) * 2 if data.many else (_bounds(x), _bounds(y))
        axes.errorbar(
            x.mean,
            y.mean,
            xerr=[[across[0]], [across[1]]],
            yerr=[[up[0]], [up[1]]],
            elinewidth=0.7,
            alpha=0.35,
            color=look(place)["color"],
        )
        axes.plot(x.mean, y.mean, linestyle="none", markersize=7, label=label, **look(place))
        points.append((x.mean, y.mean, str(place + 1)))
    bars = "" if data.many else "; bars: 95 % intervals"
    axes.set_ylabel(y_title)
    axes.set_xlabel(f"{x_title}{bars}")
    axes.margins(0.18)
    if time:
        axes.set_xlim(left=0)
    axes.grid()
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    for x_, y_, numbers in _labels(points, right - left, top - bottom):
        axes.annotate(numbers, (x_, y_), xytext=(6, 5), textcoords="offset points", fontsize=8, fontweight="bold")
    _legend(axes, data)


def _labels(points: Sequence[tuple[float, float, str]], width: float, height: float) -> list[tuple[float, float, str]]:
    """Return where numbers stand; points that are close to each other share a label ("3, 7")."""
    found: list[tuple[float, float, str]] = []
    for x, y, number in points:
        for place, (other_x, other_y, numbers) in enumerate(found):
            if abs(x - other_x) < 2 * _CLOSE * width and abs(y - other_y) < _CLOSE * height:
                found[place] = (other_x, other_y, f"{numbers}, {number}")
                break
        else:
            found.append((x, y, number))
    return found


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
    with unpacked(source, name, of="run", hint=_ZIP_HINT) as folder:
        if not (folder / CONTENT).is_file():
            raise UsageError(f"{name} holds no run: it is another file, or damaged.", _ZIP_HINT)
        found: Any = parse_json(read_file(folder / CONTENT), f"{name}, {CONTENT}")
        if not isinstance(found, dict) or type(found.get("format")) is not int:
            raise UsageError(f"{name} holds no run.", _ZIP_HINT)
        if found["format"] > FORMAT:
            raise UsageError(f"{name} was written by a newer version of the program.", "Update this one.")
        copy = checked(RunCopy, found, f"{name}, {CONTENT}", _ZIP_HINT)
        files = {path.name: path for path in (folder / DATA).rglob("*") if path.is_file()}
        if missing := next((one for one in copy.run.plan.data if one not in files), ""):
            raise UsageError(f"{name} is not complete: its data {missing!r} is missing.", _ZIP_HINT)
        yield copy, files


# ----------------------------------------------------------------------------------------------------
# The results of an evaluation as JSON, exactly: what is read back gives the same tables, figures and reports.

_HINT = "Give a file that “evaluate … --save” wrote."


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
        data |= {"passages": index.passages, "build_seconds": index.build_seconds, "index_bytes": index.bytes}
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

    Raises UsageError that names what is wrong and where: not UTF-8, no JSON, NaN, a missing or wrong field, an item
    without a value for a measure.
    """
    found = parse_json(data, name)
    if not isinstance(found, Mapping) or not isinstance(found.get("systems"), list):
        raise UsageError(f"{name} holds no results.", _HINT)
    measures = found.get("measures")
    if not isinstance(measures, list) or not measures or not all(isinstance(one, str) for one in measures):
        raise UsageError(f"{name}: “measures” is no list of names.", _HINT)
    systems = tuple(_system(one, place, name) for place, one in enumerate(found["systems"], start=1))
    if not systems:
        raise UsageError(f"{name} holds no system.", _HINT)
    described = checked(Evaluation, {**found, "systems": []}, name, _HINT)
    return replace(described, systems=systems)


def _system(data: Any, place: int, name: str) -> ScoredSystem:
    if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
        raise UsageError(f"{name}: system {place} has no name.", _HINT)
    items = data.get("items")
    if not isinstance(items, list) or not items:
        raise UsageError(f"{name}: system {data['name']!r} has no items.", _HINT)
    where = f"{name}, {data['name']}"
    scored = tuple(_item(one, f"{where}, item {row}") for row, one in enumerate(items, start=1))
    cost = [_number(data, key, where) for key in ("passages", "build_seconds", "index_bytes")]
    index = None if None in cost else IndexCost(int(cost[0] or 0), cost[1] or 0.0, int(cost[2] or 0))
    fingerprint, repeated = str(data.get("settings_fingerprint", "")), str(data.get("repeat_of", ""))
    return ScoredSystem(data["name"], scored, fingerprint, index=index, repeat_of=repeated)


def _item(data: Any, where: str) -> ScoredItem:
    if not isinstance(data, Mapping) or not isinstance(data.get("metrics"), Mapping) or "id" not in data:
        raise UsageError(f"{where}: no id or no metrics.", _HINT)
    metrics = {str(name): _number(data["metrics"], name, where) for name in data["metrics"]}
    texts = data.get("texts") or {}
    if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
        raise UsageError(f"{where}: “texts” are no texts.", _HINT)
    rank = _number(data, "rank", where)
    return ScoredItem(
        str(data["id"]),
        metrics,
        dict(texts),
        None if rank is None else int(rank),
        _number(data, "seconds", where),
        str(data.get("conversation", "")),
    )


def _number(data: Mapping[str, Any], key: str, where: str) -> float | None:
    value = data.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise UsageError(f"{where}: {key} is {value!r}, not a number.", "Write a number or null.")
    return float(value)


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
