"""`pdfqa agreement`: raw agreement, Cohen's kappa and its companions from a table of ratings."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pdfqa_core.cli.files import write_file
from pdfqa_core.cli.options import add_common
from pdfqa_core.errors import UsageError
from pdfqa_core.exports.agreement import agreement_frame, agreement_html
from pdfqa_core.exports.frames import format_of, write_frame
from pdfqa_core.metrics.agreement import Agreement, Judgement, agreement_by_criterion
from pdfqa_core.metrics.long_format import CRITERION, read_ratings
from pdfqa_core.metrics.many_annotators import AgreementOfMany, agreement_of_many
from pdfqa_core.protocols.json_rows import read_file

WEIGHTS = ("linear", "quadratic")


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
    command.add_argument("--columns", default="", metavar="A,B", help="the annotators' columns of a table with a row "
                         "per item (default: the only two)")  # fmt: skip
    command.add_argument("--item", default="", metavar="NAME", help="column that names the items of such a table "
                         "(default: item or id where it comes first, else the row)")  # fmt: skip
    command.add_argument("--criterion", default=CRITERION, help=f"what they judged in it (default: {CRITERION})")
    command.add_argument("--values", default="", metavar="V,W", help="judgements that count (default: all)")
    command.add_argument(
        "--annotators", nargs="+", metavar="NAME", default=[], help="those to compare, where more have rated"
    )
    command.add_argument("--weights", choices=WEIGHTS, help="weighted kappa of an ordinal scale")
    command.add_argument("--scale", default="", metavar="LOW,…,HIGH", help="labels of an ordinal scale in order "
                         "(default: numbers in theirs)")  # fmt: skip
    command.add_argument("--csv", type=Path, metavar="FILE", help="write a row per statistic")
    command.add_argument("--html", type=Path, metavar="FILE", help="write a report that needs no other file")
    command.add_argument("--seed", type=int, default=0, help="seed of the bootstrap interval (default: 0)")
    add_common(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the agreement for each criterion."""
    found = read_ratings(
        read_file(arguments.file), columns=_listed(arguments.columns), item=arguments.item,
        criterion=arguments.criterion, values=_listed(arguments.values),
    )  # fmt: skip
    names = arguments.annotators or list(dict.fromkeys(one.annotator for one in found.judgements))
    if len(set(names)) < len(names):
        raise UsageError("An annotator is named twice.", "Name different ones.")
    left_out = found.left_out
    if len(names) > 2:
        return _many(arguments, found.judgements, names, left_out)
    results = _pair(arguments, found.judgements)
    _write(arguments, results, (), left_out)
    if arguments.json:
        rows = {row.criterion: _row(row) for row in results}
        print(json.dumps({"criteria": rows, "left_out": left_out}, ensure_ascii=False))
        return 0
    for row in results:
        print(_described(row, arguments.weights))
    _print_left_out(left_out)
    return 0


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _ordinal(arguments: argparse.Namespace) -> bool:
    return bool(arguments.weights or arguments.scale)


def _pair(arguments: argparse.Namespace, judgements: Sequence[Judgement]) -> tuple[Agreement, ...]:
    named = arguments.annotators
    if named and len(named) != 2:
        raise UsageError("Agreement is between two annotators or more.", "Name at least two.")
    if not _ordinal(arguments):
        return agreement_by_criterion(judgements, tuple(named) if named else None, seed=arguments.seed)
    many = _of_many(arguments, judgements, named)
    return tuple(pair for one in many for pair in one.pairs)


def _of_many(
    arguments: argparse.Namespace, judgements: Sequence[Judgement], names: Sequence[str]
) -> tuple[AgreementOfMany, ...]:
    scale = _listed(arguments.scale)
    criteria = dict.fromkeys(one.criterion for one in judgements)
    return agreement_of_many(
        judgements, names, scale="ordinal" if _ordinal(arguments) else "nominal",
        scales=dict.fromkeys(criteria, scale) if scale else None, seed=arguments.seed,
    )  # fmt: skip


def _many(arguments: argparse.Namespace, judgements: Sequence[Judgement], names: Sequence[str], left_out: int) -> int:
    results = _of_many(arguments, judgements, names)
    _write(arguments, [pair for one in results for pair in one.pairs], results, left_out)
    if arguments.json:
        rows = {one.criterion: _row_of_many(one) for one in results}
        print(json.dumps({"criteria": rows, "left_out": left_out}, ensure_ascii=False))
        return 0
    for one in results:
        alpha = one.alpha
        single = f", {one.unpaired} judged by one only" if one.unpaired else ""
        print(f"{one.criterion}  ({', '.join(one.annotators)}, n = {alpha.n}{single})")
        print(f"  Krippendorff's alpha ({alpha.scale})  {_number(alpha.alpha)}{_interval(alpha.low, alpha.high)}")
        print(f"  mean pairwise kappa  {_number(one.mean_kappa)}")
        for pair in one.pairs:
            shown = f"n = {pair.n}  agreement {_number(pair.agreement)}  kappa {_number(pair.kappa)}"
            print(f"    {pair.annotators[0]} and {pair.annotators[1]}  {shown}{_weighted(pair, arguments.weights)}")
        if one.note:
            print(f"  {one.note}")
    _print_left_out(left_out)
    return 0


def _described(row: Agreement, weights: str | None) -> str:
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
    widths = [max(len(label), *(len(str(count)) for count in column), 4)
              for label, column in zip(row.labels, zip(*row.confusion, strict=True), strict=True)]  # fmt: skip
    if not widths or len(row.labels) > 12:
        return []
    side = max(map(len, (*row.labels, row.annotators[0])))
    head = "  ".join(f"{label:>{width}}" for label, width in zip(row.labels, widths, strict=True))
    lines = [f"  {'':<{side}}  {row.annotators[1]}", f"  {row.annotators[0]:<{side}}  {head}"]
    for label, counts in zip(row.labels, row.confusion, strict=True):
        cells = "  ".join(f"{count:>{width}}" for count, width in zip(counts, widths, strict=True))
        lines.append(f"  {label:<{side}}  {cells}")
    return lines


def _print_left_out(count: int) -> None:
    for note in _left_out(count):
        print(note)


def _left_out(count: int) -> list[str]:
    return [f"Left out: {count} cells that are empty or hold another value."] if count else []


def _write(
    arguments: argparse.Namespace, pairs: Sequence[Agreement], many: Sequence[AgreementOfMany], left_out: int
) -> None:
    """Write the files that were asked for; both are made before the first is written."""
    made = []
    if arguments.csv:
        made.append((arguments.csv, write_frame(agreement_frame(pairs, many), format_of(arguments.csv))))
    if arguments.html:
        page = agreement_html(arguments.file.name, datetime.now(UTC), pairs, many, _left_out(left_out))
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
    return {
        "n": row.n,
        "agreement": row.agreement,
        "agreement_low": row.agreement_low,
        "agreement_high": row.agreement_high,
        "kappa": row.kappa,
        "low": row.low,
        "high": row.high,
        "pabak": row.pabak,
        "ac1": row.ac1,
        "prevalence_index": row.prevalence_index,
        "bias_index": row.bias_index,
        "weighted": {one.weights: {"kappa": one.kappa, "low": one.low, "high": one.high} for one in row.weighted},
        "labels": list(row.labels),
        "confusion": [list(counts) for counts in row.confusion],
        "annotators": list(row.annotators),
        "words": row.words,
        "note": row.note,
    }


def _row_of_many(one: AgreementOfMany) -> dict[str, Any]:
    """Return alpha and the pairs; what is defined for two annotators only is null, `kappa` is the mean of the pairs."""
    return {
        "n": one.alpha.n,
        "agreement": None,
        "kappa": one.mean_kappa,
        "low": None,
        "high": None,
        "pabak": None,
        "ac1": None,
        "alpha": {"value": one.alpha.alpha, "low": one.alpha.low, "high": one.alpha.high, "scale": one.alpha.scale},
        "unpaired": one.unpaired,
        "annotators": list(one.annotators),
        "labels": list(one.labels),
        "pairs": [_row(pair) for pair in one.pairs],
        "note": one.note,
    }
