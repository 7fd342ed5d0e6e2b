"""How fast the page's modules are imported, which is most of what starting the app takes, and what type stubs cost.

Each round begins two fresh processes in turn: one imports the page as the app does, one lets Gradio make its type stubs
first (see pdfqa_core/ui/page_states.py). Printed are the fastest of each and their ratio.

    python benchmarks/start_speed.py [--quick]
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from common import ROOT, options, rounds, row

FORMS = {"as the app does": "import pdfqa_core.ui", "with type stubs": "import gradio, pdfqa_core.ui"}


def main() -> None:
    times = 2 if options(__doc__, quick="two rounds").parse_args().quick else 7
    start = partial(subprocess.run, cwd=ROOT, check=True)
    taken = rounds({name: partial(start, [sys.executable, "-c", code]) for name, code in FORMS.items()}, times)
    for name, seconds in taken.items():
        row(name, f"{min(seconds):.2f} s", f"up to {max(seconds):.2f}")
    ours, stubs = map(min, taken.values())
    print(f"as the app does / with type stubs: {ours / stubs:.2f}")


if __name__ == "__main__":
    main()
