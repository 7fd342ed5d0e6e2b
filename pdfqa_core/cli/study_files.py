"""`pdfqa study export`, `import` and `add-ratings`: studies that come and go, and ratings made in a spreadsheet."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from pdfqa_core.cli.files import write_file
from pdfqa_core.cli.options import add_common, settings_of, workspace_of
from pdfqa_core.errors import UsageError, in_file
from pdfqa_core.extraction.process.outside import begins, read_file
from pdfqa_core.protocols.rating_tables import ANSWER_FIELDS, FIELDS, Columns
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.study_types import Study

_BINARY = ("parquet", "png", "svg", "pdf")


def add(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the three parts of the command."""
    export = parts.add_parser("export", help="a study as a ZIP for another workspace")
    add_study(export)
    export.add_argument("--output", type=Path, metavar="FILE", required=True, help="where to write the ZIP")
    add_common(export)
    export.set_defaults(run=run_export)

    bring = parts.add_parser(
        "import", help="a study from a ZIP, or of judged answers in a table",
        epilog="Tables: a row per answer with the columns question, answer and, if you like, conversation; people's "
        "judgements stand in columns called “answer: Ada”, or in those that --annotators names.",
    )  # fmt: skip
    bring.add_argument("file", type=Path, metavar="FILE", help="ZIP, CSV or TSV")
    bring.add_argument("--name", default="", help="what to call the study (default: as in the ZIP, or as the file)")
    _add_columns(bring, ANSWER_FIELDS)
    add_common(bring)
    bring.set_defaults(run=run_import)

    rated = parts.add_parser(
        "add-ratings", help="ratings from a spreadsheet into a study, all or none",
        epilog="Tables: columns item, annotator, criterion, value (as “pdfqa export ratings” writes them), or a row "
        "per item with columns called “answer: Ada”.",
    )  # fmt: skip
    rated.add_argument("file", type=Path, metavar="FILE", help="CSV or TSV")
    add_study(rated)
    _add_columns(rated, FIELDS)
    rated.add_argument("--annotator", default="", metavar="NAME", help="who gave them, where no column says")
    rated.add_argument("--sign-in", action="append", default=[], metavar="NAME", help="sign somebody in with "
                       "their ratings (repeatable)")  # fmt: skip
    add_common(rated)
    rated.set_defaults(run=run_add)


def _add_columns(command: argparse.ArgumentParser, fields: tuple[str, ...]) -> None:
    command.add_argument("--columns", default="", metavar="FIELD=NAME,…", help="what columns are called: "
                         f"{', '.join(fields)} (default: just so)")  # fmt: skip
    command.add_argument(
        "--annotators", default="", metavar="A,B", help="columns that hold one annotator's values each"
    )
    command.add_argument("--criterion", default="", metavar="NAME", help="what was judged, where no column says "
                         "(with --annotators: answer)")  # fmt: skip
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
        print(json.dumps({"file": str(arguments.output)}) if arguments.json else f"written: {arguments.output}")
    elif kind in _BINARY:
        raise UsageError(f"A {kind} file is not shown on a terminal.", "Name a file with --output.")
    elif arguments.json:
        print(json.dumps({"content": data.decode("utf-8-sig")}, ensure_ascii=False))
    else:
        sys.stdout.buffer.write(data)
    return 0


def run_export(arguments: argparse.Namespace) -> int:
    """Write a study into a ZIP."""
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = study_named(services.studies.list(LOCAL_OWNER), arguments.study)
        file = services.study_files.file(LOCAL_OWNER, study.id, None)
    write_file(arguments.output, file.data)
    _told(
        arguments, {"file": str(arguments.output), "ratings": file.rows}, f"{file.rows} ratings in {arguments.output}"
    )
    return 0


def run_import(arguments: argparse.Namespace) -> int:
    """Bring a study in."""
    path: Path = arguments.file
    packed = begins(path, b"PK")
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        if packed:
            study = services.study_files.take_in(LOCAL_OWNER, path, path.name, arguments.name)
        else:
            name, data = arguments.name or path.stem, read_file(path)
            with in_file(path.name):
                study = services.study_files.of_table(LOCAL_OWNER, data, name, _columns(arguments, ANSWER_FIELDS))
        ratings = len(services.studies.rated(LOCAL_OWNER, study.id).ratings)
    words = f"{study.name}: {len(study.turn_ids)} answers, {ratings} ratings"
    _told(arguments, {"study": study.name, "answers": len(study.turn_ids), "ratings": ratings}, words)
    return 0


def run_add(arguments: argparse.Namespace) -> int:
    """Save a table's ratings in a study."""
    data, columns = read_file(arguments.file), _columns(arguments, FIELDS)
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = study_named(services.studies.list(LOCAL_OWNER), arguments.study)
        with in_file(arguments.file.name):
            count = services.study_files.add_ratings(LOCAL_OWNER, study.id, data, columns, arguments.sign_in)
    _told(arguments, {"study": study.name, "ratings": count}, f"{count} ratings saved in {study.name}")
    return 0


def _columns(arguments: argparse.Namespace, fields: tuple[str, ...]) -> Columns:
    names = _pairs(arguments.columns, "--columns")
    unknown = next((name for name in names if name not in fields), "")
    if unknown:
        raise UsageError(f"--columns: {unknown!r} is no field.", f"Fields: {', '.join(fields)}.")
    annotators = tuple(name.strip() for name in arguments.annotators.split(",") if name.strip())
    return Columns(
        names, annotators, getattr(arguments, "annotator", ""), arguments.criterion,
        _pairs(arguments.values, "--values"),
    )  # fmt: skip


def _pairs(text: str, option: str) -> dict[str, str]:
    """Return {"item": "ID", "value": "Rating"} of "item=ID,value=Rating". Raises UsageError."""
    found = {}
    for part in filter(str.strip, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(f"{option}: {part!r} is not NAME=VALUE.", "Write a list like a=b,c=d.")
        found[name.strip()] = value.strip()
    return found


def _told(arguments: argparse.Namespace, data: dict[str, object], words: str) -> None:
    print(json.dumps(data, ensure_ascii=False) if arguments.json else words)
