"""In which state each of the hostile PDFs ends when the program reads them, and how many a plain library reads.

Usage: python benchmarks/hostile_states.py [--data FOLDER] [--quick] [--baseline pypdfium2|pdfplumber]
The program adds the files to a workspace as the page does, several side by side. The baseline reads each file in a
child process of its own with the same time limit; a file counts as read if a page has a letter or digit. The memory,
open files, child processes and temporary files of the program are counted before and afterwards.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.ingest import Source, sha256  # noqa: E402
from pdfqa_core.services import LOCAL_OWNER, Services  # noqa: E402
from pdfqa_core.settings import Settings  # noqa: E402
from pdfqa_core.types import Document, DocumentState, Progress  # noqa: E402

DATA = ROOT.parent / "shared" / "data" / "hostile_pdfs"
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
    """Return the resident size of this process in MB (Linux; elsewhere the largest so far)."""
    status = Path("/proc/self/statm")
    if status.is_file():
        return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


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
    names = {sha256(path): path for path in files}
    sources = [Source(path, path.name) for path in names.values()]
    found, steps = [], 0
    for event in services.documents.ingest(LOCAL_OWNER, sources, extraction=services.settings.extraction):
        if isinstance(event, Progress):
            steps += 1
        else:
            found.append(event)
    return found, steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with PDFs")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_FILES} files drawn by chance, under 45 s")
    parser.add_argument("--baseline", choices=BASELINES, default="pypdfium2")
    options = parser.parse_args()
    files = sorted(options.data.rglob("*.pdf"))
    if not files:
        sys.exit(f"There are no PDFs in {options.data}. Give a folder with --data.")
    if options.quick:
        files = sorted(random.Random(7).sample(files, min(QUICK_FILES, len(files))))
    settings = Settings().changed("extraction", seconds=SECONDS)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as temporary:
        tempfile.tempdir = os.environ["TMPDIR"] = temporary
        with Services.open(Path(folder), settings) as services:
            read_all(services, files[:2])  # loads what stays loaded
            for document in services.documents.list(LOCAL_OWNER):
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
    outcomes = baseline(options.baseline, {sha256(path): path for path in files})
    counts = Counter(outcomes.values())
    print(f"{options.baseline}: " + ", ".join(f"{outcome} {count}" for outcome, count in counts.most_common()))
    for document in sorted(found, key=lambda d: d.filename):
        if outcomes.get(document.id) == "reads text" and not document.state.usable:
            print(f"  only {options.baseline} reads {document.filename}: {document.state}. {document.reason}")
    reads = counts["reads text"]
    print(
        f"The program reads text in {len(usable)} files, {options.baseline} in {reads}: "
        f"{len(usable) / max(1, reads):.2f} x as many"
    )


def baseline(name: str, files: dict[str, Path]) -> dict[str, str]:
    """Return how a library got on with each file; files and results by hash."""
    from joblib import Parallel, cpu_count, delayed

    tasks = (delayed(by_library)(BASELINES[name], path) for path in files.values())
    return dict(zip(files, Parallel(n_jobs=cpu_count(), backend="threading")(tasks), strict=True))


if __name__ == "__main__":
    main()
