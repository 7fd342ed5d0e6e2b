"""The child process that looks through one file from outside: started by `outside`.

Standard input: one JSON frame with the job. Standard output: one JSON frame with "texts", the parts that were counted,
or with "kind", "what" and "hint".
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.extraction.process.children import quiet_output, read_frame, write_json
from pdfqa_core.extraction.process.file_contents import PARQUET, unpack, weigh
from pdfqa_core.extraction.process.limits import EXIT_MEMORY, FileLimits, limit_cpu, limit_memory


def _done(job: dict[str, Any], limits: FileLimits) -> list[str]:
    path, name = Path(job["path"]), job["name"]
    if job["folder"]:
        return unpack(path, Path(job["folder"]), limits, name)
    weigh(path, limits, name)
    return []


def _is_table(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET


def main() -> int:
    """Do the one job within its limits; the exit status is 0 when an answer was written."""
    out = quiet_output()
    frame = read_frame(sys.stdin.buffer)
    if frame is None:
        return 2
    job = frame.json()
    limits = FileLimits(**job["limits"])
    if not job["folder"] and _is_table(Path(job["path"])):
        os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # the others reserve more than a limit lets them
        import pyarrow.parquet  # noqa: F401 - loaded before the limits count
    limit_memory(limits.memory_mb)
    limit_cpu(limits.seconds)
    try:
        write_json(out, texts=_done(job, limits))
    except UsageError as error:
        write_json(out, kind=type(error).__name__, what=error.what, hint=error.hint)
    except MemoryError:
        return EXIT_MEMORY
    return 0


if __name__ == "__main__":
    sys.exit(main())
