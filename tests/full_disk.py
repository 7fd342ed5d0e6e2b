"""A disk of a few hundred kilobytes that a test can fill, where this user may mount one."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

ROOM = 4 << 20  # bytes


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """Mount a disk of ROOM bytes on a new folder `place`; skips the test where that is not allowed."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(place)]
    try:
        made = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if made.returncode:
        pytest.skip(f"this user may not mount a small disk: {made.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path) -> Path:
    """Fill a disk to its last byte, and return the file that does it."""
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            while _written(file, size):
                pass
    return filler


def _written(file: IO[bytes], size: int) -> bool:
    """Whether so many bytes found room."""
    try:
        return file.write(b"x" * size) == size
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False
