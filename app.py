"""Read the settings, build the services and the page, serve it. The entry point of `make run` and of a Space."""

from __future__ import annotations

import sys

from pdfqa_core.cli import main

if __name__ == "__main__":
    sys.exit(main(["serve"]))
