"""`pdfqa evaluate retrieval`: whether systems find the gold pages or spans of questions."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from pdfqa_core.cli import progress
from pdfqa_core.cli.evaluate.shown import add_outputs, interval, versions, write_file, write_files
from pdfqa_core.cli.options import add_common, add_settings, settings_of, workspace_of
from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.ranking import RankingMeasure
from pdfqa_core.metrics.scored import tabulate
from pdfqa_core.protocols.gold import forms, read_gold
from pdfqa_core.protocols.retrieval import MEASURES, Comparison, SystemResult, compare
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.evaluation import RetrievalEvaluation, grid, read_systems
from pdfqa_core.services.evaluation_files import as_csv, as_evaluation, as_json, summary_row, trec_files
from pdfqa_core.types import Progress

_LISTED = 8  # questions of a list of wins or losses


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
    command.add_argument("--baseline", default="", metavar="NAME", help="system that the others are compared with")
    command.add_argument(
        "--measures", default=",".join(MEASURES), metavar="M,N", help=f"(default: {','.join(MEASURES)})"
    )
    command.add_argument("--depth", type=int, default=100, help="passages that are looked at (default: 100)")
    command.add_argument("--document", action="append", default=[], metavar="NAME", help="only in this file")
    command.add_argument("--bootstrap-seed", type=int, default=0, help="seed of the intervals (default: 0)")
    command.add_argument("--csv", type=Path, metavar="FILE", help="write a row per question and measure")
    command.add_argument("--trec", type=Path, metavar="DIR", help="write TREC qrels and a run file per system")
    add_outputs(command, rows=False)
    add_common(command)
    add_settings(command, "extraction", "chunking", "retrieval", "conversation")
    command.set_defaults(run=run_retrieval)


def run_retrieval(arguments: argparse.Namespace) -> int:
    """Evaluate and print a table, the differences to the baseline, and the files that were asked for."""
    measures = [RankingMeasure.parse(name).name for name in arguments.measures.split(",") if name.strip()]
    if arguments.depth < 1 or not measures:
        raise UsageError("--depth and --measures must not be empty.", "Leave them out for the defaults.")
    settings = settings_of(arguments)
    systems = grid(settings, _listed(arguments.chunkers), _listed(arguments.retrievers))
    if arguments.systems:
        systems |= read_systems(arguments.systems, settings)
    baseline = arguments.baseline or next(iter(systems))
    if baseline not in systems:
        raise UsageError(f"There is no system called {baseline!r}.", f"Choose one of: {', '.join(systems)}.")
    file = read_gold(arguments.data)
    with Services.open(workspace_of(arguments), settings) as services:
        if not file.corpus:
            services.documents.require_documents(LOCAL_OWNER)
        scope = services.documents.document_ids(LOCAL_OWNER, arguments.document)
        found: RetrievalEvaluation | None = None
        for event in services.evaluation.evaluate_retrieval(
            LOCAL_OWNER, file, systems, document_ids=scope, depth=arguments.depth
        ):
            if isinstance(event, Progress):
                progress.show(event)
            else:
                found = event
        progress.clear()
        names = {document.id: document.filename for document in services.documents.list(LOCAL_OWNER)}
    assert found is not None
    _write(arguments, found, measures, names)
    seed = arguments.bootstrap_seed
    comparisons = compare(found.systems, baseline, measures, seed=seed)
    if arguments.json:
        compared = [
            {
                "system": one.system,
                "baseline": one.baseline,
                "differences": {
                    name: {**summary_row(value), "p": one.p_values[name]} for name, value in one.differences.items()
                },
                "wins": [list(win) for win in one.wins],
                "losses": [list(loss) for loss in one.losses],
            }
            for one in comparisons
        ]
        data = {"dataset": found.dataset, "systems": as_json(found.systems, measures, seed=seed)}
        print(json.dumps({**data, "comparisons": compared, "notes": found.notes}, ensure_ascii=False))
        return 0
    print(_table(found.systems, measures, seed))
    for one in comparisons:
        print(_compared(one))
    if comparisons:
        print(f"p: paired permutation test, Holm-adjusted for {len(comparisons)} comparisons; [ ]: 95 % bootstrap")
    for note in found.notes:
        print(f"Note: {note}")
    return 0


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _write(
    arguments: argparse.Namespace, found: RetrievalEvaluation, measures: Sequence[str], names: dict[str, str]
) -> None:
    files = (arguments.html, arguments.latex, arguments.figure, arguments.table, arguments.save)
    if any(files):
        scored = as_evaluation(
            found.dataset, found.systems, measures, notes=found.notes, versions=versions(models=True),
            made_at=found.made_at,
        )  # fmt: skip
        table = tabulate(scored, baseline=arguments.baseline, seed=arguments.bootstrap_seed)
        write_files(arguments, scored, table)
    if arguments.csv:
        write_file(arguments.csv, as_csv(found.systems, measures))
    if arguments.trec:
        for name, data in trec_files(found.systems, names).items():
            write_file(arguments.trec / name, data)


def _table(systems: Sequence[SystemResult], measures: Sequence[str], seed: int) -> str:
    lines = []
    for system in systems:
        middle, slow = system.latency
        lines.append(f"{system.name}")
        lines.append(
            f"  {system.passages:,} passages, index {system.index_bytes / 1e6:.1f} MB in {system.build_seconds:.1f} s; "
            f"a search takes {1000 * middle:.1f} ms (95 %: {1000 * slow:.1f} ms)"
        )
        lines += [f"  {name:<8} {interval(system.summary(name, seed=seed))}" for name in measures]
    return "\n".join(lines)


def _compared(one: Comparison) -> str:
    lines = [f"{one.system}  against  {one.baseline}"]
    for name, value in one.differences.items():
        if value.mean is None or value.low is None or value.high is None:
            continue
        p = one.p_values[name]
        p_words = "" if p is None else f"  p = {p:.3f}" if p >= 0.001 else "  p < 0.001"
        lines.append(f"  {name:<8} {value.mean:+.3f}  [{value.low:+.3f}, {value.high:+.3f}]{p_words}")
    for word, changes in (("better", one.wins), ("worse", one.losses)):
        listed = ", ".join(f"{item} ({_rank(before)} → {_rank(rank)})" for item, rank, before in changes[:_LISTED])
        more = f" and {len(changes) - _LISTED} more" if len(changes) > _LISTED else ""
        lines.append(f"  {word} on {len(changes)}: {listed}{more}".rstrip(": "))
    return "\n".join(lines)


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)
