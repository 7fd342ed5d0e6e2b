"""The command line: one module per command, each with `add(subparsers)` and `run(arguments)`.

With --json a command prints one JSON object on standard output; progress and logs go to standard error.
Exit status: 0 done, 1 the task failed, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from pdfqa_core import __version__
from pdfqa_core.cli import accounts as accounts_command
from pdfqa_core.cli import agreement as agreement_command
from pdfqa_core.cli import (
    ask,
    chat,
    cite,
    collections,
    evaluate,
    extract,
    ingest,
    search,
    serve,
    synthesize,
    terminal,
    tokens,
    train,
)
from pdfqa_core.cli import doctor as doctor_command
from pdfqa_core.cli import export as export_command
from pdfqa_core.cli import models as models_command
from pdfqa_core.cli import overview as overview_command
from pdfqa_core.cli import study as study_command
from pdfqa_core.cli.options import private_files, workspace_of
from pdfqa_core.errors import PdfQAError, StoppedError, UsageError
from pdfqa_core.whole_files import in_words

COMMANDS = (
    serve, ingest, collections, extract, overview_command, cite, search, ask, chat, models_command, evaluate,
    agreement_command, study_command, synthesize, train, export_command, accounts_command, tokens, doctor_command,
)  # fmt: skip


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would print and exit, so that --json gets its object for wrong options too.

    Options are written out: a part of a name, such as --visitor for --visitor-mb, is none.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        """Raise the message."""
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", f"See: {self.prog} --help")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    top = Parser(
        prog="pdfqa",
        description="Question PDFs in conversation, with evidence, and measure how good the answers are.",
        epilog="Exit status: 0 done, 1 the task failed, 2 wrong usage.",
    )
    top.add_argument("--version", action="version", version=f"pdfqa {__version__}")
    subparsers = top.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(subparsers)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    _print_anything()
    given = sys.argv[1:] if argv is None else list(argv)
    terminal.begin()
    try:
        arguments = parser().parse_args(given)
        with private_files(workspace_of(arguments)):
            return int(arguments.run(arguments))
    except PdfQAError as error:
        _report(error, as_json="--json" in given)
        return 2 if isinstance(error, UsageError) else 1
    except BrokenPipeError:  # who read the output has enough of it: `pdfqa … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        _report(StoppedError(), as_json="--json" in given)
        return 1
    except Exception as error:
        told = in_words(error)
        if not isinstance(told, PdfQAError):
            raise
        _report(told, as_json="--json" in given)
        return 1


def _print_anything() -> None:
    """Let any character be printed. Windows gives pipes an old code page; elsewhere what is missing becomes "?"."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8" if os.name == "nt" else None, errors="replace")


def _report(error: PdfQAError, *, as_json: bool) -> None:
    terminal.clear()
    if as_json:
        print(json.dumps({"error": {"what": error.what, "hint": error.hint}}, ensure_ascii=False))
    else:
        print(f"pdfqa: {error.what}\n       {error.hint}".rstrip(), file=sys.stderr)
