"""Files that are either whole or not there: atomic writing, hashing, names, and what reading a damaged one raises.

What is not finished lies under a name that says which program makes it. If that one is killed, the next one to start
removes it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import sqlite3
import tempfile
import time
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, unquote

import psutil

from pdfqa_core.errors import PdfQAError, StorageError
from pdfqa_core.programs import is_gone, is_of_this_computer, this_program

# ----------------------------------------------------------------------------------------------------
# A full disk: one sentence that says so, and what was kept. Everything that writes says it through this module.

BEFORE = "What was confirmed before is stored, this change is not."
FREE = "Free some space and try again."
_NUMBERS = (errno.ENOSPC, errno.EDQUOT)  # the disk is full, or what this user may have of it
# What libraries say that pass on no number: safetensors, hnswlib, LanceDB, pip.
_SAID = ("The disk is full", *(os.strerror(number) for number in _NUMBERS), "database or disk is full")


def is_full(error: BaseException | None) -> bool:
    """Whether an error, or one that it came of, says that the disk is full."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NUMBERS:
            return True
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
            return True
        if any(said in str(error) for said in _SAID):
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


def cannot_write(
    what: object, error: BaseException, kept: str = BEFORE, otherwise: str = "Check the folder."
) -> StorageError:
    """Return the error to raise where `what` (a file, or what it is) could not be written.

    `kept` is a sentence on what is there all the same, `otherwise` what to do where the disk is not full.
    """
    if is_full(error):
        return StorageError(f"The disk is full: {what} could not be written.", f"{kept} {FREE}".strip())
    reason = getattr(error, "strerror", None) or str(error)
    begin = f"The {str(what).removeprefix('the ')}" if str(what).startswith("the ") else what
    return StorageError(f"{begin} cannot be written: {reason}.", f"{kept} {otherwise}".strip())


def in_words(error: Exception) -> Exception:
    """Return the error to show for one that nobody foresaw: itself, unless the disk is full."""
    return cannot_write("the file", error) if not isinstance(error, PdfQAError) and is_full(error) else error


@contextmanager
def keeping(what: str, kept: str) -> Iterator[None]:
    """Let a StorageError of a full disk say what could not be written in this block, and what was kept."""
    try:
        yield
    except StorageError as error:
        if is_full(error):
            raise cannot_write(what, error, kept) from error
        raise


# ----------------------------------------------------------------------------------------------------
# Files that are either whole or not there: atomic writing, hashing, names, and what reading a damaged one raises.

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


TEMPORARY = "pdfqa-"
"""What the folders of this program begin with where the system keeps temporary files."""

LEFT = 24 * 3600.0
"""Seconds after which what a program of another computer, or an earlier version, has not finished counts as left."""

_UNFINISHED = re.compile(r"\.(?P<program>[^!]+)![0-9a-f]{32}\.tmp$")
_UNFINISHED_BEFORE = re.compile(r"\.[0-9a-f]{32}\.tmp$")  # as earlier versions called it
_TEMPORARY = re.compile(rf"{TEMPORARY}(?P<program>[^!]+)!")
_TEMPORARY_BEFORE = re.compile(rf"{TEMPORARY}(?P<process>[0-9]+)-|{TEMPORARY}(copy|reading)-")


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` so that `path` holds either all of it or what it held before, also after a power cut.

    Only the user may read the file. Raises OSError (a full disk, a read-only folder).
    """
    with unfinished(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """Give the place of an empty file that takes the place of `path` at the end of the block, whole and durable.

    If the block raises, `path` is what it was. Only the user may read the file. Raises OSError.
    """
    temporary = unfinished_name(path.parent)
    try:
        temporary.touch(mode=0o600, exist_ok=False)
        yield temporary
        temporary.chmod(0o600)  # what writes it may have made it anew
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def unfinished_name(folder: Path) -> Path:
    """Return a place in `folder` for what is not finished; what is left there goes when this program runs no more."""
    return folder / f".{quote(this_program(), safe='')}!{uuid.uuid4().hex}.tmp"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give an empty folder, which the user alone may read, where the system keeps temporary files."""
    with tempfile.TemporaryDirectory(prefix=temporary_prefix(), ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def temporary_prefix() -> str:
    """Return what a folder of this program's temporary files begins with."""
    return f"{TEMPORARY}{quote(this_program(), safe='')}!"


def remove_left_over(*folders: Path, below: bool = True) -> None:
    """Remove what killed programs did not finish in these folders (and all `below`), and their temporary folders.

    What a program makes that still runs stays. Nothing else is touched, and no link is followed.
    """
    for folder in folders:
        for root, names, files in os.walk(folder):
            for name in [one for one in (*names, *files) if one.endswith(".tmp")]:
                if _left(Path(root, name), _UNFINISHED, _UNFINISHED_BEFORE):
                    _remove(Path(root, name))
            if not below:
                break
    for path in Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*"):
        with suppress(OSError):  # gone meanwhile
            mine = os.name != "posix" or path.lstat().st_uid == os.getuid()
            if mine and path.is_dir() and _left(path, _TEMPORARY, _TEMPORARY_BEFORE):
                _remove(path)


def _left(path: Path, known: re.Pattern[str], before: re.Pattern[str]) -> bool:
    """Whether the name is one of ours, and whoever made it is gone."""
    if found := known.match(path.name):
        program = unquote(found["program"])
        if is_of_this_computer(program):
            return is_gone(program)
    elif found := before.match(path.name):
        if process := found.groupdict().get("process"):
            return not psutil.pid_exists(int(process))
    else:
        return False
    with suppress(OSError):  # gone meanwhile
        return path.lstat().st_mtime < time.time() - LEFT
    return False


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


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
