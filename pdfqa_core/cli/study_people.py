"""`pdfqa study invite`: links and passwords for the people who rate a study, and taking them back."""

from __future__ import annotations

import argparse
import json

from pdfqa_core.cli.options import add_common, settings_of, workspace_of
from pdfqa_core.cli.study_files import study_named
from pdfqa_core.errors import UsageError
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.invitations import entrance
from pdfqa_core.study_types import Role


def add(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the part of the command."""
    command = parts.add_parser(
        "invite", help="invite somebody to rate, by a one-time link or a password",
        epilog="A link or password is printed once and not kept. Without NAME: who is invited.",
    )  # fmt: skip
    command.add_argument("name", nargs="?", default="", metavar="NAME", help="who is invited")
    command.add_argument("--study", default="", metavar="STUDY", help="its name, where there are several")
    command.add_argument("--url", default="", metavar="URL", help="the address of the page, put before the link")
    how = command.add_mutually_exclusive_group()
    how.add_argument("--viewer", action="store_true", help="they look at the results and rate nothing")
    how.add_argument("--renew", action="store_true", help="another link for somebody who is invited already")
    how.add_argument("--password", action="store_true", help="a password for somebody who is invited already")
    how.add_argument("--withdraw", action="store_true", help="take the invitation back")
    add_common(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Invite, renew, withdraw or list."""
    password = ""
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        study = study_named(services.studies.list(LOCAL_OWNER), arguments.study)
        people, where = services.invitations, (LOCAL_OWNER, study.id, arguments.name)
        if not arguments.name:
            if arguments.renew or arguments.password or arguments.withdraw or arguments.viewer:
                raise UsageError("Nobody is named.", "Write the name behind “invite”.")
            return _listed(arguments, [
                {"name": one.name, "role": one.role.value, "link_open": one.open,
                 "came_in": one.used_at.isoformat() if one.used_at else None}
                for one in people.list(LOCAL_OWNER, study.id)
            ])  # fmt: skip
        if arguments.withdraw:
            people.withdraw(*where)
            print(json.dumps({"withdrawn": arguments.name}) if arguments.json else f"withdrawn: {arguments.name}")
            return 0
        if arguments.password:
            password, link = people.make_password(*where), entrance(study.id)
        elif arguments.renew:
            link = people.renew(*where)
        else:
            link = people.invite(*where, Role.VIEWER if arguments.viewer else Role.ANNOTATOR)
    link = f"{arguments.url.rstrip('/')}/{link}"
    if arguments.json:
        print(json.dumps({"name": arguments.name, "link": link, **({"password": password} if password else {})}))
    else:
        print("\n".join([link, *([f"password: {password}"] if password else [])]))
    return 0


def _listed(arguments: argparse.Namespace, people: list[dict[str, object]]) -> int:
    if arguments.json:
        print(json.dumps({"people": people}, ensure_ascii=False))
        return 0
    for one in people:
        state = f"came in {one['came_in']}" if one["came_in"] else "link not used yet"
        print(f"{one['name']} ({one['role']}): {state}")
    if not people:
        print("Nobody is invited yet.")
    return 0
