"""`pdfqa accounts`: who may sign in to a server that a group shares, and as what."""

from __future__ import annotations

import argparse
import getpass
import sys

from pdfqa_core.cli.options import add_common, settings_of, workspace_of
from pdfqa_core.cli.terminal import told
from pdfqa_core.errors import UsageError
from pdfqa_core.services import Services
from pdfqa_core.services.accounts import AccountRole

ROLES = (
    "owner: everything; member: everything but the server's models; annotator: rates where invited; viewer: looks on"
)


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser(
        "accounts",
        help="who may sign in to a server for a group",
        description=__doc__,
        epilog="With one account or more, whoever opens the page has to sign in. A password is asked for on the "
        "terminal, or read as the first line of the standard input.",
    )
    parts = command.add_subparsers(required=True, metavar="WHAT", dest="what")
    roles = [role.value for role in AccountRole]
    made = parts.add_parser("add", help="make an account")
    made.add_argument("--role", choices=roles, default=AccountRole.MEMBER.value, help=f"{ROLES} (default: member)")
    changed = parts.add_parser("role", help="give somebody another role")
    changed.add_argument("--role", choices=roles, required=True, help=ROLES)
    invited = parts.add_parser(
        "invite",
        help="print a link by which somebody chooses a password themselves",
        description="Print a link that works once, for 7 days. It makes the account; where there is one already, it "
        "gives it another password.",
    )
    invited.add_argument("--role", choices=roles, default=AccountRole.MEMBER.value, help=f"{ROLES} (default: member)")
    invited.add_argument(
        "--address", default="", metavar="URL", help="what the server is reached at, https://docs.example.org"
    )
    renewed = parts.add_parser("password", help="give somebody another password; they are signed out")
    removed = parts.add_parser("remove", help="remove an account or an invitation; what they made stays")
    for part in (made, changed, invited, renewed, removed):
        part.add_argument("name", metavar="NAME")
    for part in (made, changed, invited, renewed, removed, parts.add_parser("list", help="list the accounts")):
        add_common(part)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Change or list the accounts."""
    what = arguments.what
    link = ""
    password = _asked(arguments.name) if what in ("add", "password") else ""
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        people = services.people.accounts
        match what:
            case "add":
                people.add(arguments.name, AccountRole(arguments.role), password)
            case "role":
                people.set_role(arguments.name, AccountRole(arguments.role))
            case "invite":
                invitation, path = people.invite(arguments.name, AccountRole(arguments.role))
                link = f"{arguments.address.rstrip('/')}{path}"
            case "password":
                people.set_password(arguments.name, password)
            case "remove":
                people.remove(arguments.name)
        rows = [{"name": one.name, "role": one.role.value} for one in people.list()]
        waiting = [
            {"name": one.name, "role": one.role.value, "until": one.ends_at.isoformat(timespec="minutes")}
            for one in people.invitations()
        ]
    found: dict[str, object] = {"accounts": rows, "invitations": waiting}
    if link:
        until = f"{invitation.ends_at:%Y-%m-%d %H:%M} UTC"
        behind = "" if arguments.address else "  (behind the address of your server)"
        lines = [f"Give this link to {invitation.name}; it works once, until {until}:", f"{link}{behind}"]
        return told(arguments, found | {"link": link}, *lines)
    lines = [f"{row['name']} ({row['role']})" for row in rows]
    lines += [f"{row['name']} ({row['role']}), invited until {row['until']}" for row in waiting]
    none = "There are no accounts: whoever uses this computer uses the program without signing in."
    return told(arguments, found, *lines, *([] if rows else [none]))


def _asked(name: str) -> str:
    """Return a password from the terminal (twice the same) or the standard input. Raises UsageError."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    first = getpass.getpass(f"Password for {name}: ")
    if getpass.getpass("Once more: ") != first:
        raise UsageError("These were two different passwords.", "Try again.")
    return first
