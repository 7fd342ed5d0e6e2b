"""Messages between a parent and its child process: length-prefixed JSON, never pickle.

A frame is one byte (its kind), four bytes (length of the body, big-endian) and the body.
"""

from __future__ import annotations

import json
import os
import queue
import struct
import threading
from typing import IO, Any, NamedTuple

from pdfqa_core.errors import DocumentError, PdfQAError
from pdfqa_core.types import DocumentState

_HEAD = struct.Struct(">cI")
MAX_BODY = 256 * 1024 * 1024
_LONGEST = 1000  # characters of an error's parts that are kept: the child may have been taken over
JSON, PAGE, BYTES = b"J", b"P", b"B"


class Frame(NamedTuple):
    """One message. The body of a PAGE is what `page_codec` writes, of BYTES anything."""

    kind: bytes
    body: bytes

    def json(self) -> dict[str, Any]:
        """Return the body of a JSON frame. Raises ValueError where it is no JSON object."""
        value = json.loads(self.body)
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")  # noqa: TRY004 - the content is wrong, not the call
        return value

    def error(self) -> PdfQAError:
        """Return the error of which a JSON frame tells."""
        message = self.json()
        what, hint, state = (str(message.get(name, ""))[:_LONGEST] for name in ("what", "hint", "state"))
        known = state in set(DocumentState)
        return DocumentError(DocumentState(state), what, hint) if known else PdfQAError(what, hint)


def write_frame(stream: IO[bytes], kind: bytes, body: bytes) -> None:
    """Write one frame and flush."""
    stream.write(_HEAD.pack(kind, len(body)) + body)
    stream.flush()


def write_json(stream: IO[bytes], **values: Any) -> None:
    """Write a JSON frame."""
    write_frame(stream, JSON, json.dumps(values).encode("ascii"))


def write_error(stream: IO[bytes], error: PdfQAError) -> None:
    """Write a JSON frame from which `Frame.error` makes the error again."""
    state = error.state.value if isinstance(error, DocumentError) else ""
    write_json(stream, what=error.what, hint=error.hint, state=state)


def read_frame(stream: IO[bytes]) -> Frame | None:
    """Return the next frame; None at the end of the stream or where it breaks off."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    kind, length = _HEAD.unpack(head)
    if length > MAX_BODY:
        return None
    body = stream.read(length)
    return Frame(kind, body) if len(body) == length else None


def quiet_output() -> IO[bytes]:
    """Return a child's stream for frames, with standard output itself closed to whatever a library prints."""
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return stream


class FrameReader:
    """Reads a child's frames in a thread, so that the parent can wait with a time limit on every system."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._frames: queue.Queue[Frame | None] = queue.Queue(maxsize=64)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="frames", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        frame: Frame | None = Frame(JSON, b"")
        while frame is not None and not self._closed.is_set():
            try:
                frame = read_frame(self._stream)
            except (OSError, ValueError):
                frame = None
            while not self._closed.is_set():
                try:
                    self._frames.put(frame, timeout=0.2)
                    break
                except queue.Full:
                    continue

    def get(self, seconds: float) -> Frame | None:
        """Return the next frame, None after the last. Raises queue.Empty when none came within `seconds`."""
        return self._frames.get(timeout=max(0.0, seconds))

    def close(self) -> None:
        """End the thread; call it when the child is gone."""
        self._closed.set()
        self._thread.join(timeout=2)
