"""Agreement of annotators as a table, for a paper (LaTeX), and as one HTML file that needs no other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.figure import figure_file, ink, new_figure
from pdfqa_core.exports.frames import COUNT, NUMBER, TEXT, frame, latex_escape, latex_table
from pdfqa_core.exports.table import html_page, measure_of
from pdfqa_core.metrics.against_people import Estimate, Trust
from pdfqa_core.metrics.agreement import Agreement, AgreementOfMany

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame


# ----------------------------------------------------------------------------------------------------
# The agreement of two annotators as a figure: who said what.

LARGEST_MATRIX = 12  # labels of a confusion matrix that is shown
_DARK = 0.55  # share of a row from which on its count is written in white


def agreement_figure(dataset: str, pairs: Sequence[Agreement], kind: str) -> bytes:
    """Return a confusion matrix for each pair and criterion; `kind` is png, svg or pdf.

    Raises UsageError for another kind, or where no item is shared.
    """
    matrices = [pair for pair in pairs if pair.n and len(pair.labels) <= LARGEST_MATRIX]
    if not matrices:
        raise UsageError(f"“{dataset}” has no item that two people rated.", "Rate some first.")
    columns = min(3, len(matrices))
    rows = -(-len(matrices) // columns)

    def draw() -> Figure:
        made = new_figure(4.4 * columns, 3.9 * rows)
        for place, pair in enumerate(matrices, start=1):
            _confusion(made.add_subplot(rows, columns, place), pair)
        made.suptitle(dataset, x=0.01, ha="left", fontsize=12, fontweight="bold")
        return made

    return figure_file(kind, "agreement", draw)


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


# ----------------------------------------------------------------------------------------------------
# What automatic measures are worth beside people: as a table of numbers and as LaTeX.

MEASURE_COLUMNS = {
    "measure": TEXT, "statistic": TEXT, "value": NUMBER, "low": NUMBER, "high": NUMBER, "n": COUNT, "unscored": COUNT,
}  # fmt: skip
STATISTICS = ("spearman", "kendall", "auroc", "kappa")
HEAD = ("Measure", "n", "Spearman", "Kendall", "AUROC", "Kappa", "Threshold")
EXPLAINED = (
    "AUROC: the chance that an answer people call correct has the higher score (0.5: worthless). Kappa: at a threshold "
    "chosen on other conversations than it is tried on. 95 % bootstrap intervals over conversations."
)


def measures_frame(trust: Sequence[Trust]) -> DataFrame:
    """Return a row per measure and statistic; what is undefined is a gap."""
    rows: list[tuple[str | float | None, ...]] = []
    for one in trust:
        for name in STATISTICS:
            found: Estimate = getattr(one, name)
            rows.append((one.measure, name, found.value, found.low, found.high, one.n, one.unscored))
        rows.append((one.measure, "threshold", one.threshold, None, None, one.n, one.unscored))
    return frame(MEASURE_COLUMNS, rows)


def name_of(measure: str, own: dict[str, str]) -> str:
    """Return what a measure is called in tables."""
    return own.get(measure) or measure_of(measure).pretty_name


def trust_rows(trust: Sequence[Trust], own: dict[str, str]) -> list[list[str]]:
    """Return the table as it is printed, a cell for each of HEAD."""
    return [
        [
            name_of(one.measure, own),
            str(one.n),
            *(_estimate(getattr(one, name)) for name in STATISTICS),
            "–" if one.threshold is None else f"{one.threshold:.2f}",
        ]
        for one in trust
    ]


def measures_latex(study: str, trust: Sequence[Trust], own: dict[str, str]) -> bytes:
    """Return a booktabs table with short heads."""
    import pandas as pd

    return latex_table(
        pd.DataFrame(
            [[latex_escape(cell) for cell in row] for row in trust_rows(trust, own)],
            columns=["$n$" if name == "n" else name for name in HEAD],
        ),
        caption=latex_escape(f"{study}: measures against people. {EXPLAINED}"),
        label="tab:study-trust",
        columns="lr" + "c" * (len(HEAD) - 2),
    )


def _estimate(found: Estimate) -> str:
    if found.value is None:
        return "–"
    return f"{found.value:.2f}" + ("" if found.low is None else f" [{found.low:.2f}, {found.high:.2f}]")


# ----------------------------------------------------------------------------------------------------
# Agreement of annotators as a table, for a paper (LaTeX), and as one HTML file that needs no other.

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
    dataset: str,
    when: datetime,
    pairs: Sequence[Agreement],
    many: Sequence[AgreementOfMany] = (),
    notes: Sequence[str] = (),
) -> bytes:
    """Return the report as a UTF-8 HTML file: tables with intervals, and the confusion matrix of each pair."""
    return html_page(
        "agreement",
        dataset=dataset,
        when=f"{when:%Y-%m-%d %H:%M} {when.tzname() or ''}".strip(),
        pairs=pairs,
        many=many,
        matrices=[(one.criterion, kappa_matrix(one)) for one in many if len(one.annotators) > 2],
        notes=[*notes, *(one.note for one in many if one.note)],
    )


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
            pair.criterion,
            " and ".join(pair.annotators),
            str(pair.n),
            _with_interval(pair.agreement, pair.agreement_low, pair.agreement_high),
            _with_interval(pair.kappa, pair.low, pair.high),
            *map(shown, (pair.pabak, pair.ac1, pair.prevalence_index, pair.bias_index)),
        ]
        for pair in pairs
    ]


def _all_rows(many: Sequence[AgreementOfMany]) -> list[list[str]]:
    return [
        [
            one.criterion,
            ", ".join(one.annotators),
            str(one.alpha.n),
            _with_interval(one.alpha.alpha, one.alpha.low, one.alpha.high),
            shown(one.mean_kappa),
            shown(one.ac1),
        ]
        for one in many
    ]


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
                label=f"tab:study-{label}",
                columns="llr" + "c" * (len(head) - 3),
            )
        )
    return b"\n".join(made)
