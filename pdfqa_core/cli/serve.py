"""`pdfqa serve`: open the app in the browser."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from pdfqa_core.cli.options import add_common, add_settings, settings_of, workspace_of
from pdfqa_core.errors import UsageError
from pdfqa_core.settings import Settings


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
    """Build the services and the page, print the address, and serve until interrupted.

    Raises UsageError if the environment asks for a public tunnel: documents would leave this computer.
    """
    if os.environ.get("GRADIO_SHARE", "").lower() in ("1", "true", "yes"):
        raise UsageError("GRADIO_SHARE is set, but documents must not leave this computer.", "Unset it.")
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    from pdfqa_core.services import Services
    from pdfqa_core.ui import build_page, launch

    with Services.open(workspace, settings) as services:
        page = build_page(services)
        address = launch(page, services)
        print(f"PDFQA is open at {address}  (Ctrl-C ends it)", flush=True)
        page.block_thread()
