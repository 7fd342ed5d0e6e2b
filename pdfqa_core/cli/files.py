"""Files that commands write: whole or not at all. Those of the workspace are the user's alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.full_disk import cannot_write
from pdfqa_core.whole_files import unfinished

ALONE = 0o077  # what the group and everybody else may not do


@dataclass(frozen=True, slots=True)
class _Usual:
    """What the user's own umask takes away, and where it does not hold."""

    umask: int
    private: Path


_usual: list[_Usual] = []


@contextmanager
def private_files(workspace: Path) -> Iterator[None]:
    """Have everything that is made within the block be the user's alone: files 0600, folders 0700.

    But for what `write_file` writes elsewhere than in the workspace.
    """
    _usual.append(_Usual(os.umask(ALONE), workspace.resolve()))
    try:
        yield
    finally:
        os.umask(_usual.pop().umask)


def write_file(path: Path, data: bytes) -> None:
    """Write a file, its folder too: whole or not at all.

    Outside of the workspace the user's umask says who may read it. Raises UsageError for a folder, StorageError
    where the file cannot be written.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", "Name a file.")
    new = [one for one in path.parents if not one.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished(path) as draft:
            draft.write_bytes(data)
        if _usual and not path.resolve().is_relative_to(_usual[-1].private):
            path.chmod(0o666 & ~_usual[-1].umask)
            for folder in new:
                folder.chmod(0o777 & ~_usual[-1].umask)
    except OSError as error:
        raise cannot_write(path, error, "It is not there, or as it was before.", "Choose another place.") from error
