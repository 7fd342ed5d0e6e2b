"""`pdfqa serve`: open the app in the browser."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from pdfqa_core.cli.options import add_common, add_settings, settings_of, workspace_of
from pdfqa_core.errors import UsageError
from pdfqa_core.settings import ServerSettings, Settings

PASSWORD = "PDFQA_PASSWORD"  # noqa: S105 - the name of the variable; not an option, which others could read in `ps`
TICK = 0.5  # seconds
LONGEST_END = 4.0  # seconds that ending may take before the process ends anyway
_log = logging.getLogger(__name__)


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("serve", help="open the app in the browser", description=__doc__)
    add_common(command)
    add_settings(command, "server", "llm")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    serve(workspace_of(arguments), settings_of(arguments))
    return 0


def serve(workspace: Path, settings: Settings) -> None:
    """Build the services and the page, print the address, and serve until Ctrl-C or SIGTERM.

    Then answers are stopped and stored as far as they are written, and the process ends within 5 seconds.

    Raises UsageError if the environment asks for a public tunnel (documents would leave this computer), if other
    computers could reach the app without a password, or if the port is in use.
    """
    if os.environ.get("GRADIO_SHARE", "").lower() in ("1", "true", "yes"):
        raise UsageError("GRADIO_SHARE is set, but documents must not leave this computer.", "Unset it.")
    password = os.environ.get(PASSWORD, "")
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    gc.disable()  # nothing becomes garbage while modules are loaded; looking for it would take a sixth of that time
    from pdfqa_core.services import Services
    from pdfqa_core.services.tasks import share_pools

    share_pools()  # before the page brings pandas
    from pdfqa_core.ui import build_page, downloads, launch
    from pdfqa_core.ui.gate import SHORTEST
    from pdfqa_core.ui.mcp_tools import PATH as MCP_PATH

    gc.enable()
    gc.freeze()
    if password and len(password) < SHORTEST:
        raise UsageError(f"The password in {PASSWORD} is too short.", f"Take {SHORTEST} characters or more.")
    if not workspace.exists() and not os.environ.get("PDFQA_DATABASE_URL"):
        _check_open(settings.server, password, accounts=False)  # before a workspace is made
    if os.name == "posix":
        os.umask(0o077)  # what is written is this user's alone
    os.environ["GRADIO_TEMP_DIR"] = str(downloads.uploads())
    try:
        with _until_told() as told, Services.open(workspace, settings) as services:
            _check_open(settings.server, password, accounts=services.people.accounts.kept.any())
            page = build_page(services)
            address = launch(page, services, password=password)
            print(f"PDFQA is open at {address}  (Ctrl-C ends it)", flush=True)
            if settings.server.mcp:
                print(f"Assistants (MCP) use {address.rstrip('/')}{MCP_PATH}", flush=True)
            while not told.wait(TICK):  # Windows sees Ctrl-C only between two waits
                pass
            _end_in_time()
            threading.Thread(target=page.close, args=(False,), daemon=True).start()
            services.close()
            _leave()
    finally:
        downloads.remove()


def _check_open(server: ServerSettings, password: str, *, accounts: bool) -> None:
    """Raise UsageError where other computers could reach the app and nothing asks who is there, or two things do."""
    from pdfqa_core.ui.gate import is_this_computer

    if accounts and (password or server.demo):
        raise UsageError(
            f"This workspace has accounts, so {PASSWORD} and --demo would let in whoever has none.",
            "Leave them out, or use another workspace.",
        )
    if server.user_header and not (accounts and server.proxies):
        raise UsageError(
            "A header that names the user is believed only from named proxies, and for people who have an account.",
            "Name the proxies (--proxies), and make accounts with: pdfqa accounts add NAME",
        )
    if is_this_computer(server.host) or server.demo or password or accounts:
        return
    raise UsageError(
        f"Without a password the app is open to this computer only, but it is to listen on {server.host}: "
        "whoever reaches that could read and delete everything.",
        f"Set {PASSWORD} to a password, make accounts (pdfqa accounts add NAME), or use --demo, where every visitor "
        "has a space of their own.",
    )


@contextmanager
def _until_told() -> Iterator[threading.Event]:
    """Give an event that is set by Ctrl-C and SIGTERM, while it starts too; a second ends the process at once."""
    told = threading.Event()

    def tell(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        told.set()

    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, tell) for number in signals]
    try:
        yield told
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def _end_in_time() -> None:
    """End the process after `LONGEST_END` seconds whatever is still going on; what was confirmed is stored."""

    def end() -> None:
        _log.warning("something did not stop within %s seconds; the program ends without it", LONGEST_END)
        _leave()

    watch = threading.Timer(LONGEST_END, end)
    watch.daemon = True
    watch.start()


def _leave() -> NoReturn:
    """End the process now: taking the loaded libraries apart in order would take seconds more."""
    from pdfqa_core.ui import downloads

    downloads.remove()
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)
