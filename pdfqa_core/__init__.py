"""Question PDFs in conversation on one's own computer, and measure how good the answers are.

Read `types.py` first: it holds every value that the parts pass to each other and the protocols they follow.
From Python: `import pdfqa_core as pdfqa`, then `pdfqa.open("folder")`; see `library.py`.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdfqa_core.shipped import SHIPPED

if TYPE_CHECKING:
    from pdfqa_core.library import Workspace

__version__ = "0.3.0"

# How long threads of OpenMP (llama.cpp, torch) spin for each other before they sleep; read when the first of these
# libraries is loaded. On two cores with another busy process the default (300,000 rounds) writes 2 tokens/s where 500
# rounds write 19; on idle ones it writes 83, 500 rounds 77, sleeping at once 40.
os.environ.setdefault("GOMP_SPINCOUNT", "500")


def open(folder: str | Path = "", **settings: Any) -> Workspace:  # noqa: A001
    """Open a workspace for notebooks and scripts, see `library.Workspace`; a missing folder is made."""
    library = import_module("pdfqa_core.library")  # by name: all parts import this package, and it none of them
    opened: Workspace = library.Workspace(folder, **settings)
    return opened


def sample() -> Path:
    """Return the folder of the sample: `harbour-heat.pdf`, and `questions.jsonl` with gold answers."""
    return SHIPPED / "data" / "sample"
