"""`pdfqa evaluate compare`: stored runs beside each other, with everything that `evaluate run` prints and writes."""

from __future__ import annotations

import argparse

from pdfqa_core.cli.evaluate.runs import run_named
from pdfqa_core.cli.evaluate.shown import add_outputs, finish, groups_of, means_of
from pdfqa_core.cli.options import add_common, settings_of, workspace_of
from pdfqa_core.exports.runs import with_answers
from pdfqa_core.services import LOCAL_OWNER, Services


def add(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = protocols.add_parser(
        "compare",
        help="put stored runs beside each other",
        description="Compare the systems of stored runs on the same questions, also by turn and type. A run is named "
        "by its id or the beginning of it (pdfqa evaluate runs).",
    )
    command.add_argument("runs", nargs="+", metavar="RUN", help="a stored run; its systems are named “run: system”")
    add_outputs(command)
    add_common(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare them and print the table."""
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        ids = list(dict.fromkeys(run_named(services, name) for name in arguments.runs))
        evaluation = services.evaluation.together(LOCAL_OWNER, ids)
        predictions = services.evaluation.predicted(LOCAL_OWNER, ids)
    groups = groups_of(evaluation, arguments.baseline)
    return finish(
        arguments,
        evaluation,
        said=list(means_of(evaluation, groups).values()),
        more=lambda results: with_answers(results, " ".join(ids), predictions, groups),
    )
