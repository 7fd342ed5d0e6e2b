"""`pdfqa tokens`: what lets programs use the server (API, MCP, metrics); each has a token of its own."""

from __future__ import annotations

import argparse

from pdfqa_core.cli.options import add_common, settings_of, workspace_of
from pdfqa_core.cli.terminal import told
from pdfqa_core.services import Services


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the commands."""
    command = subparsers.add_parser("tokens", help="let programs use the server", description=__doc__)
    actions = command.add_subparsers(required=True, metavar="ACTION")
    adding = actions.add_parser("add", help="make a token", description="Make a token, which is shown once.")
    adding.add_argument("name", metavar="NAME", help="what uses it")
    adding.set_defaults(run=run_add)
    listing = actions.add_parser(
        "list", help="list the tokens", description="List the tokens by name, never themselves."
    )
    listing.set_defaults(run=run_list)
    removing = actions.add_parser("remove", help="remove a token", description="Remove a token; it works no more.")
    removing.add_argument("name", metavar="NAME")
    removing.set_defaults(run=run_remove)
    for one in (adding, listing, removing):
        add_common(one)


def run_add(arguments: argparse.Namespace) -> int:
    """Make a token and print it."""
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        token = services.people.tokens.add(arguments.name)
    said = f"It is not shown again. Send it as a header: Authorization: Bearer {token[:10]}…"
    return told(arguments, {"name": arguments.name, "token": token}, token, said)


def run_list(arguments: argparse.Namespace) -> int:
    """Print the name of each token, when it was made and when it was used last."""
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        known = services.people.tokens.kept.list()
    rows = [
        {
            "name": one.name,
            "created_at": one.created_at.isoformat(timespec="seconds"),
            "used_at": one.used_at.isoformat(timespec="seconds") if one.used_at else None,
        }
        for one in known
    ]
    lines = [f"{row['name']}: made {row['created_at']}, last used {row['used_at'] or 'never'}" for row in rows]
    return told(arguments, {"tokens": rows}, *(lines or ["There are no tokens. Make one with: pdfqa tokens add NAME"]))


def run_remove(arguments: argparse.Namespace) -> int:
    """Remove a token."""
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        services.people.tokens.kept.remove(arguments.name)
    return told(arguments, {"removed": arguments.name}, f"Removed the token {arguments.name}.")
