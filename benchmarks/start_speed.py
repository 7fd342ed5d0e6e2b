"""How fast the page's modules are imported, which is most of what starting the app takes, and what type stubs cost.

Each round begins two fresh processes in turn: one imports the page as the app does, one lets Gradio make its type stubs
first (see pdfqa_core/ui/page_states.py). Printed are the fastest of each and their ratio.

    python benchmarks/start_speed.py [--rounds 7]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORMS = {"as the app does": "import pdfqa_core.ui", "with type stubs": "import gradio, pdfqa_core.ui"}


def seconds(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    for code in FORMS.values():  # files into the system's memory
        seconds(code)
    taken = {name: [] for name in FORMS}
    for _ in range(rounds):
        for name, code in FORMS.items():
            taken[name].append(seconds(code))
    for name, measured in taken.items():
        print(f"{name:16} {min(measured):.2f} s ({rounds} rounds: up to {max(measured):.2f})")
    ours, stubs = (min(taken[name]) for name in FORMS)
    print(f"as the app does / with type stubs: {ours / stubs:.2f}")


if __name__ == "__main__":
    main()
