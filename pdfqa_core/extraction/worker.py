"""Reads a PDF in a child process, so that a hostile file can neither crash, hang nor fill the program.

Whatever happens in the child, the file ends in exactly one `DocumentState` with a reason in plain words.
"""

from __future__ import annotations

import queue
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pdfqa_core.errors import DocumentError, StoppedError, StorageError
from pdfqa_core.extraction import extractors
from pdfqa_core.extraction.frames import PAGE, Frame, FrameReader, write_json
from pdfqa_core.extraction.open import check_file
from pdfqa_core.extraction.process import EXIT_MEMORY, MB, kill, peak_memory, start, wait
from pdfqa_core.page_codec import decode_page
from pdfqa_core.types import READABLE, DocumentState, Page, Progress, StopSignal

_POLL = 0.1  # seconds between looks at the stop signal
_GRACE = 2.0  # seconds that a child may take to end by itself after its last frame
_SIGXCPU = 24
_NEAR_LIMIT = 0.5  # of the memory limit: a crash with more than this in use was a refused allocation
_LISTED = 12  # page numbers named in a reason


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may take."""

    max_file_mb: int = 100
    max_pages: int = 2000
    max_characters: int = 20_000_000
    memory_mb: int = 1500
    seconds: float = 300


@dataclass(frozen=True, slots=True)
class ReadResult:
    """How reading ended. `pages` is empty unless the state is usable; `pages_without_text` are 1-based numbers."""

    state: DocumentState
    reason: str
    title: str
    page_count: int = 0
    pages: tuple[Page, ...] = ()
    pages_without_text: tuple[int, ...] = ()


@dataclass(slots=True)
class _Received:
    """What has come from the child so far."""

    pages: list[Page] = field(default_factory=list)
    total: int = 0
    title: str | None = None
    failure: DocumentError | None = None
    peak: int = 0  # memory of the child in bytes


def read_document(
    path: Path,
    document_id: str,
    *,
    filename: str = "",
    extractor: str = "direct",
    password: str | None = None,
    limits: Limits | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    stop: StopSignal | None = None,
) -> ReadResult:
    """Return the pages of a PDF, or why there are none; `filename` is what reasons call the file.

    Raises StoppedError within 2 s after `stop` is set, UsageError for an unknown extractor; never for a bad PDF.
    """
    extractors.get(extractor)
    limits = limits or Limits()
    name = filename or path.name
    title = Path(name).stem
    try:
        check_file(path, name, limits.max_file_mb * 1_000_000)
        received = _run_child(path, document_id, name, extractor, password, limits, on_progress, stop)
    except DocumentError as error:
        return ReadResult(error.state, str(error), title)
    return _result(received, name, title)


def _run_child(
    path: Path,
    document_id: str,
    name: str,
    extractor: str,
    password: str | None,
    limits: Limits,
    on_progress: Callable[[Progress], None] | None,
    stop: StopSignal | None,
) -> _Received:
    """Return what the child sent. Raises a DocumentError with the state that its end means."""
    deadline = time.monotonic() + limits.seconds
    child = start("pdfqa_core.extraction.child")
    assert child.stdin is not None
    assert child.stdout is not None
    frames = FrameReader(child.stdout)
    received = _Received()
    try:
        try:
            write_json(
                child.stdin,
                path=str(path.resolve()),
                document_id=document_id,
                filename=name,
                extractor=extractor,
                password=password,
                max_pages=limits.max_pages,
                max_characters=limits.max_characters,
                memory_mb=limits.memory_mb,
                seconds=int(limits.seconds) + 1,
            )
        except OSError as error:
            raise _crashed(name) from error
        while True:
            if stop is not None and stop.is_set():
                raise StoppedError(f"Reading {name} was stopped.")
            if time.monotonic() > deadline:
                raise _too_slow(name, limits)
            received.peak = max(received.peak, peak_memory(child.pid))
            try:
                frame = frames.get(min(_POLL, max(0.01, deadline - time.monotonic())))
            except queue.Empty:
                continue
            if frame is None:
                break
            _take(frame, received, name, on_progress)
        _check_end(child, received, name, limits)
    finally:
        kill(child)
        frames.close()
    return received


def _take(frame: Frame, received: _Received, name: str, on_progress: Callable[[Progress], None] | None) -> None:
    try:
        if frame.kind == PAGE:
            received.pages.append(decode_page(frame.body))
            return
        message = frame.json()
        if "total" in message:
            received.total = int(message["total"])
            if on_progress is not None:
                on_progress(Progress(f"Reading {name}", int(message["done"]), received.total))
        elif "title" in message:
            received.title = str(message["title"])
        else:
            what = str(message["what"])
            error = DocumentError(DocumentState(message["state"]), what, str(message["hint"]))
            received.failure = error if what else _crashed(name)
    except (ValueError, KeyError, TypeError, StorageError) as error:
        raise _crashed(name) from error


def _check_end(child: subprocess.Popen[bytes], received: _Received, name: str, limits: Limits) -> None:
    """Raise what the end of the child means, unless it finished its work."""
    if received.failure is not None:
        raise received.failure
    if received.title is not None:
        return
    status, peak = wait(child, _GRACE)
    peak = max(peak, received.peak)
    killed = status is not None and status < 0
    if status == EXIT_MEMORY or (killed and peak > _NEAR_LIMIT * limits.memory_mb * MB):
        raise DocumentError(
            DocumentState.TOO_LARGE,
            f"{name} needs more than {limits.memory_mb:,} MB of memory to read.",
            "Split it, or raise memory_mb in the settings.",
        )
    raise _too_slow(name, limits) if status == -_SIGXCPU else _crashed(name)


def _too_slow(name: str, limits: Limits) -> DocumentError:
    return DocumentError(
        DocumentState.TOO_SLOW,
        f"{name} could not be read within {limits.seconds:g} seconds.",
        "Split it, or raise seconds in the settings.",
    )


def _crashed(name: str) -> DocumentError:
    return DocumentError(
        DocumentState.BROKEN,
        f"{name} is damaged: reading it failed.",
        "Open it in a PDF viewer and print it to a new PDF, then add that.",
    )


def _has_text(page: Page) -> bool:
    return any(b.kind in READABLE and any(c.isalnum() for c in page.text[b.start : b.end]) for b in page.blocks)


def _result(received: _Received, name: str, stem: str) -> ReadResult:
    pages = tuple(received.pages)
    if not pages:
        return ReadResult(
            DocumentState.BROKEN, f"{name} has no pages. Download it again, or print it to a new PDF.", stem
        )
    title = received.title or stem
    without = tuple(page.number for page in pages if not _has_text(page))
    if len(without) < len(pages):
        if not without:
            return ReadResult(DocumentState.READY, "", title, len(pages), pages)
        count = "1 page" if len(without) == 1 else f"{len(without)} pages"
        listed = ", ".join(map(str, without[:_LISTED])) + (", …" if len(without) > _LISTED else "")
        reason = (
            f"{count} without text: {listed}. What {'it shows' if len(without) == 1 else 'they show'} is not found."
        )
        return ReadResult(DocumentState.PARTIAL, reason, title, len(pages), pages, without)
    if all(any("damaged" in w or "could not be read" in w for w in page.warnings) for page in pages):
        reason = f"{name} is damaged: none of its {len(pages)} pages can be read. Download it again."
        return ReadResult(DocumentState.BROKEN, reason, stem, len(pages), (), without)
    reason = (
        f"{name} has no text: its pages are pictures (a scan?) or empty. "
        "Add a version with a text layer, such as the original document or a copy made searchable by an OCR program."
    )
    return ReadResult(DocumentState.NO_TEXT, reason, title, len(pages), (), without)
