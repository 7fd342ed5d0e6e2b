"""`pdfqa study roster`, `begin`: MaHuEval as a guided protocol, who has held and rated what, and what remains."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pdfqa_core.cli.agreement import described
from pdfqa_core.cli.options import add_common, settings_of, workspace_of
from pdfqa_core.cli.study_files import add_study, study_named
from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.json_codec import plain
from pdfqa_core.protocols.mahueval import Plan, Roster, step_words
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.mahueval import Overlap, first_questions


def add(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the parts of the command."""
    plan = Plan(())
    begin = parts.add_parser("begin", help="begin MaHuEval: two evaluators hold conversations and rate them")
    begin.add_argument("name", metavar="NAME", help="what to call the study")
    begin.add_argument("--evaluators", required=True, metavar="A,B", help="the names of the two")
    begin.add_argument("--questions", type=Path, metavar="FILE", help="first questions, one a line (UTF-8)")
    begin.add_argument("--document", action="append", default=[], metavar="NAME", help="only about this file "
                       "(repeatable)")  # fmt: skip
    for name, words in (("conversations", "each holds in a round"), ("least", "turns a conversation has at least"),
                        ("most", "turns it has at most")):  # fmt: skip
        default = getattr(plan, name)
        begin.add_argument(f"--{name}", type=int, default=default, help=f"{words} (default: {default})")
    add_common(begin)
    begin.set_defaults(run=run_begin)

    roster = parts.add_parser("roster", help="what each evaluator has held and rated, and what remains")
    add_study(roster)
    add_common(roster)
    roster.set_defaults(run=run_roster)


def run_begin(arguments: argparse.Namespace) -> int:
    """Make the study."""
    questions: tuple[str, ...] = ()
    if arguments.questions:
        try:
            questions = first_questions(read_file(arguments.questions).decode("utf-8-sig").splitlines())
        except UnicodeDecodeError as error:
            raise UsageError(f"{arguments.questions.name} is not UTF-8.", "Save it as UTF-8 text.") from error
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        plan = Plan(
            tuple(arguments.evaluators.split(",")), arguments.conversations, arguments.least, arguments.most, questions,
            services.documents.document_ids(LOCAL_OWNER, arguments.document),
        )  # fmt: skip
        study = services.mahueval.begin(LOCAL_OWNER, arguments.name, plan)
    print(json.dumps({"study": study.name}) if arguments.json else f"{study.name}: begin on the Annotate tab.")
    return 0


def run_roster(arguments: argparse.Namespace) -> int:
    """Print the roster, and the agreement over what overlaps so far once everybody has finished."""
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = study_named(services.studies.list(LOCAL_OWNER), arguments.study)
        roster = services.mahueval.roster(LOCAL_OWNER, study.id)
        if roster is None:
            raise UsageError(f"“{study.name}” follows no protocol.", "Begin one: pdfqa study begin.")
        try:
            overlap = services.mahueval.overlap(LOCAL_OWNER, study.id, None) if roster.pairs() else None
        except PdfQAError:
            overlap = None
    if arguments.json:
        rows = [
            {"annotator": one.annotator, "round": one.round, "conversation": one.place, "turns": len(one.turns),
             "rated": one.rated, "finished": one.finished, "first_question": one.first_question}
            for one in roster.held
        ]  # fmt: skip
        found = None if overlap is None else {
            "pairs": overlap.pairs, "turns": overlap.counts.turns, "turns_left_out": overlap.counts.left_out,
            "passages": overlap.counts.passages, "passages_left_out": overlap.counts.passages_left_out,
            "all_turns": plain(overlap.all), "first_turns": plain(overlap.first),
        }  # fmt: skip
        left = {name: roster.left(name) for name in roster.plan.evaluators}
        print(json.dumps({"study": study.name, "held": rows, "left": left, "overlap": found}, ensure_ascii=False))
        return 0
    print("\n".join([*roster_lines(roster), *(["", *overlap_lines(overlap)] if overlap else [])]))
    return 0


def roster_lines(roster: Roster) -> list[str]:
    """Return what each evaluator has done and does next, a line each."""
    plan = roster.plan
    lines = [f"{2 * plan.conversations} conversations each, {plan.least} to {plan.most} turns"]
    for name in plan.evaluators:
        own = roster.of(name)
        for number in (1, 2):
            held = [one for one in own if one.round == number and one.finished]
            turns, rated = sum(len(one.turns) for one in held), sum(one.rated for one in held)
            lines.append(
                f"{name}, round {number}: {len(held)} of {plan.conversations} conversations, {rated} of {turns} turns "
                "rated"
            )
        lines.append(f"  {step_words(roster.step(name), plan)}")
    lines.append(f"{len(roster.pairs())} of {2 * plan.conversations} pairs of conversations are complete")
    return lines


def overlap_lines(overlap: Overlap) -> list[str]:
    """Return the agreement over the pairs of conversations."""
    counts = overlap.counts
    paired = (
        f"{overlap.pairs} pairs of conversations: {counts.turns} pairs of turns by number, {counts.left_out} turns "
        f"without a counterpart left out; {counts.passages} passages found by both, {counts.passages_left_out} by one "
        "only left out"
    )
    return [
        paired,
        "All turns (after the first they may be worded otherwise):",
        *(f"  {line}" for one in overlap.all for line in described(one).splitlines()),
        "First turns alone:",
        *(f"  {line}" for one in overlap.first for line in described(one).splitlines()),
    ]
