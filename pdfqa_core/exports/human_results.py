"""The result tables of a study: as a table of numbers, as LaTeX for a thesis, as Markdown, and as a chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.drawing import COLOURS, MARKERS, figure_file, new_figure, page_svg
from pdfqa_core.exports.frames import COUNT, NUMBER, TEXT, frame, latex_escape, latex_table
from pdfqa_core.exports.markdown import markdown_table
from pdfqa_core.metrics.human_results import ACCURACY, CONVERSATION, GROUPS, INTENT, OVERALL, SYSTEM, TURN, ResultRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

COLUMNS = {
    "rater": TEXT, "group": TEXT, "value": TEXT, "measure": TEXT, "mean": NUMBER, "low": NUMBER, "high": NUMBER,
    "n": COUNT, "unscored": COUNT, "conversations": COUNT,
}  # fmt: skip
TITLES = {
    OVERALL: "Overall", SYSTEM: "By system", TURN: "By turn", INTENT: "By intent", CONVERSATION: "By conversation",
}  # fmt: skip
INTERVALS = (
    "95 % intervals: percentiles of the means of resampled conversations (of a conversation alone: of its resampled "
    "turns); exact where a mean is 0 or 1."
)
_HEADS = {SYSTEM: "System", TURN: "Turn", INTENT: "Intent", CONVERSATION: "Conversation"}
_MOST_RATERS = len(COLOURS)


@dataclass(frozen=True, slots=True)
class ResultLine:
    """A line of a printed table: what it is about, the rater, how many turns, and a cell for each measure."""

    value: str
    rater: str
    turns: int
    cells: tuple[ResultRow | None, ...]


@dataclass(frozen=True, slots=True)
class ResultTable:
    """One of the printed tables: its group, its measures in order, its lines."""

    group: str
    measures: tuple[str, ...]
    lines: tuple[ResultLine, ...]

    @property
    def title(self) -> str:
        """What stands above it."""
        return TITLES[self.group]

    @property
    def head(self) -> tuple[str, ...]:
        """The names of its columns, short enough for a page of a thesis."""
        first = (_HEADS[self.group],) if self.group in _HEADS else ()
        return (*first, "Rater", "n", *map(short_name, self.measures))

    @property
    def texts(self) -> list[list[str]]:
        """The lines as they are printed, a cell for each column."""
        return [
            [
                *([line.value] if self.group in _HEADS else []),
                line.rater,
                str(line.turns),
                *(result_cell(cell, line.turns) for cell in line.cells),
            ]
            for line in self.lines
        ]


def short_name(measure: str) -> str:
    """Return a measure's name for the head of a column."""
    return "Acc." if measure == ACCURACY else measure


def result_tables(rows: Sequence[ResultRow]) -> tuple[ResultTable, ...]:
    """Return the tables as they are printed: one for each group that has rows, the raters of a value side by side."""
    measures = tuple(dict.fromkeys(row.measure for row in rows))
    raters = tuple(dict.fromkeys(row.rater for row in rows))
    found = []
    for group in GROUPS:
        cells: dict[str, dict[str, dict[str, ResultRow]]] = {}
        for row in rows:
            if row.group == group:
                cells.setdefault(row.value, {}).setdefault(row.rater, {})[row.measure] = row
        lines = [
            ResultLine(value, rater, max(_turns(one) for one in given.values()), tuple(map(given.get, measures)))
            for value, by_rater in cells.items()
            for rater in raters
            if (given := by_rater.get(rater))
        ]
        if lines:
            found.append(ResultTable(group, measures, tuple(lines)))
    return tuple(found)


def result_cell(row: ResultRow | None, turns: int) -> str:
    """Return a cell as a person reads it: "0.80 [0.62, 0.95]", with its n where that is not the line's."""
    if row is None or row.summary.mean is None:
        return "–"
    own = row.summary
    bounds = "" if own.low is None else f" [{own.low:.2f}, {own.high:.2f}]"
    return f"{own.mean:.2f}{bounds}" + (f" (n = {own.n})" if own.n != turns else "")


def results_frame(rows: Sequence[ResultRow]) -> DataFrame:
    """Return a row per rater, group, value and measure: mean, interval, n, unscored and number of conversations."""
    return frame(
        COLUMNS,
        (
            (row.rater, row.group, row.value, row.measure, row.summary.mean, row.summary.low, row.summary.high,
             row.summary.n, row.summary.unscored, row.conversations)
            for row in rows
        ),
    )  # fmt: skip


def results_latex(rows: Sequence[ResultRow], study: str) -> bytes:
    """Return booktabs tables with short heads: overall, by turn, by intent, by conversation."""
    import pandas as pd

    made = []
    for table in result_tables(rows):
        body = [[_latex_text(text) for text in line] for line in table.texts]
        text = "c" * len(table.measures)
        made.append(
            latex_table(
                pd.DataFrame(body, columns=[_latex_head(name) for name in table.head]),
                caption=latex_escape(f"{study}: {table.title.lower()}. {INTERVALS}"),
                label=f"tab:study-{table.group}", columns=("l" if table.group != OVERALL else "") + "lr" + text,
            )
        )  # fmt: skip
    return b"\n".join(made)


def results_markdown(rows: Sequence[ResultRow], study: str) -> bytes:
    """Return the tables as Markdown."""
    parts = [f"# {study}"]
    for table in result_tables(rows):
        parts += [f"## {table.title}", markdown_table(table.head, table.texts, numbers=table.head.index("n"))]
    return "\n\n".join([*parts, INTERVALS]).encode("utf-8", errors="replace") + b"\n"


def _latex_text(text: str) -> str:
    """Return a cell for LaTeX; a bracket or star at its beginning would belong to the end of the line before."""
    return ("{}" if text.startswith(("[", "*")) else "") + latex_escape(text)


def _latex_head(name: str) -> str:
    return "$n$" if name == "n" else latex_escape(name)


def _turns(row: ResultRow) -> int:
    return row.summary.n + row.summary.unscored


# ------------------------------------------------------------------ chart

Draw = Callable[["Axes"], None]


def results_figure(rows: Sequence[ResultRow], study: str, kind: str) -> bytes:
    """Return the chart as one file; `kind` is png, svg or pdf. Raises UsageError for another, or nothing to draw."""
    panels = _panels(rows)
    if not panels:
        raise UsageError(f"“{study}” has no rated answers or passages to draw.", "Rate some first.")

    def draw() -> Figure:
        made = new_figure(5.6 * len(panels), 4.2)
        for place, (title, panel) in enumerate(panels, start=1):
            axes = made.add_subplot(1, len(panels), place)
            panel(axes)
            axes.set_title(title)
        made.suptitle(study, x=0.01, ha="left", fontsize=12, fontweight="bold")
        return made

    return figure_file(kind, "results", draw)


def results_panels(rows: Sequence[ResultRow]) -> tuple[tuple[str, str], ...]:
    """Return each panel's title and its SVG for a page: ink is `currentColor`, lines are the variable `--line`."""
    return tuple(
        (title, page_svg(title, f"r{place}-", draw, (5.4, 3.6)))
        for place, (title, draw) in enumerate(_panels(rows), start=1)
    )


def _panels(rows: Sequence[ResultRow]) -> list[tuple[str, Draw]]:
    """Return accuracy and HR@k by turn number, a line for each rater, with their titles."""
    measures = list(dict.fromkeys(row.measure for row in rows if row.group == TURN and row.summary.mean is not None))
    deepest = [name for name in measures if name != ACCURACY][-1:]
    chosen = [name for name in measures if name == ACCURACY] + deepest
    titles = {ACCURACY: "Accuracy of answers by turn"}

    def panel(measure: str) -> Draw:
        mine = [row for row in rows if row.group == TURN and row.measure == measure and row.summary.mean is not None]
        return lambda axes: _by_turn(axes, mine, measure)

    return [(titles.get(name, f"{name} of passages by turn"), panel(name)) for name in chosen]


def _by_turn(axes: Axes, rows: Sequence[ResultRow], measure: str) -> None:
    from matplotlib.ticker import MaxNLocator

    raters = list(dict.fromkeys(row.rater for row in rows))[-_MOST_RATERS:]
    for place, rater in enumerate(raters):
        mine = [row for row in rows if row.rater == rater]
        shift = (place - (len(raters) - 1) / 2) * 0.11
        means = [row.summary.mean or 0.0 for row in mine]
        bounds = [(row.summary.low, row.summary.high, mean) for row, mean in zip(mine, means, strict=True)]
        below = [0.0 if low is None else max(0.0, mean - low) for low, _, mean in bounds]
        above = [0.0 if high is None else max(0.0, high - mean) for _, high, mean in bounds]
        axes.errorbar(
            [int(row.value) + shift for row in mine], means, yerr=[below, above],
            color=COLOURS[place], marker=MARKERS[place], markersize=4.5, linewidth=1.2, capsize=2.5, label=rater,
            linestyle="-" if place % 2 == 0 else (0, (5, 1.5)),
        )  # fmt: skip
    axes.set_ylim(-0.03, 1.05)
    axes.set_ylabel(f"{'Accuracy' if measure == ACCURACY else measure} (0 to 1)")
    axes.set_xlabel("Turn of the conversation; bars: 95 % intervals")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y")
    if len(raters) > 1:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3, frameon=False, fontsize=7.5)
