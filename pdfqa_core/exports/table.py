"""The table that compares systems, as lines for a terminal; what measures are called in tables."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import GOLD_MATCH, OVERLAPPING, Evaluation
from pdfqa_core.metrics.base import Description
from pdfqa_core.metrics.catalogue import measure_named
from pdfqa_core.metrics.comparison import Cell, Comparison, Spread, latency
from pdfqa_core.metrics.statistics import Summary

# ----------------------------------------------------------------------------------------------------
# Pages that need no other file, from the templates beside this module.


def html_page(template: str, **values: Any) -> bytes:
    """Return a page in UTF-8; texts are escaped, lone surrogates become "?"."""
    return _environment().get_template(f"{template}.html").render(**values).encode("utf-8", errors="replace")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("pdfqa_core.exports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


# ----------------------------------------------------------------------------------------------------
# The table that compares systems, as lines for a terminal; what measures are called in tables.

_LISTED = 8  # items of a list of wins or losses
_SHORT = {
    "Insufficient context detection": "Missing context", "HotpotQA answer": "HQA", "Supporting facts": "SF",
    "ROUGE-Lsum F": "R-Lsum", "ROUGE-L F": "R-L", "Disambig-F1": "D-F1", "BERTScore": "BS", "Gold answer": "Gold",
    "Answer ": "", "Citation": "Cit.", "Entailment": "Ent.", "Claim": "Cl.", "Faithfulness": "Faith.",
    "Refusal": "Ref.", "refusals": "ref.", "precision": "P", "recall": "R", "accuracy": "acc.",
}  # fmt: skip


def measure_of(name: str) -> Description:
    """Return the description of a measure; one that is not declared has nothing but its name."""
    try:
        found = measure_named(name)
    except UsageError:
        return Description(name, name)
    return found if found.name == name else replace(found, name=name, pretty_name=name)  # HR@5 is HR@k


def short_name(name: str) -> str:
    """Return what a measure is called in the head of a narrow column: "F1", "Cit. P", "R-L"."""
    short = measure_of(name).pretty_name
    for words, letters in _SHORT.items():
        short = short.replace(words, letters)
    return short


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
    lines += filter(None, [matching(evaluation)])
    return "\n".join([*lines, *(f"Note: {note}" for note in evaluation.notes)])


def matching(evaluation: Evaluation) -> str:
    """Return the sentence that says which passages count as right, and whether hits were merged; "" without ranks."""
    said = evaluation.settings
    if GOLD_MATCH not in said:
        return ""
    return f"Gold match {said[GOLD_MATCH]}. Hits that overlap: {said.get(OVERLAPPING, 'not known')}."


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
            f"a search takes {middle:.1f} ms, 19 of 20 within {slow:.1f} ms"
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


def interval_words(comparison: Comparison) -> str:
    """Return what the intervals of a table are: "95 % bootstrap interval", and where one is exact or missing."""
    found = [cell.summary for cells in comparison.cells.values() for cell in cells.values()]
    words = "95 % bootstrap interval"
    if any(one.exact for one in found):
        words += "; exact interval (Clopper and Pearson) where a proportion is 0 or 1"
    if any(one.n > 1 and one.low is None for one in found):
        words += "; no interval where another measure has one value throughout"
    return words


def explanation(comparison: Comparison) -> str:
    """Return the sentence that says what intervals, differences and stars are."""
    others = len(comparison.cells) - 1
    times = f"{others} comparison" if others == 1 else f"{others} comparisons"
    return (
        f"[ ]: {interval_words(comparison)}. Differences are to {comparison.baseline} on the same items; p: paired "
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


def best(comparison: Comparison, measure: str) -> float | None:
    """Return the best mean of a measure among the systems, rounded to three digits; None where none is better."""
    means = [cells[measure].summary.mean for cells in comparison.cells.values()]
    scored = [round(mean, 3) for mean in means if mean is not None]
    judged = measure_of(measure).higher_is_better
    if not scored or judged is None:
        return None
    return max(scored) if judged else min(scored)
