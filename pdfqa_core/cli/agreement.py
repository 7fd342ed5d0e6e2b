"""`pdfqa agreement`: raw agreement, Cohen's kappa and its companions from a table of ratings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pdfqa_core.cli.options import add_common, listed, write_file
from pdfqa_core.cli.terminal import told
from pdfqa_core.exports.agreement import agreement_frame, agreement_html
from pdfqa_core.exports.frames import format_of, write_frame
from pdfqa_core.json_codec import plain
from pdfqa_core.library import agreement_of_file
from pdfqa_core.metrics.agreement import CRITERION, WEIGHTS, Agreement, AgreementOfMany


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser(
        "agreement",
        help="Cohen's kappa of two annotators, Krippendorff's alpha of more",
        description=__doc__,
        epilog="Files: columns item, annotator, criterion, value (a row per judgement), or a row per item with a "
        "column per annotator; parted by commas, semicolons or tabs.",
    )
    command.add_argument("file", type=Path, metavar="FILE", help="CSV or TSV")
    command.add_argument(
        "--columns",
        default="",
        metavar="A,B",
        help="the annotators' columns of a table with a row per item (default: the only two)",
    )
    command.add_argument(
        "--item",
        default="",
        metavar="NAME",
        help="column that names the items of such a table (default: item or id where it comes first, else the row)",
    )
    command.add_argument("--criterion", default=CRITERION, help=f"what they judged in it (default: {CRITERION})")
    command.add_argument(
        "--values",
        default="",
        metavar="V,W",
        help="judgements that count (default: all but NA, N/A, NaN, NULL, dashes and empty cells)",
    )
    command.add_argument(
        "--ignore-case", action="store_true", help="Yes and yes are one label (so too with names of annotators)"
    )
    command.add_argument(
        "--annotators", nargs="+", metavar="NAME", default=[], help="those to compare, where more have rated"
    )
    command.add_argument("--weights", choices=WEIGHTS, help="weighted kappa of an ordinal scale")
    command.add_argument(
        "--scale",
        default="",
        metavar="LOW,…,HIGH",
        help="labels of an ordinal scale in order (default: numbers in theirs)",
    )
    command.add_argument("--csv", type=Path, metavar="FILE", help="write a row per statistic")
    command.add_argument("--html", type=Path, metavar="FILE", help="write a report that needs no other file")
    command.add_argument("--seed", type=int, default=0, help="seed of the bootstrap interval (default: 0)")
    add_common(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the agreement for each criterion."""
    found = agreement_of_file(
        arguments.file,
        columns=listed(arguments.columns),
        item=arguments.item,
        criterion=arguments.criterion,
        values=listed(arguments.values),
        ignore_case=arguments.ignore_case,
        annotators=arguments.annotators,
        scale=listed(arguments.scale),
        ordinal=bool(arguments.weights),
        seed=arguments.seed,
    )
    many, pairs, notes = found.many, found.pairs, found.notes
    _write(arguments, pairs, many, notes)
    rows = {one.criterion: _row_of_many(one) for one in many} or {pair.criterion: _row(pair) for pair in pairs}
    texts = [described_many(one, arguments.weights) for one in many] or [
        described(pair, arguments.weights) for pair in pairs
    ]
    return told(arguments, {"criteria": rows, "left_out": found.left_out, "notes": notes}, *texts, *notes)


def described_many(one: AgreementOfMany, weights: str | None = None) -> str:
    """Return the agreement of several annotators as lines for a terminal."""
    alpha = one.alpha
    single = f", {one.unpaired} judged by one only" if one.unpaired else ""
    lines = [
        f"{one.criterion}  ({', '.join(one.annotators)}, n = {alpha.n}{single})",
        f"  Krippendorff's alpha ({alpha.scale})  {_number(alpha.alpha)}{_interval(alpha.low, alpha.high)}",
        f"  mean pairwise kappa  {_number(one.mean_kappa)}  AC1 {_number(one.ac1)}",
    ]
    for pair in one.pairs:
        shown = f"n = {pair.n}  agreement {_number(pair.agreement)}  kappa {_number(pair.kappa)}"
        lines.append(f"    {pair.annotators[0]} and {pair.annotators[1]}  {shown}{_weighted(pair, weights)}")
    return "\n".join([*lines, *([f"  {one.note}"] if one.note else [])])


def described(row: Agreement, weights: str | None = None) -> str:
    """Return the agreement of two annotators as lines for a terminal."""
    lines = [
        f"{row.criterion}  ({row.annotators[0]} and {row.annotators[1]}, n = {row.n})",
        f"  raw agreement  {_number(row.agreement)}{_interval(row.agreement_low, row.agreement_high)}",
        f"  Cohen's kappa  {_number(row.kappa)}{_interval(row.low, row.high)}  {row.words}".rstrip(),
    ]
    for one in row.weighted:
        if weights in (None, one.weights):
            lines.append(f"  kappa, {one.weights} weights  {_number(one.kappa)}{_interval(one.low, one.high)}")
    lines.append(f"  PABAK {_number(row.pabak)}  AC1 {_number(row.ac1)}")
    if row.prevalence_index is not None:
        lines.append(f"  prevalence index {_number(row.prevalence_index)}  bias index {_number(row.bias_index)}")
    lines += _confusion(row)
    if row.note:
        lines.append(f"  {row.note}")
    return "\n".join(lines)


def _confusion(row: Agreement) -> list[str]:
    """Return the confusion matrix; the first annotator's labels are its rows."""
    widths = [
        max(len(label), *(len(str(count)) for count in column), 4)
        for label, column in zip(row.labels, zip(*row.confusion, strict=True), strict=True)
    ]
    if not widths or len(row.labels) > 12:
        return []
    side = max(map(len, (*row.labels, row.annotators[0])))
    head = "  ".join(f"{label:>{width}}" for label, width in zip(row.labels, widths, strict=True))
    lines = [f"  {'':<{side}}  {row.annotators[1]}", f"  {row.annotators[0]:<{side}}  {head}"]
    for label, counts in zip(row.labels, row.confusion, strict=True):
        cells = "  ".join(f"{count:>{width}}" for count, width in zip(counts, widths, strict=True))
        lines.append(f"  {label:<{side}}  {cells}")
    return lines


def _write(
    arguments: argparse.Namespace, pairs: Sequence[Agreement], many: Sequence[AgreementOfMany], notes: Sequence[str]
) -> None:
    """Write the files that were asked for; both are made before the first is written."""
    made = []
    if arguments.csv:
        made.append((arguments.csv, write_frame(agreement_frame(pairs, many), format_of(arguments.csv))))
    if arguments.html:
        page = agreement_html(arguments.file.name, datetime.now(UTC), pairs, many, notes)
        made.append((arguments.html, page))
    for path, data in made:
        write_file(path, data)


def _weighted(pair: Agreement, weights: str | None) -> str:
    found = [f"{one.weights} {_number(one.kappa)}" for one in pair.weighted if weights in (None, one.weights)]
    return f"  weighted: {', '.join(found)}" if found else ""


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None else f"  95 % interval {_number(low)} to {_number(high)}"


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"


def _row(row: Agreement) -> dict[str, Any]:
    data = plain(row)
    del data["criterion"]
    data["weighted"] = {one.pop("weights"): one for one in data["weighted"]}
    return dict(data)


def _row_of_many(one: AgreementOfMany) -> dict[str, Any]:
    """Return alpha and the pairs; what is defined for two annotators only is null, `kappa` is the mean of the pairs."""
    return {
        "n": one.alpha.n,
        **dict.fromkeys(("agreement", "low", "high", "pabak", "ac1")),
        "kappa": one.mean_kappa,
        "alpha": {"value": one.alpha.alpha, "low": one.alpha.low, "high": one.alpha.high, "scale": one.alpha.scale},
        "unpaired": one.unpaired,
        "annotators": list(one.annotators),
        "labels": list(one.labels),
        "pairs": [_row(pair) for pair in one.pairs],
        "note": one.note,
    }
