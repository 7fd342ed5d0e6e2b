"""In which state each of the hostile PDFs ends when the program reads them, and how many a plain library reads.

The program adds the files to a workspace as the page does, several side by side. The baseline reads each file in a
child process of its own with the same time limit; a file counts as read if a page has a letter or digit. The memory,
open files, child processes and temporary files of the program are counted before and afterwards.

    python benchmarks/hostile_states.py [--data FOLDER] [--quick] [--baseline pypdfium2|pdfplumber]
"""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from common import SHARED, options

from pdfqa_core.ingest import Source
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from pdfqa_core.types import Document, DocumentState, Progress
from pdfqa_core.whole_files import file_sha256

QUICK_FILES = 40
SECONDS = 60

BASELINES = {
    "pypdfium2": """
import sys, pypdfium2
found = False
for page in pypdfium2.PdfDocument(sys.argv[1]):
    found = found or any(c.isalnum() for c in page.get_textpage().get_text_range())
sys.exit(0 if found else 3)
""",
    "pdfplumber": """
import sys, pdfplumber
found = False
with pdfplumber.open(sys.argv[1]) as document:
    for page in document.pages:
        found = found or any(c.isalnum() for c in page.extract_text())
        page.close()
sys.exit(0 if found else 3)
""",
}


def by_library(code: str, path: Path) -> str:
    """Return how a library got on with a file."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    return {0: "reads text", 3: "finds no text"}.get(done.returncode, "crashes" if done.returncode < 0 else "raises")


def resident_mb() -> float:
    """Return the resident size of this process in MB."""
    import psutil

    return float(psutil.Process().memory_info().rss / 1e6)


def left_behind(folder: Path) -> dict[str, int]:
    """Return what this process holds: open files, children (zombies too), threads, temporary files."""
    task = Path("/proc/self/task")
    children = list(task.glob("*/children"))
    return {
        "open files": len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").is_dir() else 0,
        "child processes": sum(len(path.read_text().split()) for path in children),
        "threads": len(list(task.iterdir())) if task.is_dir() else 0,
        "temporary files": len(list(folder.iterdir())),
    }


def read_all(services: Services, files: list[Path]) -> tuple[list[Document], int]:
    """Add the files to the workspace; returns a Document for each of them, and how many steps were reported."""
    names = {file_sha256(path): path for path in files}
    sources = [Source(path, path.name) for path in names.values()]
    found, steps = [], 0
    for event in services.documents.ingest(LOCAL_OWNER, sources, extraction=services.settings.extraction):
        if isinstance(event, Progress):
            steps += 1
        else:
            found.append(event)
    return found, steps


def main() -> None:
    parser = options(__doc__, quick=f"{QUICK_FILES} files drawn by chance", data=SHARED / "hostile_pdfs")
    parser.add_argument("--baseline", choices=BASELINES, default="pypdfium2")
    chosen = parser.parse_args()
    files = sorted(chosen.data.rglob("*.pdf"))
    if not files:
        sys.exit(f"There are no PDFs in {chosen.data}. Give a folder with --data.")
    if chosen.quick:
        files = sorted(random.Random(7).sample(files, min(QUICK_FILES, len(files))))
    settings = Settings().changed("extraction", seconds=SECONDS)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as temporary:
        tempfile.tempdir = os.environ["TMPDIR"] = temporary
        with Services.open(Path(folder), settings) as services:
            read_all(services, files[:2])  # loads what stays loaded
            for document in services.documents.kept.list(LOCAL_OWNER):
                services.documents.remove(LOCAL_OWNER, document.id)
            gc.collect()
            base, before = resident_mb(), left_behind(Path(temporary))
            began = time.perf_counter()
            found, steps = read_all(services, files)
            seconds = time.perf_counter() - began
            gc.collect()
            after, behind = resident_mb(), left_behind(Path(temporary))
        tempfile.tempdir = None
        del os.environ["TMPDIR"]
    states = Counter(document.state for document in found)
    print(f"{len(files)} files ({len(found)} different) in {seconds:.0f} s, {steps} steps reported")
    for state in DocumentState:
        print(f"  {state!s:24} {states[state]:4}")
    unnamed = [d for d in found if not d.reason and d.state is not DocumentState.READY]
    print(f"  {'without a reason':24} {len(unnamed):4}")
    odd = [d for d in found if "Traceback" in d.reason or (d.state is DocumentState.TOO_SLOW)]
    print(f"  {'tracebacks or over time':24} {len(odd):4}  {', '.join(d.filename for d in odd)}")
    print(f"memory of the program: {base:.0f} MB before, {after:.0f} MB afterwards")
    print("before, afterwards:", ", ".join(f"{name} {before[name]}, {behind[name]}" for name in before))
    usable = {d.id for d in found if d.state.usable}
    outcomes = baseline(chosen.baseline, {file_sha256(path): path for path in files})
    counts = Counter(outcomes.values())
    print(f"{chosen.baseline}: " + ", ".join(f"{outcome} {count}" for outcome, count in counts.most_common()))
    for document in sorted(found, key=lambda d: d.filename):
        if outcomes.get(document.id) == "reads text" and not document.state.usable:
            print(f"  only {chosen.baseline} reads {document.filename}: {document.state}. {document.reason}")
    reads = counts["reads text"]
    print(
        f"The program reads text in {len(usable)} files, {chosen.baseline} in {reads}: "
        f"{len(usable) / max(1, reads):.2f} x as many"
    )


def baseline(name: str, files: dict[str, Path]) -> dict[str, str]:
    """Return how a library got on with each file; files and results by hash."""
    from joblib import Parallel, cpu_count, delayed

    tasks = (delayed(by_library)(BASELINES[name], path) for path in files.values())
    return dict(zip(files, Parallel(n_jobs=cpu_count(), backend="threading")(tasks), strict=True))


if __name__ == "__main__":
    main()
