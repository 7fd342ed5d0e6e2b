"""Run every command of docs/sources.md once in an empty workspace with the sample, and print a line for each.

.venv/bin/python scripts/sources.py [--model]
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| ([^|]+) \| (◆ )?`([^`]+)` \| `([^`]+)` \|$", re.MULTILINE)
FIRST = ("pdfqa ingest data/sample/harbour-heat.pdf", "pdfqa synthesize --kind rules --output made.jsonl")


def commands(*, model: bool) -> list[str]:
    """Return the commands of the page, each once; with `model` also those that need a language model."""
    rows = ROW.findall((ROOT / "docs" / "sources.md").read_text("utf-8"))
    return list(dict.fromkeys([*FIRST, *(command for _, needs, command, _ in rows if model or not needs)]))


def main() -> None:
    """Run them; the exit status is 1 if one failed."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("data", "examples", "scripts", "pdfqa_core", "models"):
            (Path(folder) / name).symlink_to(ROOT / name)
        given = os.environ | {"PDFQA_WORKSPACE": f"{folder}/workspace", "PYTHONPATH": str(ROOT)}
        for command in commands(model="--model" in sys.argv):
            program, *rest = shlex.split(command)
            call = [sys.executable, *(["-m", "pdfqa_core"] if program == "pdfqa" else []), *rest]
            done = subprocess.run(call, check=False, cwd=folder, env=given, capture_output=True, text=True)
            failed += done.returncode != 0
            last = (done.stderr.strip().splitlines() or [""])[-1]
            print("ok    " if not done.returncode else "FAILED", command, last if done.returncode else "", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
