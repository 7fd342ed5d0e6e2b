"""What the Evaluate tab shows: the table of results, the list of questions, the places of one question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, IndexCost
from pdfqa_core.metrics.comparison import Cell, Comparison, latency
from pdfqa_core.types import Span
from pdfqa_core.ui.components import CLICK_AGAIN, megabytes, plural

SHOWN = ("HR@1", "HR@5", "MRR", "nDCG@10", "R@10")
_PLACE = re.compile(r"([^#]*)#([0-9]{1,9})(?::([0-9]{1,9})-([0-9]{1,9}))?")


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A mean with its interval, in percent of the bar; how it compares with the baseline, `change` in words."""

    value: str
    title: str
    interval: bool = False
    low: float = 0.0
    width: float = 0.0
    mean: float = 0.0
    mark: str = ""
    tone: str = ""
    change: str = ""


@dataclass(frozen=True, slots=True)
class SystemRow:
    """A system in the table of results."""

    name: str
    baseline: bool
    cells: tuple[ShownCell, ...]
    latency: str
    passages: str
    size: str


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit of one question; `relevant` as the measures count it."""

    document_id: str
    page: int
    place: str
    relevant: bool


def _cell(cell: Cell) -> ShownCell:
    summary, difference = cell.summary, cell.difference
    if summary.mean is None:
        return ShownCell("–", f"nothing scored, {summary.unscored} unscored")
    value = f"{summary.mean:.3f}".removeprefix("0") if summary.mean < 1 else "1.00"
    if summary.low is None or summary.high is None:
        return ShownCell(value, f"n = {summary.n}: too few for an interval")
    title = f"95 % interval {summary.low:.3f} to {summary.high:.3f}, n = {summary.n}"
    mark = tone = ""
    if difference is not None and difference.mean is not None and cell.p is not None:
        title += f"; difference {difference.mean:+.3f}, p = {cell.p:.3f}"
        if cell.significant:
            mark, tone = ("▲", "good") if difference.mean > 0 else ("▼", "bad")
    width = 100 * (summary.high - summary.low)
    return ShownCell(
        value, title, True, round(100 * summary.low, 1), round(width, 1), round(100 * summary.mean, 1), mark, tone
    )


def short_names(names: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return the names without what all of them share, and that ("over windows of 120 words"); unique as before."""
    parts = [name.partition(" over ") for name in names]
    heads, tails = [head for head, _, _ in parts], [tail for _, _, tail in parts]
    if len(names) > 1 and all(tails) and len(set(tails)) == 1 and len(set(heads)) == len(names):
        return tuple(heads), f"over {tails[0]}"
    if len(names) > 1 and all(tails) and len(set(heads)) == 1 and len(set(tails)) == len(names):
        return tuple(tails), heads[0]
    return tuple(names), ""


def rows_of(evaluation: Evaluation, comparison: Comparison) -> tuple[SystemRow, ...]:
    """Return the table of results."""
    shorts, _ = short_names([system.name for system in evaluation.systems])
    found = []
    for short, system in zip(shorts, evaluation.systems, strict=True):
        index = system.index or IndexCost(0, 0.0, 0)
        median, slow = (1000 * seconds for seconds in latency(system) or (0.0, 0.0))
        found.append(
            SystemRow(
                name=short,
                baseline=system.name == comparison.baseline or not comparison.baseline,
                cells=tuple(_cell(comparison.cells[system.name][name]) for name in comparison.measures),
                latency=f"{median:.1f} ms a search (95 %: {slow:.1f})",
                passages=plural(index.passages, "passage"),
                size=f"index {megabytes(index.bytes)}, ready in {index.build_seconds:.1f} s",
            )
        )
    return tuple(found)


def place_of(place: str) -> tuple[str, int, Span | None]:
    """Return document, page and span of a gold place's name ("document#page" or "document#page:start-end").

    Raises UsageError for anything else.
    """
    found = _PLACE.fullmatch(place)
    if not found:
        raise UsageError(f"“{place[:40]}” is no place in a document.", CLICK_AGAIN)
    document, page, start, end = found.groups()
    return document, int(page), Span(document, int(page), int(start), int(end)) if start else None


def numbers_of(ids: Sequence[str]) -> dict[str, str]:
    """Return what is shown before each question: its id, or its place from 1 where the ids are lines of a table.

    The first line of a table is its header, so that ids which were made of lines begin with 2.
    """
    if ids[:1] == ["2"] and all(map(str.isdecimal, ids)) and sorted(ids, key=int) == list(ids):
        return {one: str(place) for place, one in enumerate(ids, start=1)}
    return dict(zip(ids, ids, strict=True))


def mark_words(places: Sequence[str]) -> str:
    """Return what ✓ says of a passage, by what is known of the gold; empty where there is none."""
    exact = {place_of(place)[2] is not None for place in places}
    if not exact:
        return ""
    if exact == {True}:
        means = "has words of the gold quote; another passage of the same page does not count"
    elif exact == {False}:
        means = "lies on the gold page, whatever it says there"
    else:
        means = "has words of a gold quote, or lies on a gold page of which no quote is known"
    return f"✓ {means}. Ranks and measures count the same. Each gold place counts once, where it is found first."


def rank_of(rank: int | None, base: int | None, own: bool) -> tuple[str, str]:
    """Return a rank in words with its comparison to the baseline's rank, and its tone; `own`: it is the baseline's."""
    words = "–" if rank is None else str(rank)
    if own or rank == base:
        return words, ""
    better = rank is not None and (base is None or rank < base)
    return (f"{words} ↑", "good") if better else (f"{words} ↓", "bad")
