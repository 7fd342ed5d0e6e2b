"""PDFs read by the workers of a cluster: the file's bytes go there, its pages come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pdfqa_core.cluster import Cluster, LostError
from pdfqa_core.errors import DocumentError, PdfQAError, StoppedError
from pdfqa_core.extraction.open import check_file
from pdfqa_core.extraction.process.worker import Limits, ReadResult, crashed, read_document
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.types import Progress
from pdfqa_core.whole_files import temporary_folder


@dataclass(frozen=True)
class Reading:
    """A task: a PDF to read, and how (arguments of `read_document`). The password is not shown where this is."""

    content: bytes = field(repr=False)
    filename: str
    document_id: str
    password: str | None = field(repr=False)
    limits: Limits
    options: dict[str, Any]


def read_bytes(task: Reading) -> ReadResult:
    """Read a PDF on a worker, in a child process as anywhere."""
    with temporary_folder() as folder:
        path = folder / "file.pdf"
        path.write_bytes(task.content)
        return read_document(
            path, task.document_id, filename=task.filename, password=task.password, limits=task.limits, workers=1,
            **task.options,
        )  # fmt: skip


def read_elsewhere(
    cluster: Cluster, path: Path, document_id: str, *, filename: str, password: str | None, limits: Limits,
    on_progress: Callable[[Progress], None], stop: StopSignal | None, **options: Any,
) -> ReadResult:  # fmt: skip
    """Return what `read_document` returns, of a PDF that a worker reads.

    A file over which one worker after the other dies is as damaged as one that ends its process here. Raises
    StoppedError, ClusterError, and what `read_document` raises.
    """
    name = filename or path.name
    try:
        check_file(path, name, limits.max_file_mb * 1_000_000)
        content = path.read_bytes()
    except DocumentError as error:
        return ReadResult(error.state, str(error), Path(name).stem)
    except OSError as error:
        raise PdfQAError(f"{name} cannot be read: {error.strerror or error}.", "Check its permissions.") from error
    on_progress(Progress(f"Reading {name}"))
    task = Reading(content, name, document_id, password, limits, options)
    try:
        [(_, result)] = cluster.map(read_bytes, [task], stop)
    except StoppedError:
        raise StoppedError(f"Reading {name} was stopped.") from None
    except LostError:
        failed = crashed(name)
        return ReadResult(failed.state, str(failed), Path(name).stem)
    return result
