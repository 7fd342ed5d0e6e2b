"""What the program makes of small files as people have them: PDFs, ratings, gold files. A line each, and the sum.

Each folder of the data has its files and the command lines for them (cmd.txt). They run here in this process, in a
workspace of their own and without a language model. real_inputs.jsonl says what is right: regular expressions that the
output, read as one line, must have (`has`) and must not have (`not`). Nothing of it is taken from what the program
prints. An entry with a `limit` is a limit that the documentation names: whether it holds is not counted.

    python benchmarks/real_inputs.py [NAME…] [--data FOLDER] [--quick]
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import json_lines, options

from pdfqa_core.cli import main as pdfqa

EXPECTED = Path(__file__).with_suffix(".jsonl")
# The shell expands the words of each call and runs all else; the calls themselves are made in this process.
_NOTED = 'pdfqa() { printf "%s\\0" "$@" $\'\\n\' >>"$CALLS"; }\n'


def calls_of(folder: Path, place: Path) -> list[list[str]]:
    """Return the arguments of each call of `pdfqa` in a folder's cmd.txt; new folders of the shell lie in `place`."""
    noted = place / "calls"
    around = {**os.environ, "TMPDIR": str(place), "CALLS": str(noted)}
    script = _NOTED + (folder / "cmd.txt").read_text("utf-8")
    subprocess.run(["bash", "-c", script], check=True, cwd=folder, env=around)
    found: list[list[str]] = [[]]
    for word in noted.read_text("utf-8", "surrogateescape").split("\0")[:-1]:
        if word in ("\n", "pdfqa"):  # one file has two calls on a line
            found.append([])
        else:
            found[-1].append(word)
    return [call for call in found if call]


def output_of(folder: Path) -> str:
    """Return what a folder's calls print, on both streams."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(folder):
        place = Path(name)
        os.environ["PDFQA_WORKSPACE"] = str(place / "workspace")
        written = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        for call in calls_of(folder, place):
            with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
                pdfqa(call)
        written.seek(0)
        return " ".join(written.read().split())


def faults(output: str, expected: dict[str, Any]) -> list[str]:
    """Return what an output lacks and what it must not have."""
    lacks = [f"lacks {one}" for one in expected["has"] if not re.search(one, output)]
    return lacks + [f"has {one}" for one in expected.get("not", ()) if re.search(one, output)]


def main(argv: Sequence[str] | None = None) -> int:
    parser = options(__doc__, quick="those of extraction alone")
    parser.add_argument("names", nargs="*", help="only these folders")
    chosen = parser.parse_args(argv)
    data = chosen.data / "real_inputs"
    if not data.is_dir():
        print(f"{data} is absent: nothing was run. Name the folder of the data with --data.")
        return 0
    began, right, counted = time.monotonic(), 0, 0
    for expected in json_lines(EXPECTED):
        folder = data / expected["name"]
        if (chosen.names and folder.name not in chosen.names) or (chosen.quick and not (folder / "input.pdf").exists()):
            continue
        output = output_of(folder)
        wrong = faults(output, expected)
        limit = expected.get("limit", "")
        right, counted = right + (not wrong and not limit), counted + (not limit)
        state = "wrong" if wrong else "right"
        print(f"{folder.name:<24}{'limit' if limit else state:<8}{limit or '; '.join(wrong)}", flush=True)
        if wrong and not limit:
            print(output)
    print(f"{right} of {counted} right, in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
