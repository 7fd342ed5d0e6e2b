"""`pdfqa study`: what the people who rated a study found, as tables, charts and files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pdfqa_core.cli.agreement import described, described_many
from pdfqa_core.cli.evaluate.shown import reporter
from pdfqa_core.cli.options import add_common, add_settings, settings_of, workspace_of, write_file
from pdfqa_core.cli.terminal import told
from pdfqa_core.errors import PdfQAError, UsageError, in_file
from pdfqa_core.exports.agreement import EXPLAINED, HEAD, trust_rows
from pdfqa_core.exports.frames import FORMATS
from pdfqa_core.exports.studies import INTERVALS, result_tables
from pdfqa_core.extraction.process.outside import begins, read_file
from pdfqa_core.json_codec import plain
from pdfqa_core.metrics.against_people import Trust
from pdfqa_core.metrics.agreement import AgreementOfMany
from pdfqa_core.metrics.human_results import ResultRow
from pdfqa_core.models.metrics import remembering, token_embedder
from pdfqa_core.protocols.answers import read_rows, score_meaning
from pdfqa_core.protocols.base import Values
from pdfqa_core.protocols.conversations import Plan, Roster, step_words
from pdfqa_core.protocols.judging import score_by_judge
from pdfqa_core.protocols.rating_tables import ANSWER_FIELDS, FIELDS, Columns
from pdfqa_core.protocols.study_definition import PRESETS
from pdfqa_core.protocols.study_items import STRATA, Source
from pdfqa_core.protocols.study_measures import (
    OWN,
    gold_pairs,
    read_scores,
    text_scores,
)
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.accounts import entrance
from pdfqa_core.services.evaluation import Overlap, first_questions
from pdfqa_core.services.study_reports import REPORTS
from pdfqa_core.study_types import Role, Study
from pdfqa_core.types import Turn

# ----------------------------------------------------------------------------------------------------
# `pdfqa study export`, `import` and `add-ratings`: studies that come and go, and ratings made in a spreadsheet.

_BINARY = ("parquet", "png", "svg", "pdf")


def add_files(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the three parts of the command."""
    export = parts.add_parser("export", help="a study as a ZIP for another workspace")
    add_study(export)
    export.add_argument("--output", type=Path, metavar="FILE", required=True, help="where to write the ZIP")
    add_common(export)
    export.set_defaults(run=run_export)

    bring = parts.add_parser(
        "import",
        help="a study from a ZIP, or of judged answers in a table",
        epilog="Tables: a row per answer with the columns question, answer and, if you like, conversation; people's "
        "judgements stand in columns called “answer: Ada”, or in those that --annotators names. Or a row per judgement "
        "with annotator, criterion and value too, as “pdfqa export ratings” writes them (CSV, JSON lines, Parquet).",
    )
    bring.add_argument("file", type=Path, metavar="FILE", help="ZIP, CSV, TSV, JSONL or Parquet")
    bring.add_argument("--name", default="", help="what to call the study (default: as in the ZIP, or as the file)")
    _add_columns(bring, (*ANSWER_FIELDS, *FIELDS))
    add_common(bring)
    bring.set_defaults(run=run_import)

    rated = parts.add_parser(
        "add-ratings",
        help="ratings from a spreadsheet into a study, all or none",
        epilog="Tables: columns item, annotator, criterion, value (as “pdfqa export ratings” writes them), or a row "
        "per item with columns called “answer: Ada”.",
    )
    rated.add_argument("file", type=Path, metavar="FILE", help="CSV or TSV")
    add_study(rated)
    _add_columns(rated, FIELDS)
    rated.add_argument("--annotator", default="", metavar="NAME", help="who gave them, where no column says")
    rated.add_argument(
        "--sign-in",
        action="append",
        default=[],
        metavar="NAME",
        help="sign somebody in with their ratings (repeatable)",
    )
    add_common(rated)
    rated.set_defaults(run=run_add)


def _add_columns(command: argparse.ArgumentParser, fields: tuple[str, ...]) -> None:
    command.add_argument(
        "--columns",
        default="",
        metavar="FIELD=NAME,…",
        help=f"what columns are called: {', '.join(fields)} (default: just so)",
    )
    command.add_argument(
        "--annotators", default="", metavar="A,B", help="columns that hold one annotator's values each"
    )
    command.add_argument(
        "--criterion",
        default="",
        metavar="NAME",
        help="what was judged, where no column says (with --annotators: answer)",
    )
    command.add_argument(
        "--values", default="", metavar="WORD=VALUE,…", help="what words in the cells mean: Yes=1,No=0"
    )


def add_study(command: argparse.ArgumentParser) -> None:
    """Add the name of the study."""
    command.add_argument("study", nargs="?", default="", metavar="STUDY", help="its name, where there are several")


def study_named(studies: tuple[Study, ...], name: str) -> Study:
    """Return the study of this name or id; of a single one the name can be left out. Raises UsageError."""
    chosen = [study for study in studies if not name or name in (study.name, study.id)]
    if len(chosen) == 1:
        return chosen[0]
    known = ", ".join(study.name for study in studies) or "none"
    raise UsageError(
        f"There is no study {name!r}." if name else "It is not clear which study is meant.", f"Studies: {known}."
    )


def form_of(arguments: argparse.Namespace, forms: Mapping[str, str]) -> str:
    """Return the form that is asked for, by name or by the end of --output; empty where text is. Raises UsageError."""
    if arguments.to or not arguments.output:
        return str(arguments.to or "")
    ending = arguments.output.suffix.lower().removeprefix(".")
    found = next((kind for kind, suffix in forms.items() if suffix == ending), "")
    if not found:
        raise UsageError(f"{arguments.output.name} does not say which form it has.", f"Add --to {'|'.join(forms)}.")
    return found


def give(arguments: argparse.Namespace, data: bytes, kind: str) -> int:
    """Write a file where it is wanted, else on standard output. Raises UsageError for one that no terminal shows."""
    if arguments.output:
        write_file(arguments.output, data)
        return told(arguments, {"file": str(arguments.output)}, f"written: {arguments.output}")
    if kind in _BINARY:
        raise UsageError(f"A {kind} file is not shown on a terminal.", "Name a file with --output.")
    if arguments.json:
        return told(arguments, {"content": data.decode("utf-8-sig")})
    sys.stdout.buffer.write(data)
    return 0


def run_export(arguments: argparse.Namespace) -> int:
    """Write a study into a ZIP."""
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = study_named(services.studies.list(LOCAL_OWNER), arguments.study)
        file = services.studies.files.file(LOCAL_OWNER, study.id, None)
    write_file(arguments.output, file.data)
    found = {"file": str(arguments.output), "ratings": file.rows}
    return told(arguments, found, f"{file.rows} ratings in {arguments.output}")


def run_import(arguments: argparse.Namespace) -> int:
    """Bring a study in."""
    path: Path = arguments.file
    packed = begins(path, b"PK")
    notes: list[str] = []
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        if packed:
            study = services.studies.files.take_in(LOCAL_OWNER, path, path.name, arguments.name)
        else:
            name, data = arguments.name or path.stem, read_file(path)
            with in_file(path.name):
                columns = _columns(arguments, (*ANSWER_FIELDS, *FIELDS))
                study = services.studies.files.of_table(LOCAL_OWNER, data, name, columns, notes)
        ratings = len(services.studies.rated(LOCAL_OWNER, study.id).ratings)
    words = f"{study.name}: {len(study.turn_ids)} answers, {ratings} ratings"
    found: dict[str, object] = {"study": study.name, "answers": len(study.turn_ids), "ratings": ratings}
    return told(arguments, found | ({"notes": notes} if notes else {}), words, *notes)


def run_add(arguments: argparse.Namespace) -> int:
    """Save a table's ratings in a study."""
    data, columns = read_file(arguments.file), _columns(arguments, FIELDS)
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = study_named(services.studies.list(LOCAL_OWNER), arguments.study)
        with in_file(arguments.file.name):
            count = services.studies.files.add_ratings(LOCAL_OWNER, study.id, data, columns, arguments.sign_in)
    return told(arguments, {"study": study.name, "ratings": count}, f"{count} ratings saved in {study.name}")


def _columns(arguments: argparse.Namespace, fields: tuple[str, ...]) -> Columns:
    names = _pairs(arguments.columns, "--columns")
    unknown = next((name for name in names if name not in fields), "")
    if unknown:
        raise UsageError(f"--columns: {unknown!r} is no field.", f"Fields: {', '.join(fields)}.")
    annotators = tuple(name.strip() for name in arguments.annotators.split(",") if name.strip())
    return Columns(
        names,
        annotators,
        getattr(arguments, "annotator", ""),
        arguments.criterion,
        _pairs(arguments.values, "--values"),
    )


def _pairs(text: str, option: str) -> dict[str, str]:
    """Return {"item": "ID", "value": "Rating"} of "item=ID,value=Rating". Raises UsageError."""
    found = {}
    for part in filter(str.strip, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(f"{option}: {part!r} is not NAME=VALUE.", "Write a list like a=b,c=d.")
        found[name.strip()] = value.strip()
    return found


# ----------------------------------------------------------------------------------------------------
# `pdfqa study make`: a study of generated answers beside gold answers, or of a table.


def add_make(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the part of the command."""
    words = "a study of generated answers beside gold answers"
    command = parts.add_parser(
        "make",
        help=words,
        description=words,
        epilog='Generated answers: a JSON list of {"id", "answer"}, or what “pdfqa evaluate run --json” prints.',
    )
    command.add_argument("name", metavar="NAME", help="what to call it")
    command.add_argument(
        "--predictions",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="generated answers, a file for each system (repeatable)",
    )
    command.add_argument("--gold", type=Path, metavar="FILE", help="questions with gold answers and their places")
    command.add_argument("--table", type=Path, metavar="FILE", help="a CSV with question and answer instead of both")
    command.add_argument("--preset", choices=tuple(PRESETS), default="answers", help="what is asked (default: answers)")
    command.add_argument("--n", type=int, default=100, help="how many items are drawn, 0: all (default: 100)")
    command.add_argument("--seed", type=int, default=0, help="seed of the draw (default: 0)")
    command.add_argument("--by", choices=tuple(filter(None, STRATA)), default="", help="draw from each in proportion")
    command.add_argument("--annotators", default="", metavar="A,B", help="who rates (default: anybody who signs in)")
    add_common(command)
    command.set_defaults(run=run_make)


def run_make(arguments: argparse.Namespace) -> int:
    """Make the study."""
    source = Source(
        tuple(arguments.predictions), arguments.gold, arguments.table, arguments.n, arguments.seed, arguments.by
    )
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = services.studies.of_files(LOCAL_OWNER, arguments.name, source, arguments.preset, arguments.annotators)
        names = services.studies.names(LOCAL_OWNER, study.id)
    count = len(study.turn_ids)
    words = f"{study.name}: {count} item{'s' if count > 1 else ''} for {', '.join(names) or 'anybody'}"
    return told(arguments, {"study": study.name, "items": count, "annotators": names}, words)


# ----------------------------------------------------------------------------------------------------
# `pdfqa study measures`: which automatic measure says what the people say who rated the same answers.


def add_measures(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the part of the command."""
    command = parts.add_parser(
        "measures",
        help="which automatic measure can be trusted on these answers",
        epilog="Without a file: what the program says of its own answers.",
    )
    add_study(command)
    command.add_argument(
        "--gold",
        type=Path,
        metavar="FILE",
        help='gold answers as JSON or JSONL of {"question", "answer"} or {"id", "answer"}, the id being the answer\'s',
    )
    command.add_argument(
        "--scores",
        type=Path,
        metavar="FILE",
        help="scores of other measures, CSV with the columns item, measure and value",
    )
    command.add_argument("--bertscore", action="store_true", help="with --gold: BERTScore too")
    command.add_argument("--judge", action="store_true", help="with --gold: LLM accuracy too")
    command.add_argument("--to", choices=tuple(FORMATS), help="a file of this form (default: text to read)")
    command.add_argument("--output", type=Path, metavar="FILE", help="where to write (default: standard output)")
    add_common(command)
    add_settings(command, "llm")
    command.set_defaults(run=run_measures)


def run_measures(arguments: argparse.Namespace) -> int:
    """Print what the measures are worth, or write it into a file."""
    if (arguments.bertscore or arguments.judge) and arguments.gold is None:
        raise UsageError("--bertscore and --judge compare with gold answers.", "Name their file with --gold.")
    kind = form_of(arguments, FORMATS)
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = study_named(services.studies.list(LOCAL_OWNER), arguments.study)
        scores: dict[str, dict[str, float | None]] = {}
        if arguments.scores:
            with in_file(arguments.scores.name):
                scores = read_scores(read_file(arguments.scores))
        if arguments.gold:
            turns = services.studies.reports.answers(LOCAL_OWNER, study.id, None)
            scores |= _against_gold(arguments, services, turns)
        found = services.studies.reports.measures(LOCAL_OWNER, study.id, None, scores)
        if kind:
            return give(
                arguments, services.studies.reports.measures_file(LOCAL_OWNER, study.id, found, kind).data, kind
            )
    return told(arguments, {"study": study.name, "trust": plain(found)}, _text(found))


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


def _text(trust: Sequence[Trust]) -> str:
    rows = [list(HEAD), *trust_rows(trust, OWN)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([*lines, *(f"{one.measure}: {one.note}" for one in trust if one.note), EXPLAINED])


# ----------------------------------------------------------------------------------------------------
# `pdfqa study invite`: links and passwords for the people who rate a study, and taking them back.


def add_people(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the part of the command."""
    command = parts.add_parser(
        "invite",
        help="invite somebody to rate, by a one-time link or a password",
        epilog="A link or password is printed once and not kept. Without NAME: who is invited.",
    )
    command.add_argument("name", nargs="?", default="", metavar="NAME", help="who is invited")
    command.add_argument("--study", default="", metavar="STUDY", help="its name, where there are several")
    command.add_argument("--url", default="", metavar="URL", help="the address of the page, put before the link")
    how = command.add_mutually_exclusive_group()
    how.add_argument("--viewer", action="store_true", help="they look at the results and rate nothing")
    how.add_argument("--renew", action="store_true", help="another link for somebody who is invited already")
    how.add_argument("--password", action="store_true", help="a password for somebody who is invited already")
    how.add_argument("--withdraw", action="store_true", help="take the invitation back")
    add_common(command)
    command.set_defaults(run=run_people)


def run_people(arguments: argparse.Namespace) -> int:
    """Invite, renew, withdraw or list."""
    password = ""
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = study_named(services.studies.list(LOCAL_OWNER), arguments.study)
        people, where = services.people.invitations, (LOCAL_OWNER, study.id, arguments.name)
        if not arguments.name:
            if arguments.renew or arguments.password or arguments.withdraw or arguments.viewer:
                raise UsageError("Nobody is named.", "Write the name behind “invite”.")
            return _listed(
                arguments,
                [
                    {
                        "name": one.name,
                        "role": one.role.value,
                        "link_open": one.open,
                        "came_in": one.used_at.isoformat() if one.used_at else None,
                    }
                    for one in people.list(LOCAL_OWNER, study.id)
                ],
            )
        if arguments.withdraw:
            people.withdraw(*where)
            return told(arguments, {"withdrawn": arguments.name}, f"withdrawn: {arguments.name}")
        if arguments.password:
            password, link = people.make_password(*where), entrance(study.id)
        elif arguments.renew:
            link = people.renew(*where)
        else:
            link = people.invite(*where, Role.VIEWER if arguments.viewer else Role.ANNOTATOR)
    link = f"{arguments.url.rstrip('/')}/{link}"
    found = {"name": arguments.name, "link": link, **({"password": password} if password else {})}
    return told(arguments, found, link, *([f"password: {password}"] if password else []))


def _listed(arguments: argparse.Namespace, people: list[dict[str, object]]) -> int:
    lines = []
    for one in people:
        state = f"came in {one['came_in']}" if one["came_in"] else "link not used yet"
        lines.append(f"{one['name']} ({one['role']}): {state}")
    return told(arguments, {"people": people}, *(lines or ["Nobody is invited yet."]))


# ----------------------------------------------------------------------------------------------------
# `pdfqa study roster`, `begin`: MaHuEval as a guided protocol, who has held and rated what, and what remains.


def add_roster(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the parts of the command."""
    plan = Plan(())
    begin = parts.add_parser("begin", help="begin MaHuEval: two evaluators hold conversations and rate them")
    begin.add_argument("name", metavar="NAME", help="what to call the study")
    begin.add_argument("--evaluators", required=True, metavar="A,B", help="the names of the two")
    begin.add_argument("--questions", type=Path, metavar="FILE", help="first questions, one a line (UTF-8)")
    begin.add_argument(
        "--document", action="append", default=[], metavar="NAME", help="only about this file (repeatable)"
    )
    for name, words in (
        ("conversations", "each holds in a round"),
        ("least", "turns a conversation has at least"),
        ("most", "turns it has at most"),
    ):
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
            tuple(arguments.evaluators.split(",")),
            arguments.conversations,
            arguments.least,
            arguments.most,
            questions,
            services.documents.document_ids(LOCAL_OWNER, arguments.document),
        )
        study = services.evaluation.mahueval.begin(LOCAL_OWNER, arguments.name, plan)
    return told(arguments, {"study": study.name}, f"{study.name}: begin on the Annotate tab.")


def run_roster(arguments: argparse.Namespace) -> int:
    """Print the roster, and the agreement over what overlaps so far once everybody has finished."""
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = study_named(services.studies.list(LOCAL_OWNER), arguments.study)
        roster = services.evaluation.mahueval.roster(LOCAL_OWNER, study.id)
        if roster is None:
            raise UsageError(f"“{study.name}” follows no protocol.", "Begin one: pdfqa study begin.")
        try:
            overlap = services.evaluation.mahueval.overlap(LOCAL_OWNER, study.id, None) if roster.pairs() else None
        except PdfQAError:
            overlap = None
    rows = [
        {
            "annotator": one.annotator,
            "round": one.round,
            "conversation": one.place,
            "turns": len(one.turns),
            "rated": one.rated,
            "finished": one.finished,
            "first_question": one.first_question,
        }
        for one in roster.held
    ]
    found = (
        None
        if overlap is None
        else {
            "pairs": overlap.pairs,
            "turns": overlap.counts.turns,
            "turns_left_out": overlap.counts.left_out,
            "passages": overlap.counts.passages,
            "passages_left_out": overlap.counts.passages_left_out,
            "all_turns": plain(overlap.all),
            "first_turns": plain(overlap.first),
        }
    )
    left = {name: roster.left(name) for name in roster.plan.evaluators}
    lines = [*roster_lines(roster), *(["", *overlap_lines(overlap)] if overlap else [])]
    return told(arguments, {"study": study.name, "held": rows, "left": left, "overlap": found}, *lines)


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


# ----------------------------------------------------------------------------------------------------
# `pdfqa study`: what the people who rated a study found, as tables, charts and files.

_HELP = {
    "results": "accuracy and HR@k by turn, intent and conversation",
    "agreement": "kappa and its companions, of all annotators",
}


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser(
        "study", help="make studies, invite raters, show what they found", description=__doc__
    )
    parts = command.add_subparsers(required=True, metavar="WHAT")
    for report, forms in REPORTS.items():
        one = parts.add_parser(report, help=_HELP[report], description=_HELP[report])
        add_study(one)
        one.add_argument("--to", choices=tuple(forms), help="a file of this form (default: text to read)")
        one.add_argument("--output", type=Path, metavar="FILE", help="where to write (default: standard output)")
        add_common(one)
        one.set_defaults(run=run, report=report)
    add_measures(parts)
    add_make(parts)
    add_files(parts)
    add_roster(parts)
    add_people(parts)


def run(arguments: argparse.Namespace) -> int:
    """Print a report or write it into a file."""
    report, kind = arguments.report, form_of(arguments, REPORTS[arguments.report])
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = study_named(services.studies.list(LOCAL_OWNER), arguments.study)
        if kind:
            data = services.studies.reports.file(LOCAL_OWNER, study.id, report, kind, None).data
            return give(arguments, data, kind)
        if report == "results":
            rows = services.studies.reports.results(LOCAL_OWNER, study.id, None)
            found, text = [{**plain(row), **plain(row.summary)} for row in rows], results_text(rows)
        else:
            criteria = services.studies.reports.agreement(LOCAL_OWNER, study.id, None)
            found, text = [{"all": plain(one)} for one in criteria], _agreement(criteria)
    return told(arguments, {"study": study.name, report: found}, text)


def results_text(rows: tuple[ResultRow, ...]) -> str:
    """Return the result tables as text."""
    lines: list[str] = []
    for table in result_tables(rows):
        body = [list(table.head), *table.texts]
        widths = [max(map(len, column)) for column in zip(*body, strict=True)]
        lines.append(table.title)
        lines += ["  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in body]
    return "\n".join([*lines, INTERVALS]) if lines else "Nobody has rated an answer or a passage yet."


def _agreement(found: tuple[AgreementOfMany, ...]) -> str:
    if not found:
        return "Agreement needs two people who have rated."
    parts = []
    for one in found:
        several = len(one.annotators) > 2
        parts.append(described_many(one) if several else described(one.pairs[0]))
    return "\n".join(parts)
