"""`pdfqa evaluate`: measure systems on questions with gold answers. One module per protocol."""

from __future__ import annotations

import argparse

from pdfqa_core.cli.evaluate import answers, asqa, compare, entailment, hotpotqa, retrieval, run, runs

PROTOCOLS = (retrieval, answers, asqa, hotpotqa, entailment, run, runs, compare)


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command with its protocols."""
    command = subparsers.add_parser("evaluate", help="measure systems on questions with gold", description=__doc__)
    protocols = command.add_subparsers(required=True, metavar="PROTOCOL")
    for protocol in PROTOCOLS:
        protocol.add(protocols)
