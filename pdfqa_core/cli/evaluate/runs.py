"""`pdfqa evaluate runs`: the runs of the workspace: listed, named, deleted, taken along and brought in."""

from __future__ import annotations

import argparse
from pathlib import Path

from pdfqa_core.cli.options import add_common, settings_of, workspace_of, write_file
from pdfqa_core.cli.terminal import told
from pdfqa_core.errors import UsageError
from pdfqa_core.exports.report import methods_text
from pdfqa_core.json_codec import plain
from pdfqa_core.services import LOCAL_OWNER, Services

ACTIONS = ("list", "export", "import", "methods", "rename", "delete")


def add(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = protocols.add_parser(
        "runs",
        help="list, name, delete runs; take them along",
        description="The runs of the workspace. A run is named by its id or the beginning of it.",
        epilog="export RUN FILE.zip writes a run with its data, answers and scores; import FILE.zip brings it in; "
        "methods RUN prints how it was made, for a paper; rename RUN NAME; delete RUN.",
    )
    command.add_argument("action", choices=ACTIONS, nargs="?", default="list")
    command.add_argument("given", nargs="*", metavar="RUN | FILE | NAME", help="see below")
    add_common(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do it and print what came of it."""
    wanted = {"list": 0, "export": 2, "import": 1, "methods": 1, "rename": 2, "delete": 1}[arguments.action]
    if len(arguments.given) != wanted:
        raise UsageError(f"{arguments.action} takes {wanted} more.", "See: pdfqa evaluate runs --help")
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services:
        said = _done(services, arguments.action, arguments.given)
        listed = services.evaluation.list_runs(LOCAL_OWNER)
    lines = list(said.values())
    if arguments.action == "list":
        lines = [
            f"{one.id[:12]}  {one.created_at:%Y-%m-%d %H:%M}  {one.state:<8} {one.done:>5} of {one.total:<5} {one.name}"
            for one in listed
        ]
        lines.append("" if listed else "There are no runs yet: pdfqa evaluate run --help")
    return told(arguments, {"runs": [plain(one) for one in listed], **said}, *lines)


def _done(services: Services, action: str, given: list[str]) -> dict[str, str]:
    if action == "import":
        path = Path(given[0])
        return {"run": services.evaluation.take_in(LOCAL_OWNER, path, path.name).id}
    if action == "list":
        return {}
    run_id = run_named(services, given[0])
    match action:
        case "export":
            write_file(Path(given[1]), services.evaluation.exported(LOCAL_OWNER, run_id))
            return {"file": given[1]}
        case "methods":
            return {"methods": methods_text(services.evaluation.runs.get(LOCAL_OWNER, run_id))}
        case "rename":
            services.evaluation.runs.rename(LOCAL_OWNER, run_id, given[1])
            return {"name": given[1]}
        case _:
            services.evaluation.remove_run(LOCAL_OWNER, run_id)
            return {"deleted": run_id}


def run_named(services: Services, name: str) -> str:
    """Return the id of the run that is meant. Raises UsageError for none and for several."""
    found = [one.id for one in services.evaluation.list_runs(LOCAL_OWNER) if name and one.id.startswith(name)]
    if len(found) != 1:
        kind = "several runs begin" if found else "no run begins"
        raise UsageError(f"{kind[:1].upper()}{kind[1:]} with {name!r}.", "See: pdfqa evaluate runs list")
    return found[0]
