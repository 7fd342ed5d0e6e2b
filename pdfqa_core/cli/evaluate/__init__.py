"""`pdfqa evaluate`: measure systems on questions with gold answers."""

from __future__ import annotations

import argparse

from pdfqa_core.cli.evaluate import compare, files, retrieval, run, runs

COMMANDS = (retrieval, files, run, runs, compare)


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command with its parts."""
    command = subparsers.add_parser("evaluate", help="measure systems on questions with gold", description=__doc__)
    protocols = command.add_subparsers(required=True, metavar="PROTOCOL")
    for one in COMMANDS:
        one.add(protocols)
