"""The table that compares systems, as LaTeX for a paper: short heads, notes on what they stand for, and deviations."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.exports.deviations import Deviations, deviations_of
from pdfqa_core.exports.frames import latex_escape, latex_table
from pdfqa_core.exports.table import best, measure_of, short_name
from pdfqa_core.metrics.comparison import Comparison
from pdfqa_core.metrics.statistics import Summary

LONGEST_HEAD = 14  # characters of a system's name that still heads a column


def table_latex(evaluation: Evaluation, comparison: Comparison) -> bytes:
    """Return a booktabs table with intervals, the best value of each measure bold, and notes below.

    Systems or measures make the columns, whichever are fewer. The notes say what short heads stand for, and where a
    number is computed in another way than in its source.
    """
    import pandas as pd

    names, measures = list(comparison.cells), comparison.measures
    found = deviations_of(evaluation.notes, measures)
    heads: dict[str, str] = {}  # what a short head stands for
    if len(names) == 1:
        head = ["Measure", "Mean", r"95\,\% interval", "$n$", "unscored"]
        body = [[_row(m, found), *_single(comparison.cells[names[0]][m].summary)] for m in measures]
        columns = "lrcrr"
    elif len(names) <= len(measures):
        heads = _system_heads(names)
        head = ["Measure", *(latex_escape(one) for one in heads)]
        body = [[_row(m, found), *(_cell(comparison, s, m) for s in names)] for m in measures]
        columns = "l" + "c" * len(names)
    else:
        heads = {short_name(m): measure_of(m).pretty_name for m in measures}
        head = ["System", *(f"{latex_escape(short_name(m))}{_mark(m, found)}" for m in measures)]
        body = [[latex_escape(s), *(_cell(comparison, s, m) for m in measures)] for s in names]
        columns = "l" + "c" * len(measures)
    made = latex_table(
        pd.DataFrame(body, columns=head), caption=_caption(evaluation, comparison), columns=columns,
        label=f"tab:{_label(evaluation.protocol)}",
    )  # fmt: skip
    return _with_notes(made, [*_legend(heads), *_told(found)])


def _system_heads(names: Sequence[str]) -> dict[str, str]:
    """Return the heads of columns: the names, or where one is too long, S1, S2 and so on."""
    if all(len(name) <= LONGEST_HEAD for name in names):
        return {name: name for name in names}
    return {f"S{place}": name for place, name in enumerate(names, start=1)}


def _legend(heads: dict[str, str]) -> list[str]:
    listed = [f"{latex_escape(head)}: {latex_escape(name)}" for head, name in heads.items() if head != name]
    return [f"{'; '.join(listed)}."] if listed else []


def _told(found: Deviations) -> list[str]:
    lines = [f"$^{{{letter}}}$ {latex_escape(text)}" for letter, text in found.lettered]
    other = " ".join(found.others)
    return [*lines, *([f"Other than in the sources: {latex_escape(other)}"] if other else [])]


def _with_notes(table: bytes, lines: Sequence[str]) -> bytes:
    if not lines:
        return table
    notes = "\n\\par ".join(lines)
    box = f"\\par\\smallskip\n\\parbox{{\\linewidth}}{{\\footnotesize {notes}}}\n\\end{{table}}"
    return table.decode().replace("\\end{table}", box).encode()


def _mark(measure: str, found: Deviations) -> str:
    letters = found.marks.get(measure, "")
    return f"$^{{{letters}}}$" if letters else ""


def _row(measure: str, found: Deviations) -> str:
    return f"{latex_escape(measure_of(measure).pretty_name)}{_mark(measure, found)}"


def _label(protocol: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in protocol) or "results"


def _single(summary: Summary) -> list[str]:
    mean = "--" if summary.mean is None else f"{summary.mean:.3f}"
    bounds = "--" if summary.low is None else f"[{summary.low:.3f}, {summary.high:.3f}]"
    return [mean, bounds, str(summary.n), str(summary.unscored)]


def _cell(comparison: Comparison, system: str, measure: str) -> str:
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
