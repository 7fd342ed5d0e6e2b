"""`python -m pdfqa_core` and the console script `pdfqa`."""

from __future__ import annotations

import sys

from pdfqa_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
