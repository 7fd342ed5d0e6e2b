"""`pdfqa study measures`: which automatic measure says what the people say who rated the same answers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from pdfqa_core.cli.evaluate.shown import reporter
from pdfqa_core.cli.options import add_common, add_settings, settings_of, workspace_of
from pdfqa_core.cli.study_files import add_study, form_of, give, study_named
from pdfqa_core.errors import UsageError, in_file
from pdfqa_core.exports.study_measures import EXPLAINED, HEAD, POWERED, POWERED_HEAD, powered_rows, trust_rows
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.json_codec import plain
from pdfqa_core.models.metrics import remembering, token_embedder
from pdfqa_core.protocols.answer_files import read_rows
from pdfqa_core.protocols.answers import Values, score_by_judge, score_meaning
from pdfqa_core.protocols.study_measures import OWN, StudyMeasures, gold_pairs, read_scores, text_scores
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.study_reports import MEASURE_FORMS
from pdfqa_core.types import Turn


def add(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the part of the command."""
    command = parts.add_parser(
        "measures", help="which automatic measure can be trusted on these answers",
        epilog="Without a file: what the program says of its own answers. With scores of more items than people "
        "judged also the accuracy on all of them (prediction-powered inference).",
    )  # fmt: skip
    add_study(command)
    command.add_argument("--gold", type=Path, metavar="FILE", help='gold answers as JSON or JSONL of {"question", '
                         '"answer"} or {"id", "answer"}, the id being the answer\'s')  # fmt: skip
    command.add_argument("--scores", type=Path, metavar="FILE", help="scores of other measures, CSV with the columns "
                         "item, measure, value and, if you like, conversation")  # fmt: skip
    command.add_argument("--bertscore", action="store_true", help="with --gold: BERTScore too")
    command.add_argument("--judge", action="store_true", help="with --gold: LLM accuracy too")
    command.add_argument("--to", choices=tuple(MEASURE_FORMS), help="a file of this form (default: text to read)")
    command.add_argument("--output", type=Path, metavar="FILE", help="where to write (default: standard output)")
    add_common(command)
    add_settings(command, "llm")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what the measures are worth, or write it into a file."""
    if (arguments.bertscore or arguments.judge) and arguments.gold is None:
        raise UsageError("--bertscore and --judge compare with gold answers.", "Name their file with --gold.")
    kind = form_of(arguments, MEASURE_FORMS)
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = study_named(services.studies.list(LOCAL_OWNER), arguments.study)
        scores, talks = _scores(arguments.scores) if arguments.scores else ({}, {})
        if arguments.gold:
            turns = services.study_reports.answers(LOCAL_OWNER, study.id, None)
            scores |= _against_gold(arguments, services, turns)
        found = services.study_reports.measures(LOCAL_OWNER, study.id, None, scores, talks)
        if kind:
            return give(arguments, services.study_reports.measures_file(LOCAL_OWNER, study.id, found, kind).data, kind)
    print(json.dumps({"study": study.name, **plain(found)}, ensure_ascii=False) if arguments.json else _text(found))
    return 0


def _scores(path: Path) -> tuple[dict[str, dict[str, float | None]], dict[str, str]]:
    with in_file(path.name):
        return read_scores(read_file(path))


def _against_gold(
    arguments: argparse.Namespace, services: Services, turns: Sequence[Turn]
) -> dict[str, dict[str, float | None]]:
    pairs = gold_pairs(turns, read_rows(arguments.gold, several=True))
    more: list[Sequence[Values]] = []
    if arguments.bertscore:
        more.append(score_meaning(pairs, token_embedder(""), on_done=reporter("BERTScore"))[0])
    if arguments.judge:
        llm = remembering(services.models.language.llm(), workspace_of(arguments), settings_of(arguments).llm)
        more.append(score_by_judge(pairs, llm, on_done=reporter("judge")))
    return text_scores(pairs, more)


def _text(found: StudyMeasures) -> str:
    lines = _columns([list(HEAD), *trust_rows(found.trust, OWN)])
    lines += [f"{one.measure}: {one.note}" for one in found.trust if one.note]
    lines.append(EXPLAINED)
    if found.powered:
        lines += ["", *_columns([list(POWERED_HEAD), *powered_rows(found.powered, OWN)]), POWERED]
    return "\n".join(lines)


def _columns(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
