"""Files of runs: the data as it was when a run was begun, and what tells one model's file from another."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.full_disk import cannot_write
from pdfqa_core.llm.catalogue import entry, is_path
from pdfqa_core.protocols.gold import packed_folder
from pdfqa_core.settings import LLMSettings
from pdfqa_core.whole_files import unfinished, write_atomically


class RunFiles:
    """Data files under the hash of their bytes, so that a run goes on although its file was moved or changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def kept(self, path: Path) -> tuple[Path, str, str]:
        """Return where a file is kept, its SHA-256 and its name; of a folder, those of the ZIP that is made of it.

        Raises UsageError, StorageError.
        """
        if path.is_dir():
            kept = self.put(f"{path.name}.zip", packed_folder(path))
            return kept, _hashed(kept, kept.stat().st_mtime_ns, kept.stat().st_size), path.name
        if not path.is_file():
            raise UsageError(f"{path} is not there.", "Name a file of questions.")
        digest = _hashed(path, path.stat().st_mtime_ns, path.stat().st_size)
        target = self._folder / f"{digest[:16]}{path.suffix.lower()}"
        if not target.is_file():
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                with unfinished(target) as draft:
                    shutil.copyfile(path, draft)
            except OSError as error:
                raise cannot_write(f"the copy of {path.name} for the run", error, "Nothing was begun.") from error
        return target, digest, path.name

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files that no run needs any more."""
        for path in map(Path, paths):
            if path.parent == self._folder:
                path.unlink(missing_ok=True)

    def put(self, name: str, data: bytes) -> Path:
        """Keep the bytes of a file that came with a run, and return where; `name` is what it was kept as."""
        target = self._folder / f"{hashlib.sha256(data).hexdigest()[:16]}{Path(name).suffix.lower()}"
        if not target.is_file():
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                write_atomically(target, data)
            except OSError as error:
                raise cannot_write(f"the copy of {name} for the run", error, "Nothing was begun.") from error
        return target


@lru_cache(maxsize=32)
def _hashed(path: Path, changed: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def model_hash(llm: LLMSettings, used: Path | None) -> str:
    """Return the SHA-256 of a language model's file: the catalogue's, or that of the file; "" where none is known."""
    if llm.engine == "openai":
        return ""
    if not is_path(llm.model):
        try:
            return entry(llm.model).sha256
        except PdfQAError:
            return ""
    path = Path(llm.model).expanduser()
    path = path if path.is_file() else used or path
    if not path.is_file():
        return ""
    return _hashed(path, path.stat().st_mtime_ns, path.stat().st_size)
