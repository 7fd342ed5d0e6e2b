"""Files that are either whole or not there: atomic writing, hashing, names, and what reading a damaged one raises."""

from __future__ import annotations

import hashlib
import os
import re
import uuid
import zipfile
from pathlib import Path

HELD = os.name == "nt"
"""Whether the system neither deletes nor replaces a file that a program has open."""

LONGEST_NAME = 200  # bytes in UTF-8; file systems allow 255, and a browser may add " (1)"
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\ud800-\udfff]+')
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(\.|$)", re.IGNORECASE)

# What reading, parsing or unpacking a damaged file may raise; nothing else is caught.
DAMAGE: tuple[type[Exception], ...] = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
)


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` so that `path` holds either all of it or what it held before, also after a power cut.

    Only the user may read the file. Raises OSError (a full disk, a read-only folder).
    """
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        temporary.touch(mode=0o600, exist_ok=False)
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in `folder` durable, where the system can (Windows cannot open folders)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def safe_name(name: str) -> str:
    """Return a file name that Windows, macOS and Linux accept, as near to `name` as can be; its ending stays.

    Windows forbids some characters, dots and spaces at the end, and the names of devices (CON, also as CON.txt).
    """
    plain = _FORBIDDEN.sub("-", name).strip(" ").rstrip(". ")
    stem, dot, ending = plain.rpartition(".")
    if not stem or len(ending) > 10:
        stem, dot, ending = plain, "", ""
    room = LONGEST_NAME - len(f"{dot}{ending}".encode())
    stem = stem.encode()[:room].decode("utf-8", "ignore").rstrip(". ") or "unnamed"
    return f"{'_' if _DEVICE.match(stem) else ''}{stem}{dot}{ending}"


def sha256(content: bytes) -> str:
    """Return the SHA-256 of `content` in hex digits."""
    return hashlib.sha256(content).hexdigest()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content in hex digits. Raises OSError."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
