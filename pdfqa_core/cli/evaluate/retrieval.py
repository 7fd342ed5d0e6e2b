"""`pdfqa evaluate retrieval`: whether systems find the gold pages or spans of questions."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from pdfqa_core.cli import terminal
from pdfqa_core.cli.evaluate.shown import add_outputs, add_profile, add_trained_on, finish
from pdfqa_core.cli.options import add_common, add_settings, listed, settings_of, workspace_of, write_file
from pdfqa_core.errors import UsageError
from pdfqa_core.exports.evaluation_files import trec_files
from pdfqa_core.metrics.ranking import RankingMeasure
from pdfqa_core.protocols.base import profile_named
from pdfqa_core.protocols.gold import forms, read_gold
from pdfqa_core.protocols.retrieval import MATCHES, MEASURES
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.systems import grid, read_systems


def add(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the protocol."""
    command = protocols.add_parser(
        "retrieval",
        help="do systems find the gold pages?",
        description="Search every question with every system and score the ranks of the gold pages or spans.",
        epilog=f"{forms()}.",
    )
    command.add_argument("--data", type=Path, required=True, metavar="FILE", help="questions with gold, or BEIR folder")
    command.add_argument("--chunkers", default="", metavar="A,B", help="chunkers of the grid (default: the recipe's)")
    command.add_argument(
        "--retrievers", default="", metavar="A,B", help="retrievers of the grid (default: the recipe's)"
    )
    command.add_argument("--systems", type=Path, metavar="FILE.toml", help="more systems: [name.retrieval] settings …")
    command.add_argument(
        "--measures", default=",".join(MEASURES), metavar="M,N", help=f"(default: {','.join(MEASURES)})"
    )
    command.add_argument(
        "--depth", type=int, help="passages that are looked at, 0: all (default: 100, with --profile seed all)"
    )
    command.add_argument(
        "--gold-match",
        choices=tuple(MATCHES),
        default="",
        help=f"which passages count as right: {'; '.join(f'{name}: {words}' for name, words in MATCHES.items())} "
        "(default: overlap, with --profile seed exact)",
    )
    add_profile(command)
    add_trained_on(command)
    command.add_argument("--document", action="append", default=[], metavar="NAME", help="only in this file")
    command.add_argument("--trec", type=Path, metavar="DIR", help="write TREC qrels and a run file per system")
    add_outputs(command)
    add_common(command)
    add_settings(command, "extraction", "chunking", "retrieval", "conversation")
    command.set_defaults(run=run_retrieval)


def run_retrieval(arguments: argparse.Namespace) -> int:
    """Evaluate and print a table, the differences to the baseline, and the files that were asked for."""
    measures = [RankingMeasure.parse(name).name for name in arguments.measures.split(",") if name.strip()]
    if (arguments.depth or 0) < 0 or not measures:
        raise UsageError("--depth is below 0, or --measures is empty.", "Leave them out for the defaults.")
    settings = profile_named(arguments.profile).set_in(settings_of(arguments))
    systems = grid(settings, listed(arguments.chunkers), listed(arguments.retrievers))
    if arguments.systems:
        systems |= read_systems(arguments.systems, settings)
    if arguments.baseline and arguments.baseline not in systems and not arguments.load:
        raise UsageError(f"There is no system called {arguments.baseline!r}.", f"Choose one of: {', '.join(systems)}.")
    file = read_gold(arguments.data)
    with Services.open(workspace_of(arguments), settings) as services:
        if not file.corpus:
            services.documents.require_documents(LOCAL_OWNER)
        scope = services.documents.document_ids(LOCAL_OWNER, arguments.document)
        events = services.evaluation.evaluate_retrieval(
            LOCAL_OWNER,
            file,
            systems,
            measures=measures,
            document_ids=scope,
            depth=arguments.depth,
            trained_on=arguments.trained_on,
            gold_match=arguments.gold_match,
            profile=arguments.profile,
        )
        found = replace(terminal.last(events), measures=tuple(measures))
        if arguments.trec:
            names = services.documents.filenames(LOCAL_OWNER)
            rankings = services.evaluation.kept.rankings(LOCAL_OWNER, found.id)
            for name, data in trec_files(rankings, [one.name for one in found.systems], names).items():
                write_file(arguments.trec / name, data)
    return finish(arguments, found)
