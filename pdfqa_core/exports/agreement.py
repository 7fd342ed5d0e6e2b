"""Agreement of annotators as a table and as one HTML file that needs no other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pdfqa_core.exports.frames import COUNT, NUMBER, TEXT, frame
from pdfqa_core.exports.html import html_page
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
    notes: Sequence[str] = (),
) -> bytes:  # fmt: skip
    """Return the report as a UTF-8 HTML file: tables with intervals, and the confusion matrix of each pair."""
    return html_page(
        "agreement",
        dataset=dataset, when=f"{when:%Y-%m-%d %H:%M} {when.tzname() or ''}".strip(), pairs=pairs, many=many,
        notes=[*notes, *(one.note for one in many if one.note)],
    )  # fmt: skip
