"""The table that compares systems: as lines for a terminal, as LaTeX for a paper; what measures are called in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.exports.frames import latex_escape, latex_table
from pdfqa_core.metrics.base import Description
from pdfqa_core.metrics.catalogue import measure_named
from pdfqa_core.metrics.comparison import Cell, Comparison, latency
from pdfqa_core.metrics.repeats import Spread
from pdfqa_core.metrics.statistics import Summary

_LISTED = 8  # items of a list of wins or losses


def measure_of(name: str) -> Description:
    """Return the description of a measure; one that is not declared has nothing but its name."""
    try:
        found = measure_named(name)
    except UsageError:
        return Description(name, name)
    return found if found.name == name else replace(found, name=name, pretty_name=name)  # HR@5 is HR@k


def is_share(name: str) -> bool:
    """Return whether a measure's values lie in 0..1."""
    return (measure_of(name).low, measure_of(name).high) == (0.0, 1.0)


def interval(summary: Summary) -> str:
    """Return a mean with its interval, n and what is unscored: "0.8120  [0.469, 1.000]  n = 10, 5 unscored"."""
    if summary.mean is None:
        return f"undefined  (n = 0, {summary.unscored} unscored)"
    bounds = "" if summary.low is None else f"  [{summary.low:.3f}, {summary.high:.3f}]"
    return f"{summary.mean:.4f}{bounds}  n = {summary.n}, {summary.unscored} unscored"


def difference(cell: Cell) -> str:
    """Return a difference with its interval and p: "+0.120  [+0.010, +0.230]  p = 0.031 *"; empty without one."""
    other = cell.difference
    if other is None or other.mean is None:
        return ""
    bounds = "" if other.low is None else f"  [{other.low:+.3f}, {other.high:+.3f}]"
    p = "" if cell.p is None else f"  p = {cell.p:.3f}" if cell.p >= 0.001 else "  p < 0.001"
    return f"{other.mean:+.3f}{bounds}{p}{' *' if cell.significant else ''}"


def spread_text(spread: Spread) -> str:
    """Return the spread of a repeated system: "0.512 ± 0.031 (0.480 to 0.548, 3 repeats)"."""
    return (
        f"{spread.mean:.3f} ± {spread.deviation:.3f} ({spread.low:.3f} to {spread.high:.3f}, {spread.repeats} repeats)"
    )


def table_text(evaluation: Evaluation, comparison: Comparison) -> str:
    """Return the table as lines for a terminal, the systems of one measure below each other."""
    titles = {name: measure_of(name).pretty_name for name in comparison.measures}
    lines = _costs(evaluation)
    if not comparison.baseline:
        (cells,) = comparison.cells.values()
        width = max(map(len, titles.values()))
        lines += [] if lines else [next(iter(comparison.cells))]
        lines += [f"  {titles[name]:<{width}}  {interval(cells[name].summary)}" for name in comparison.measures]
    else:
        width = max(map(len, comparison.cells))
        means = {(s, m): interval(c[m].summary) for s, c in comparison.cells.items() for m in comparison.measures}
        room = max(map(len, means.values()))
        for name in comparison.measures:
            lines.append(titles[name])
            for system, cells in comparison.cells.items():
                compared = "baseline" if system == comparison.baseline else difference(cells[name])
                lines.append(f"  {system:<{width}}  {means[system, name]:<{room}}  {compared}".rstrip())
        lines += [*_changes(comparison), explanation(comparison)]
    if evaluation.published:
        lines += ["", *_published(evaluation)]
    return "\n".join([*lines, *(f"Note: {note}" for note in evaluation.notes)])


def _costs(evaluation: Evaluation) -> list[str]:
    """Return what indexes and searches cost, where systems searched."""
    lines = []
    for system in evaluation.systems:
        seconds, index = latency(system), system.index
        if seconds is None or index is None:
            continue
        middle, slow = (1000 * one for one in seconds)
        lines.append(system.name)
        lines.append(
            f"  {index.passages:,} passages, index {index.bytes / 1e6:.1f} MB in {index.build_seconds:.1f} s; "
            f"a search takes {middle:.1f} ms (95 %: {slow:.1f} ms)"
        )
    return lines


def _changes(comparison: Comparison) -> list[str]:
    lines = []
    for system, changes in comparison.changes.items():
        lines.append(f"{system}  against  {comparison.baseline}")
        for word, items in zip(("better", "worse"), changes, strict=True):
            listed = ", ".join(f"{item} ({_rank(before)} → {_rank(rank)})" for item, rank, before in items[:_LISTED])
            more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
            lines.append(f"  {word} on {len(items)}: {listed}{more}".rstrip(": "))
    return lines


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


def explanation(comparison: Comparison) -> str:
    """Return the sentence that says what intervals, differences and stars are."""
    others = len(comparison.cells) - 1
    times = f"{others} comparison" if others == 1 else f"{others} comparisons"
    return (
        f"[ ]: 95 % bootstrap interval. Differences are to {comparison.baseline} on the same items; p: paired "
        f"permutation test, adjusted by Holm's method for {times}; *: p < 0.05."
    )


def _published(evaluation: Evaluation) -> list[str]:
    names = list(dict.fromkeys(name for row in evaluation.published.values() for name in row))
    width = max(map(len, evaluation.published))
    lines = ["Published, in percent"]
    for system, row in evaluation.published.items():
        cells = "  ".join(f"{measure_of(n).pretty_name} {100 * row[n]:.1f}" for n in names if n in row)
        lines.append(f"  {system:<{width}}  {cells}")
    return lines


# ------------------------------------------------------------------ LaTeX


def table_latex(evaluation: Evaluation, comparison: Comparison) -> bytes:
    """Return a booktabs table with intervals, the best value of each measure bold.

    Systems or measures make the columns, whichever are fewer.
    """
    import pandas as pd

    names = list(comparison.cells)
    if len(names) == 1:
        head = ["Measure", "Mean", r"95\,\% interval", "$n$", "unscored"]
        body = [_latex_single(name, comparison.cells[names[0]][name].summary) for name in comparison.measures]
        columns = "lrcrr"
    elif len(names) <= len(comparison.measures):
        head = ["Measure", *map(latex_escape, names)]
        body = [
            [latex_escape(measure_of(m).pretty_name), *(_latex_cell(comparison, s, m) for s in names)]
            for m in comparison.measures
        ]
        columns = "l" + "c" * len(names)
    else:
        head = ["System", *(latex_escape(measure_of(m).pretty_name) for m in comparison.measures)]
        body = [[latex_escape(s), *(_latex_cell(comparison, s, m) for m in comparison.measures)] for s in names]
        columns = "l" + "c" * len(comparison.measures)
    return latex_table(
        pd.DataFrame(body, columns=head), caption=_caption(evaluation, comparison), columns=columns,
        label=f"tab:{_label(evaluation.protocol)}",
    )  # fmt: skip


def _label(protocol: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in protocol) or "results"


def _latex_single(name: str, summary: Summary) -> list[str]:
    mean = "--" if summary.mean is None else f"{summary.mean:.3f}"
    bounds = "--" if summary.low is None else f"[{summary.low:.3f}, {summary.high:.3f}]"
    return [latex_escape(measure_of(name).pretty_name), mean, bounds, str(summary.n), str(summary.unscored)]


def best(comparison: Comparison, measure: str) -> float | None:
    """Return the best mean of a measure among the systems, rounded to three digits; None where none is better."""
    means = [cells[measure].summary.mean for cells in comparison.cells.values()]
    scored = [round(mean, 3) for mean in means if mean is not None]
    judged = measure_of(measure).higher_is_better
    if not scored or judged is None:
        return None
    return max(scored) if judged else min(scored)


def _latex_cell(comparison: Comparison, system: str, measure: str) -> str:
    cell = comparison.cells[system][measure]
    if cell.summary.mean is None:
        return "--"
    text = f"{cell.summary.mean:.3f}"
    if round(cell.summary.mean, 3) == best(comparison, measure):
        text = rf"\textbf{{{text}}}"
    if cell.significant:
        text += "$^{*}$"
    if cell.summary.low is not None:
        text += rf" {{\scriptsize [{cell.summary.low:.3f}, {cell.summary.high:.3f}]}}"
    return text


def _caption(evaluation: Evaluation, comparison: Comparison) -> str:
    counts = {(c.summary.n, c.summary.unscored) for cells in comparison.cells.values() for c in cells.values()}
    items = len(evaluation.systems[0].items)
    text = f"{evaluation.protocol} on {evaluation.dataset}: means with 95 % bootstrap intervals, {items} items"
    if any(unscored for _, unscored in counts):
        text += f" ({_unscored(comparison)})"
    if comparison.baseline:
        text += f"; best in bold; *: differs from {comparison.baseline} (paired permutation test, Holm, p < 0.05)"
    return latex_escape(text + ".")


def _unscored(comparison: Comparison) -> str:
    parts = []
    for measure in comparison.measures:
        counts: Sequence[int] = [cells[measure].summary.unscored for cells in comparison.cells.values()]
        if any(counts):
            shown = str(counts[0]) if len(set(counts)) == 1 else "/".join(map(str, counts))
            parts.append(f"{measure_of(measure).pretty_name} unscored {shown}")
    return ", ".join(parts)
