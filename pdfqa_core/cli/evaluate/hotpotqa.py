"""`pdfqa evaluate hotpotqa`: predictions in the official format, scored by the official rules."""

from __future__ import annotations

import argparse

from pdfqa_core.cli.evaluate.shown import add_inputs, add_outputs, finish
from pdfqa_core.cli.options import add_common
from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.protocols.hotpotqa import MEASURES, Missing, read_predictions, read_questions, score_hotpotqa
from pdfqa_core.services.versions import STATISTICS, versions


def add(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the protocol."""
    command = protocols.add_parser(
        "hotpotqa",
        help="HotpotQA's official measures",
        description="Score answers, supporting facts and both together by HotpotQA's official rules.",
        epilog='Predictions: {"answer": {id: text}, "sp": {id: [[title, sentence number], …]}}; without "sp" only '
        "answers are scored. Gold: the data set's rows.",
    )
    add_inputs(command, gold="rows of HotpotQA")
    command.add_argument(
        "--missing",
        choices=[one.value for one in Missing],
        default=Missing.ERROR.value,
        help="questions without a prediction: an error, 0 as in the official evaluation, or unscored (default: error)",
    )
    add_outputs(command)
    add_common(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Score the files and print the means."""
    if not arguments.data:
        return finish(arguments, None)
    if arguments.gold is None:
        raise UsageError("There are no gold answers.", "Name the data set's file with --gold.")
    gold, used = read_questions(arguments.gold), versions(STATISTICS)
    missing = Missing(arguments.missing)
    systems = tuple(score_hotpotqa(gold, read_predictions(path), missing=missing) for path in arguments.data)
    settings = {"questions without a prediction": missing.value}
    return finish(arguments, Evaluation("hotpotqa", arguments.gold.name, MEASURES, systems, settings, used))
