"""The agreement of two annotators as a figure: who said what, and kappa from the first items rated to the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.drawing import COLOURS, MARKERS, figure_file, ink, new_figure, page_svg
from pdfqa_core.metrics.agreement import Agreement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGEST_MATRIX = 12  # labels of a confusion matrix that is shown
_DARK = 0.55  # share of a row from which on its count is written in white


def agreement_figure(
    dataset: str, pairs: Sequence[Agreement], over_time: Sequence[Sequence[Agreement]], kind: str
) -> bytes:
    """Return a confusion matrix for each pair and criterion and kappa over time; `kind` is png, svg or pdf.

    Raises UsageError for another kind, or where no item is shared.
    """
    matrices = [pair for pair in pairs if pair.n and len(pair.labels) <= LARGEST_MATRIX]
    if not matrices:
        raise UsageError(f"“{dataset}” has no item that two people rated.", "Rate some first.")
    steps = [parts for parts in over_time if parts]
    columns = min(3, len(matrices) + bool(steps))
    rows = -(-(len(matrices) + bool(steps)) // columns)

    def draw() -> Figure:
        made = new_figure(4.4 * columns, 3.9 * rows)
        for place, pair in enumerate(matrices, start=1):
            _confusion(made.add_subplot(rows, columns, place), pair)
        if steps:
            _over_time(made.add_subplot(rows, columns, len(matrices) + 1), steps)
        made.suptitle(dataset, x=0.01, ha="left", fontsize=12, fontweight="bold")
        return made

    return figure_file(kind, "agreement", draw)


def over_time_svg(over_time: Sequence[Sequence[Agreement]]) -> str:
    """Return kappa over time as SVG for a page, empty where there are too few items."""
    steps = [parts for parts in over_time if parts]
    if not steps:
        return ""
    return page_svg("Kappa in the order of rating", "k1-", lambda axes: _over_time(axes, steps), (5.4, 3.6))


def _confusion(axes: Axes, pair: Agreement) -> None:
    """Draw the counts; the shade of a cell is its share of its row."""
    one, other = pair.annotators
    shares = [[count / max(1, sum(row)) for count in row] for row in pair.confusion]
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for row, counts in enumerate(pair.confusion):
        for column, count in enumerate(counts):
            colour = "white" if shares[row][column] > _DARK else ink()
            axes.text(column, row, str(count), ha="center", va="center", color=colour, fontsize=10)
    axes.set_xticks(range(len(pair.labels)), pair.labels)
    axes.set_yticks(range(len(pair.labels)), pair.labels)
    axes.set_xlabel(other)
    axes.set_ylabel(one)
    axes.tick_params(length=0)
    kappa = "undefined" if pair.kappa is None else f"{pair.kappa:.2f}"
    axes.set_title(f"{pair.criterion}: n = {pair.n}, kappa {kappa}")


def _over_time(axes: Axes, over_time: Sequence[Sequence[Agreement]]) -> None:
    for place, parts in enumerate(over_time[: len(COLOURS)]):
        shift = (place - (len(over_time) - 1) / 2) * 1.5
        known = [(100 * (number + 0.5) / len(parts) + shift, part)
                 for number, part in enumerate(parts) if part.kappa is not None]  # fmt: skip
        kappas = [part.kappa or 0.0 for _, part in known]
        below = [0.0 if part.low is None else max(0.0, kappa - part.low)
                 for kappa, (_, part) in zip(kappas, known, strict=True)]  # fmt: skip
        above = [0.0 if part.high is None else max(0.0, part.high - kappa)
                 for kappa, (_, part) in zip(kappas, known, strict=True)]  # fmt: skip
        axes.errorbar(
            [x for x, _ in known], kappas, yerr=[below, above], color=COLOURS[place], marker=MARKERS[place],
            markersize=4.5, linewidth=1.2, capsize=2.5, label=parts[0].criterion,
            linestyle="-" if place % 2 == 0 else (0, (5, 1.5)),
        )  # fmt: skip
    lowest = min((part.low for parts in over_time for part in parts if part.low is not None), default=0.0)
    axes.axhline(0, color=ink(), linewidth=0.6)
    axes.set_xlim(0, 100)
    axes.set_ylim(min(-0.35, lowest - 0.05), 1.05)
    axes.set_ylabel("Cohen's kappa")
    axes.set_xlabel("Items in the order of rating (%); bars: 95 % intervals")
    axes.grid(axis="y")
    axes.set_title("Kappa in the order of rating")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3, frameon=False, fontsize=7.5)
