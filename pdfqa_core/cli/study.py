"""`pdfqa study`: what the people who rated a study found, as tables, charts and files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pdfqa_core.cli import study_files, study_make, study_measures, study_people, study_roster
from pdfqa_core.cli.agreement import described, described_many
from pdfqa_core.cli.options import add_common, settings_of, workspace_of
from pdfqa_core.cli.study_files import add_study, form_of, give, study_named
from pdfqa_core.exports.human_results import INTERVALS, result_tables
from pdfqa_core.json_codec import plain
from pdfqa_core.metrics.human_results import ResultRow
from pdfqa_core.protocols.study_agreement import CriterionAgreement
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.study_reports import REPORTS

_HELP = {
    "results": "accuracy and HR@k by turn, intent and conversation",
    "agreement": "kappa and its companions, of all annotators and over time",
}


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("study", help="what the raters of a study found", description=__doc__)
    parts = command.add_subparsers(required=True, metavar="WHAT")
    for report, forms in REPORTS.items():
        one = parts.add_parser(report, help=_HELP[report], description=_HELP[report])
        add_study(one)
        one.add_argument("--to", choices=tuple(forms), help="a file of this form (default: text to read)")
        one.add_argument("--output", type=Path, metavar="FILE", help="where to write (default: standard output)")
        add_common(one)
        one.set_defaults(run=run, report=report)
    study_measures.add(parts)
    study_make.add(parts)
    study_files.add(parts)
    study_roster.add(parts)
    study_people.add(parts)


def run(arguments: argparse.Namespace) -> int:
    """Print a report or write it into a file."""
    report, kind = arguments.report, form_of(arguments, REPORTS[arguments.report])
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = study_named(services.studies.list(LOCAL_OWNER), arguments.study)
        if kind:
            data = services.study_reports.file(LOCAL_OWNER, study.id, report, kind, None).data
            return give(arguments, data, kind)
        if report == "results":
            rows = services.study_reports.results(LOCAL_OWNER, study.id, None)
            found, text = [{**plain(row), **plain(row.summary)} for row in rows], results_text(rows)
        else:
            criteria = services.study_reports.agreement(LOCAL_OWNER, study.id, None)
            found, text = plain(criteria), _agreement(criteria)
    print(json.dumps({"study": study.name, report: found}, ensure_ascii=False) if arguments.json else text)
    return 0


def results_text(rows: tuple[ResultRow, ...]) -> str:
    """Return the result tables as text."""
    lines: list[str] = []
    for table in result_tables(rows):
        body = [list(table.head), *table.texts]
        widths = [max(map(len, column)) for column in zip(*body, strict=True)]
        lines.append(table.title)
        lines += ["  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in body]
    return "\n".join([*lines, INTERVALS]) if lines else "Nobody has rated an answer or a passage yet."


def _agreement(found: tuple[CriterionAgreement, ...]) -> str:
    if not found:
        return "Agreement needs two people who have rated."
    parts = []
    for one in found:
        several = len(one.all.annotators) > 2
        parts.append(described_many(one.all) if several else described(one.all.pairs[0]))
        for place, step in enumerate(one.over_time, start=1):
            kappa = "undefined" if step.kappa is None else f"{step.kappa:.4f}"
            parts.append(f"  part {place} of {len(one.over_time)} in the order of rating: n = {step.n}  kappa {kappa}")
    return "\n".join(parts)
