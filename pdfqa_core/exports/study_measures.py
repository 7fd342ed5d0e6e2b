"""What automatic measures are worth beside people: as a table of numbers, as LaTeX and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pdfqa_core.exports.conversations import escape
from pdfqa_core.exports.frames import COUNT, NUMBER, TEXT, frame, latex_escape, latex_table
from pdfqa_core.exports.markdown import markdown_table
from pdfqa_core.exports.table import measure_of
from pdfqa_core.metrics.against_people import Estimate, Trust
from pdfqa_core.metrics.prediction_powered import Powered

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = {
    "measure": TEXT, "statistic": TEXT, "value": NUMBER, "low": NUMBER, "high": NUMBER, "n": COUNT, "unscored": COUNT,
    "others": COUNT,
}  # fmt: skip
STATISTICS = ("spearman", "kendall", "auroc", "kappa")
HEAD = ("Measure", "n", "Spearman", "Kendall", "AUROC", "Kappa", "Threshold")
POWERED_HEAD = ("Measure", "Judged", "Others", "Accuracy with scores", "Of the judged alone")
EXPLAINED = (
    "AUROC: the chance that an answer people call correct has the higher score (0.5: worthless). Kappa: at a threshold "
    "chosen on other conversations than it is tried on. 95 % bootstrap intervals over conversations."
)
POWERED = (
    "Prediction-powered inference (Angelopoulos et al. 2023): few judgements and many scores. It holds if the judged "
    "answers are a random part of all."
)


def measures_frame(trust: Sequence[Trust], powered: Sequence[Powered]) -> DataFrame:
    """Return a row per measure and statistic; what is undefined is a gap."""
    rows: list[tuple[str | float | None, ...]] = []
    for one in trust:
        for name in STATISTICS:
            found: Estimate = getattr(one, name)
            rows.append((one.measure, name, found.value, found.low, found.high, one.n, one.unscored, None))
        rows.append((one.measure, "threshold", one.threshold, None, None, one.n, one.unscored, None))
    for own in powered:
        with_scores = ("accuracy_with_scores", own.mean, own.low, own.high)
        rows.append((own.measure, *with_scores, own.n, None, own.others))
        alone = ("accuracy_of_the_judged", own.plain, own.plain_low, own.plain_high)
        rows.append((own.measure, *alone, own.n, None, 0))
    return frame(COLUMNS, rows)


def name_of(measure: str, own: dict[str, str]) -> str:
    """Return what a measure is called in tables."""
    return own.get(measure) or measure_of(measure).pretty_name


def trust_rows(trust: Sequence[Trust], own: dict[str, str]) -> list[list[str]]:
    """Return the table as it is printed, a cell for each of HEAD."""
    return [
        [name_of(one.measure, own), str(one.n), *(_estimate(getattr(one, name)) for name in STATISTICS),
         "–" if one.threshold is None else f"{one.threshold:.2f}"]
        for one in trust
    ]  # fmt: skip


def powered_rows(powered: Sequence[Powered], own: dict[str, str]) -> list[list[str]]:
    """Return the table as it is printed, a cell for each of POWERED_HEAD."""
    return [
        [name_of(one.measure, own), str(one.n), str(one.others),
         _estimate(Estimate(one.mean, one.low, one.high)),
         _estimate(Estimate(one.plain, one.plain_low, one.plain_high))]
        for one in powered
    ]  # fmt: skip


def measures_markdown(study: str, trust: Sequence[Trust], powered: Sequence[Powered], own: dict[str, str]) -> bytes:
    """Return the tables as Markdown."""
    parts = [f"# {escape(study)}: measures against people", markdown_table(HEAD, trust_rows(trust, own)), EXPLAINED]
    parts += [f"- {escape(name_of(one.measure, own))}: {escape(one.note)}" for one in trust if one.note]
    if powered:
        parts += ["## Accuracy on all answers", markdown_table(POWERED_HEAD, powered_rows(powered, own)), POWERED]
    return "\n\n".join(parts).encode("utf-8", errors="replace") + b"\n"


def measures_latex(study: str, trust: Sequence[Trust], powered: Sequence[Powered], own: dict[str, str]) -> bytes:
    """Return booktabs tables with short heads."""
    import pandas as pd

    tables = [("trust", HEAD, trust_rows(trust, own), f"measures against people. {EXPLAINED}")]
    short = ("Measure", "Judged", "Others", "With scores", "Judged alone")
    found = [("powered", short, powered_rows(powered, own), f"accuracy on all answers. {POWERED}")] if powered else []
    made = [
        latex_table(
            pd.DataFrame([[latex_escape(cell) for cell in row] for row in rows],
                         columns=["$n$" if name == "n" else name for name in head]),
            caption=latex_escape(f"{study}: {caption}"), label=f"tab:study-{label}",
            columns="lr" + "c" * (len(head) - 2),
        )
        for label, head, rows, caption in (*tables, *found)
    ]  # fmt: skip
    return b"\n".join(made)


def _estimate(found: Estimate) -> str:
    if found.value is None:
        return "–"
    return f"{found.value:.2f}" + ("" if found.low is None else f" [{found.low:.2f}, {found.high:.2f}]")
