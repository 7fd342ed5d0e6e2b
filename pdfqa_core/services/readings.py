"""How a PDF is read: the names of readings, which of them a recipe uses, and reading here or by a cluster's workers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joblib import cpu_count

from pdfqa_core.cluster import Cluster, LostError
from pdfqa_core.errors import DocumentError, PdfQAError, StoppedError
from pdfqa_core.extraction import extractors
from pdfqa_core.extraction.open import check_file
from pdfqa_core.extraction.process.worker import Limits, ReadResult, crashed, read_document
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.settings import ExtractionSettings, Settings
from pdfqa_core.storage import Reading
from pdfqa_core.text import terms
from pdfqa_core.types import Document, Page, Progress, Span
from pdfqa_core.whole_files import temporary_folder

# ----------------------------------------------------------------------------------------------------
# Which reading of a document is used: names of readings, the one a recipe wants, and whether text stands in it.

_ENOUGH = 0.8  # of a span's words: from this share on its text is the passage's; tables are written in several ways


@dataclass(frozen=True, slots=True)
class Claim:
    """A place where `text`, or the part of it that `span` has room for, is said to stand."""

    span: Span
    text: str


def name_of(extraction: ExtractionSettings) -> str:
    """Return the name of a reading: the extractor, with what is asked of it beyond the default.

    Settings that do not change its text are no part of the name.
    """
    parts = [extraction.extractor]
    if not extraction.tables:
        parts.append("no tables")
    if extraction.visual_pages == "all" and "visual_pages" in extractors.parameters(extraction.extractor):
        parts.append("all pages")
    return ", ".join(parts)


def wanted_reading(settings: Settings, own: ExtractionSettings) -> ExtractionSettings | None:
    """Return how a recipe wants documents to have been read; None: as each of them was.

    It wants what `read_by` names, or its own way of reading where that is not the workspace's (`own`), in which new
    PDFs are read.
    """
    if settings.chunking.read_by:
        return settings.extraction.model_copy(update={"extractor": settings.chunking.read_by})
    return settings.extraction if name_of(settings.extraction) != name_of(own) else None


def used_reading(document: Document, readings: Iterable[Reading], name: str) -> Reading | None:
    """Return the document's usable reading of this name, else the one that counts for it; None: it has no text."""
    usable = {reading.extractor: reading for reading in readings if reading.state.usable}
    return usable.get(name) or usable.get(document.extractor)


def stands(page: Page, claim: Claim) -> bool:
    """Whether the page has the text where the claim says so; readings differ in their text, and so in its places."""
    span = claim.span
    if (span.document_id, span.page) != (page.document_id, page.number) or span.end > len(page.text):
        return False
    there = Counter(terms(page.text[span.start : span.end]))
    total = sum(there.values())
    if not total:
        return page.text[span.start : span.end].strip() in claim.text
    return sum((there & Counter(terms(claim.text))).values()) >= _ENOUGH * total


# ----------------------------------------------------------------------------------------------------
# PDFs read by the workers of a cluster: the file's bytes go there, its pages come back.


@dataclass(frozen=True)
class ReadingTask:
    """A task: a PDF to read, and how (arguments of `read_document`). The password is not shown where this is."""

    content: bytes = field(repr=False)
    filename: str
    document_id: str
    password: str | None = field(repr=False)
    limits: Limits
    options: dict[str, Any]


def read_bytes(task: ReadingTask) -> ReadResult:
    """Read a PDF on a worker, in a child process as anywhere."""
    with temporary_folder() as folder:
        path = folder / "file.pdf"
        path.write_bytes(task.content)
        return read_document(
            path,
            task.document_id,
            filename=task.filename,
            password=task.password,
            limits=task.limits,
            workers=1,
            **task.options,
        )


def read_elsewhere(
    cluster: Cluster,
    path: Path,
    document_id: str,
    *,
    filename: str,
    password: str | None,
    limits: Limits,
    on_progress: Callable[[Progress], None],
    stop: StopSignal | None,
    **options: Any,
) -> ReadResult:
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
    task = ReadingTask(content, name, document_id, password, limits, options)
    try:
        [(_, result)] = cluster.map(read_bytes, [task], stop)
    except StoppedError:
        raise StoppedError(f"Reading {name} was stopped.") from None
    except LostError:
        failed = crashed(name)
        return ReadResult(failed.state, str(failed), Path(name).stem)
    return result


# ----------------------------------------------------------------------------------------------------
# A PDF read in a way and within its limits.


def read_pdf(
    path: Path,
    chosen: ExtractionSettings,
    password: str | None,
    on_progress: Callable[[Progress], None],
    *,
    document_id: str = "",
    filename: str = "",
    workers: int = 0,
    stop: StopSignal | None = None,
    numbers: Sequence[int] = (),
    visual_pages: str = "",
    most_seconds: float | None = None,
    cluster: Cluster | None = None,
) -> ReadResult:
    """Return the pages of a PDF read in this way and within its limits; nothing is stored. As `read_document`.

    `most_seconds` is how long it may take in all, OCR included. With a `cluster` one of its workers reads.
    """
    limits = Limits(
        max_file_mb=chosen.max_file_mb,
        max_pages=chosen.max_pages,
        max_characters=chosen.max_characters,
        memory_mb=chosen.memory_mb,
        seconds=chosen.seconds,
        page_seconds=chosen.page_seconds,
        most_seconds=math.inf if most_seconds is None else most_seconds,
    )
    if cluster is not None:
        return read_elsewhere(
            cluster,
            path,
            document_id,
            filename=filename,
            password=password,
            limits=limits,
            on_progress=on_progress,
            stop=stop,
            extractor=chosen.extractor,
            tables=chosen.tables,
            numbers=numbers,
            visual_pages=visual_pages or chosen.visual_pages,
        )
    return read_document(
        path,
        document_id,
        filename=filename,
        extractor=chosen.extractor,
        password=password,
        tables=chosen.tables,
        visual_pages=visual_pages or chosen.visual_pages,
        numbers=numbers,
        workers=workers or chosen.workers or cpu_count(),
        limits=limits,
        on_progress=on_progress,
        stop=stop,
    )
