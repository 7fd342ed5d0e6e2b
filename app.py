"""Read the settings, build the services and the page, serve it. The entry point of `make run` and of a Space."""

from __future__ import annotations

from pdfqa_core.cli.serve import serve
from pdfqa_core.settings_sources import read_settings, workspace_path

if __name__ == "__main__":
    workspace = workspace_path()
    serve(workspace, read_settings(workspace))
