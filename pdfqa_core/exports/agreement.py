"""Agreement of annotators as a table, for a paper (LaTeX, Markdown), and as one HTML file that needs no other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from markupsafe import Markup

from pdfqa_core.exports.agreement_figure import LARGEST_MATRIX, over_time_svg
from pdfqa_core.exports.conversations import escape
from pdfqa_core.exports.frames import COUNT, NUMBER, TEXT, frame, latex_escape, latex_table
from pdfqa_core.exports.html import html_page
from pdfqa_core.exports.markdown import markdown_table
from pdfqa_core.metrics.agreement import Agreement
from pdfqa_core.metrics.many_annotators import AgreementOfMany

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = {
    "criterion": TEXT, "annotators": TEXT, "statistic": TEXT, "value": NUMBER, "low": NUMBER, "high": NUMBER,
    "n": COUNT,
}  # fmt: skip


def agreement_frame(pairs: Sequence[Agreement], many: Sequence[AgreementOfMany] = ()) -> DataFrame:
    """Return one row per criterion, annotators and statistic; what is undefined is a gap."""
    rows: list[tuple[str | float | None, ...]] = []
    for one in many:
        names, alpha = ", ".join(one.annotators), one.alpha
        rows.append((one.criterion, names, "krippendorff_alpha", alpha.alpha, alpha.low, alpha.high, alpha.n))
        rows.append((one.criterion, names, "mean_pairwise_kappa", one.mean_kappa, None, None, alpha.n))
        rows.append((one.criterion, names, "ac1_of_all", one.ac1, None, None, alpha.n))
    for pair in pairs:
        names = ", ".join(pair.annotators)
        rows.append((pair.criterion, names, "kappa", pair.kappa, pair.low, pair.high, pair.n))
        for weighted in pair.weighted:
            kappa = (weighted.kappa, weighted.low, weighted.high)
            rows.append((pair.criterion, names, f"kappa_{weighted.weights}", *kappa, pair.n))
        raw = (pair.agreement, pair.agreement_low, pair.agreement_high)
        rows.append((pair.criterion, names, "agreement", *raw, pair.n))
        for name in ("pabak", "ac1", "prevalence_index", "bias_index"):
            rows.append((pair.criterion, names, name, getattr(pair, name), None, None, pair.n))
    return frame(COLUMNS, rows)


def agreement_html(
    dataset: str, when: datetime, pairs: Sequence[Agreement], many: Sequence[AgreementOfMany] = (),
    notes: Sequence[str] = (), over_time: Sequence[Sequence[Agreement]] = (),
) -> bytes:  # fmt: skip
    """Return the report as a UTF-8 HTML file: tables with intervals, and the confusion matrix of each pair.

    `over_time` are the parts of a pair's items in the order they were rated, for each criterion.
    """
    return html_page(
        "agreement",
        dataset=dataset, when=f"{when:%Y-%m-%d %H:%M} {when.tzname() or ''}".strip(), pairs=pairs, many=many,
        matrices=[(one.criterion, kappa_matrix(one)) for one in many if len(one.annotators) > 2],
        over_time=[parts for parts in over_time if parts], chart=Markup(over_time_svg(over_time)),  # noqa: S704 - drawn here, names escaped
        notes=[*notes, *(one.note for one in many if one.note)],
    )  # fmt: skip


def kappa_matrix(one: AgreementOfMany) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return the annotators, and for each the kappas with all of them as texts; "1" with themselves."""
    kappas = {frozenset(pair.annotators): pair.kappa for pair in one.pairs}

    def cell(name: str, other: str) -> str:
        return "1" if name == other else shown(kappas.get(frozenset((name, other))))

    return one.annotators, [[cell(name, other) for other in one.annotators] for name in one.annotators]


def shown(value: float | None) -> str:
    """Return a number of the report; an en dash where it is undefined."""
    return "–" if value is None else f"{value:.3f}"


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    return shown(value) + ("" if low is None else f" [{shown(low)}, {shown(high)}]")


_HEAD = ("Criterion", "Annotators", "n", "Agreement", "Kappa", "PABAK", "AC1", "Prev.", "Bias")
_HEAD_OF_ALL = ("Criterion", "Annotators", "n", "Alpha", "Mean kappa", "AC1")
_LEGEND = (
    "Kappa is Cohen's; intervals are 95 % bootstrap intervals over turns, over conversations where there are ten or "
    "more; exact where an agreement is 0 or 1. Prev. and Bias: prevalence and bias index, for two labels."
)


def _pair_rows(pairs: Sequence[Agreement]) -> list[list[str]]:
    return [
        [
            pair.criterion, " and ".join(pair.annotators), str(pair.n),
            _with_interval(pair.agreement, pair.agreement_low, pair.agreement_high),
            _with_interval(pair.kappa, pair.low, pair.high),
            *map(shown, (pair.pabak, pair.ac1, pair.prevalence_index, pair.bias_index)),
        ]
        for pair in pairs
    ]  # fmt: skip


def _all_rows(many: Sequence[AgreementOfMany]) -> list[list[str]]:
    return [
        [one.criterion, ", ".join(one.annotators), str(one.alpha.n),
         _with_interval(one.alpha.alpha, one.alpha.low, one.alpha.high), shown(one.mean_kappa), shown(one.ac1)]
        for one in many
    ]  # fmt: skip


def agreement_latex(dataset: str, pairs: Sequence[Agreement], many: Sequence[AgreementOfMany] = ()) -> bytes:
    """Return booktabs tables with short heads: the pairs, and where there are `many` annotators all of them."""
    import pandas as pd

    made = []
    tables: list[tuple[tuple[str, ...], list[list[str]], str, str]] = [(_HEAD, _pair_rows(pairs), "agreement", _LEGEND)]
    if many:
        legend = "Alpha is Krippendorff's, with its 95 % bootstrap interval."
        tables.append((_HEAD_OF_ALL, _all_rows(many), "agreement-all", legend))
    for head, rows, label, legend in tables:
        body = [[latex_escape(cell) for cell in row] for row in rows]
        made.append(
            latex_table(
                pd.DataFrame(body, columns=["$n$" if name == "n" else name for name in head]),
                caption=latex_escape(f"{dataset}: agreement of the annotators. {legend}"),
                label=f"tab:study-{label}", columns="llr" + "c" * (len(head) - 3),
            )
        )  # fmt: skip
    return b"\n".join(made)


def agreement_markdown(
    dataset: str, pairs: Sequence[Agreement], many: Sequence[AgreementOfMany] = (),
    over_time: Sequence[Sequence[Agreement]] = (),
) -> bytes:  # fmt: skip
    """Return the report as Markdown: tables, what is undefined or misleading, the confusion matrices."""
    parts = [f"# {escape(dataset)}: agreement"]
    if many:
        parts += ["## All annotators", markdown_table(_HEAD_OF_ALL, _all_rows(many), numbers=2)]
        for one in many:
            names, cells = kappa_matrix(one)
            rows = [[name, *row] for name, row in zip(names, cells, strict=True)]
            parts += [f"### {escape(one.criterion)}: kappa of each pair", _matrix(("", *names), rows)]
    parts += ["## Pairs", markdown_table(_HEAD, _pair_rows(pairs), numbers=2), _LEGEND]
    parts += [f"- {escape(f'{pair.criterion}, {pair.annotators[0]} and {pair.annotators[1]}: {pair.note}')}"
              for pair in pairs if pair.note]  # fmt: skip
    for pair in pairs:
        if pair.n and len(pair.labels) <= LARGEST_MATRIX:
            first, second = pair.annotators
            rows = [[label, *map(str, row)] for label, row in zip(pair.labels, pair.confusion, strict=True)]
            parts += [f"## {escape(f'{pair.criterion}: {first} (rows) and {second} (columns)')}",
                      _matrix(("", *pair.labels), rows)]  # fmt: skip
    for steps in over_time:
        if steps:
            rows = [[str(place), str(step.n), shown(step.agreement), _with_interval(step.kappa, step.low, step.high)]
                    for place, step in enumerate(steps, start=1)]  # fmt: skip
            parts += [f"## {escape(steps[0].criterion)}: in the order of rating",
                      markdown_table(("Part", "n", "Agreement", "Kappa"), rows)]  # fmt: skip
    return "\n\n".join(parts).encode("utf-8", errors="replace") + b"\n"


def _matrix(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return markdown_table([escape(name) for name in head], rows)
