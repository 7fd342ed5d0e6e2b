"""An evaluation as one HTML file that needs nothing else: tables, figure, every item, settings and versions.

All texts are escaped by the template engine; the page's own policy forbids loading anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.exports.deviations import deviations_of
from pdfqa_core.exports.figure import MOST_SYSTEMS, legend_names, panels
from pdfqa_core.exports.html import html_page
from pdfqa_core.exports.insights import guide, insights, successes
from pdfqa_core.exports.run_charts import chart_panels
from pdfqa_core.exports.table import best, difference, explanation, is_share, measure_of, spread_text
from pdfqa_core.metrics.comparison import Cell, Comparison
from pdfqa_core.metrics.repeats import spreads

MOST_ROWS = 2_000
_TITLES = {"answers": "Answers", "asqa": "ASQA", "hotpotqa": "HotpotQA", "entailment": "Entailment"}


def report_html(evaluation: Evaluation, comparison: Comparison) -> bytes:
    """Return the report as a UTF-8 HTML file; it lists at most MOST_ROWS items."""
    names = list(comparison.cells)
    labels = legend_names(names)
    full = [(label, name) for label, name in zip(labels, names, strict=True) if label != name]
    found = deviations_of(evaluation.notes, comparison.measures)
    texts = _texts(evaluation)
    in_items = [name for name in comparison.measures if name in evaluation.systems[0].items[0].metrics]
    return html_page(
        "report",
        title=f"{_TITLES.get(evaluation.protocol, evaluation.protocol.capitalize())}: {evaluation.dataset}",
        items=f"{len(evaluation.systems[0].items):,}",
        when=f"{evaluation.made_at:%Y-%m-%d %H:%M} {evaluation.made_at.tzname() or ''}".strip(),
        systems=labels,
        baseline=labels[names.index(comparison.baseline)] if comparison.baseline else "",
        deviations=found,
        notes=found.notes,
        rows=[
            {
                "title": measure_of(m).pretty_name, "mark": found.marks.get(m, ""),
                "cells": [_shown(comparison, name, m) for name in names],
            }
            for m in comparison.measures
        ],
        explanation=explanation(comparison) if comparison.baseline else "[ ]: 95 % bootstrap interval over items.",
        **_published(evaluation),
        panels=[Markup(svg) for svg in _drawn(evaluation, comparison)],  # noqa: S704 - made by the figure, names escaped
        drawn=min(MOST_SYSTEMS, len(names)),
        tall=len(names) > MOST_SYSTEMS,
        charts=[(title, Markup(svg)) for title, svg in chart_panels(evaluation)],  # noqa: S704 - as above
        spreads=[(one.system, measure_of(one.measure).pretty_name, spread_text(one)) for one in spreads(evaluation)],
        successes=successes(evaluation),
        insights=insights(evaluation, comparison),
        guide=guide(evaluation),
        definitions=[measure_of(name) for name in comparison.measures],
        item_measures=[measure_of(name).pretty_name for name in in_items],
        texts=[text.replace("_", " ").capitalize() for text in texts],
        listed=_listed(evaluation, in_items, texts),
        total=sum(len(system.items) for system in evaluation.systems),
        settings=[*full, *evaluation.settings.items()],
        versions=list(evaluation.versions.items()),
    )  # fmt: skip


def _drawn(evaluation: Evaluation, comparison: Comparison) -> tuple[str, ...]:
    try:
        return tuple(svg for _, svg in panels(evaluation, comparison))
    except UsageError:
        return ()  # nothing was scored; the table says so


def _shown(comparison: Comparison, system: str, measure: str) -> dict[str, Any]:
    """Return a cell of the results; `bar` holds left end, width and mean in percent."""
    cell: Cell = comparison.cells[system][measure]
    own = cell.summary
    leading = own.mean is not None and len(comparison.cells) > 1 and round(own.mean, 3) == best(comparison, measure)
    bar = None
    if own.mean is not None and own.low is not None and own.high is not None and is_share(measure):
        low, high, mean = (round(100 * min(1.0, max(0.0, value)), 1) for value in (own.low, own.high, own.mean))
        bar = (low, round(high - low, 1), mean)
    tone = ""
    if cell.significant and cell.difference is not None and cell.difference.mean is not None:
        judged = measure_of(measure).higher_is_better
        tone = "" if judged is None else "good" if (cell.difference.mean > 0) == judged else "bad"
    numbers = {name: getattr(own, name) for name in ("mean", "low", "high")}
    return {
        **{name: None if value is None else f"{value:.3f}" for name, value in numbers.items()},
        "n": own.n, "unscored": own.unscored, "best": leading, "difference": difference(cell), "tone": tone, "bar": bar,
    }  # fmt: skip


def _published(evaluation: Evaluation) -> dict[str, Any]:
    names = list(dict.fromkeys(name for row in evaluation.published.values() for name in row))
    rows = [
        (system, [f"{100 * row[name]:.1f}" if name in row else "–" for name in names])
        for system, row in evaluation.published.items()
    ]
    return {"published": rows, "published_measures": [measure_of(name).pretty_name for name in names]}


def _texts(evaluation: Evaluation) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for system in evaluation.systems:
        for item in system.items[:MOST_ROWS]:
            found.update(dict.fromkeys(name for name, text in item.texts.items() if text))
    return tuple(found)


def _listed(evaluation: Evaluation, measures: Sequence[str], texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of the items, the systems of one item below each other."""
    rows = []
    for number in range(len(evaluation.systems[0].items)):
        for place, system in enumerate(evaluation.systems):
            item = system.items[number]
            values = [item.metrics.get(name) for name in measures]
            rows.append(
                {
                    "id": item.id,
                    "system": place,
                    "texts": [item.texts.get(text, "") for text in texts],
                    "scores": [_score(name, value) for name, value in zip(measures, values, strict=True)],
                }
            )
            if len(rows) == MOST_ROWS:
                return rows
    return rows


def _score(name: str, value: float | None) -> tuple[str, str, float | None]:
    """Return an item's value for the machine, for people, and the length of its bar in percent."""
    if value is None:
        return "", "–", None
    return repr(value), f"{value:.3f}", round(100 * value, 1) if is_share(name) else None
