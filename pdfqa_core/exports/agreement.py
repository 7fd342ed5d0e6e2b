"""Agreement of annotators as a CSV table and as one HTML file that needs no other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from pdfqa_core.csv_format import write_csv
from pdfqa_core.metrics.agreement import Agreement
from pdfqa_core.metrics.many_annotators import AgreementOfMany

COLUMNS = (
    "criterion", "annotators", "statistic", "value", "low", "high", "n",
)  # fmt: skip


def agreement_csv(pairs: Sequence[Agreement], many: Sequence[AgreementOfMany] = ()) -> bytes:
    """Return one row per criterion, annotators and statistic; what is undefined is an empty cell."""
    rows: list[tuple[str, ...]] = []
    for one in many:
        names = ", ".join(one.annotators)
        alpha = one.alpha
        rows.append(
            (one.criterion, names, "krippendorff_alpha", *_cells(alpha.alpha, alpha.low, alpha.high), str(alpha.n))
        )
        rows.append((one.criterion, names, "mean_pairwise_kappa", *_cells(one.mean_kappa), str(alpha.n)))
    for pair in pairs:
        names, n = ", ".join(pair.annotators), str(pair.n)
        rows.append((pair.criterion, names, "kappa", *_cells(pair.kappa, pair.low, pair.high), n))
        for weighted in pair.weighted:
            cells = _cells(weighted.kappa, weighted.low, weighted.high)
            rows.append((pair.criterion, names, f"kappa_{weighted.weights}", *cells, n))
        cells = _cells(pair.agreement, pair.agreement_low, pair.agreement_high)
        rows.append((pair.criterion, names, "agreement", *cells, n))
        for name in ("pabak", "ac1", "prevalence_index", "bias_index"):
            rows.append((pair.criterion, names, name, *_cells(getattr(pair, name)), n))
    return write_csv(COLUMNS, rows)


def agreement_html(
    dataset: str, when: datetime, pairs: Sequence[Agreement], many: Sequence[AgreementOfMany] = (),
    notes: Sequence[str] = (),
) -> bytes:  # fmt: skip
    """Return the report as a UTF-8 HTML file: tables with intervals, and the confusion matrix of each pair."""
    page = _environment().get_template("agreement.html").render(
        dataset=dataset, when=f"{when:%Y-%m-%d %H:%M} {when.tzname() or ''}".strip(), pairs=pairs, many=many,
        notes=[*notes, *(one.note for one in many if one.note)],
    )  # fmt: skip
    return page.encode("utf-8", errors="replace")


def _cells(value: float | None, low: float | None = None, high: float | None = None) -> tuple[str, str, str]:
    first, second, third = ("" if number is None else repr(float(number)) for number in (value, low, high))
    return first, second, third


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("pdfqa_core.exports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
