"""Read the settings, build the services and the page, serve it. The entry point of `make run` and of a Space.

Options are those of `pdfqa serve`: `python app.py --help` names them.
"""

from __future__ import annotations

import sys

from pdfqa_core.cli import main

if __name__ == "__main__":
    sys.exit(main(["serve", *sys.argv[1:]]))
