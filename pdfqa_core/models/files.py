"""The model files: those of the catalogue, those added by path, and what was chosen among them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pdfqa_core.errors import PdfQAError, StorageError, UsageError
from pdfqa_core.full_disk import cannot_write
from pdfqa_core.llm.catalogue import CatalogueEntry, entry, on_disk, read_catalogue
from pdfqa_core.llm.download import partial_bytes, remove_partial
from pdfqa_core.llm.downloads import Downloads
from pdfqa_core.llm.gguf import check_model, read_header
from pdfqa_core.llm.hardware import Fit, Memory, fit, memory, needed_memory
from pdfqa_core.llm.partial import forget
from pdfqa_core.models.encoder_files import EncoderFiles
from pdfqa_core.settings import LLMSettings
from pdfqa_core.settings_sources import CHOICES, read_choices
from pdfqa_core.whole_files import write_atomically


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model that is known: of the catalogue (`name` is its name) or added by its path (`name` is the path).

    `path` is the file that would be used, "" where it is not here; `size` and `memory` (what running it takes with the
    settings' context) are in bytes, `memory` 0 if the file does not say; `partial` is how much of it an interrupted
    download has left, `sources` where it can be had. `removable`: there is a file here that is not part of a package.
    `problem` says why an added file cannot be used.
    """

    name: str
    title: str
    licence: str
    size: int
    memory: int
    fit: Fit | None
    context: int
    path: str = ""
    parameters: float = 0.0
    note: str = ""
    accept: str = ""
    sources: tuple[str, ...] = ()
    partial: int = 0
    bundled: bool = False
    added: bool = False
    removable: bool = False
    problem: str = ""


@lru_cache(maxsize=64)
def quantisation(path: Path) -> str:
    """Return the form of a file's weights ("Q4_1", "F16", …), "" if it does not say."""
    try:
        return read_header(path).quantisation
    except PdfQAError:
        return ""


class ModelFiles:
    """The folder of model files, what is downloaded into it, and `models.json` of a workspace.

    `encoders` are those of the catalogue, in a folder of their own below it.

    `folder` is by default the workspace's own. `folders` are those where files are looked for: this and the workspace's
    own, where earlier versions put them. Makes nothing before it is asked to.
    """

    def __init__(self, workspace: Path, folder: Path | None = None, machine: Memory | None = None) -> None:
        self._workspace = workspace
        own = workspace / "models"
        self.folder = folder or own
        self.folders = tuple(dict.fromkeys((self.folder, own)))
        self.downloads = Downloads(self.folder)
        self.encoders = EncoderFiles(self.folder)
        self._machine = machine

    # ------------------------------------------------------------ what there is

    def all(self, llm: LLMSettings) -> tuple[ModelFile, ...]:
        """Return the models of the catalogue and the added ones, with the memory that these settings take."""
        machine = self._machine or memory()
        known = [self._of_catalogue(one, llm, machine) for one in read_catalogue()]
        return (*known, *(self._of_path(Path(path), llm, machine) for path in self.added()))

    def _of_catalogue(self, one: CatalogueEntry, llm: LLMSettings, machine: Memory) -> ModelFile:
        path = on_disk(one, *self.folders, weights=llm.weights)
        size = path.stat().st_size if path else one.size
        needed = one.memory(llm.context_size, llm.batch_size, llm.weights)
        return ModelFile(
            one.name, one.title, one.licence, size, needed, fit(needed, machine), one.context,
            path=str(path or ""), parameters=one.parameters, note=one.note, accept=one.accept,
            sources=() if one.package else one.sources, partial=0 if path else partial_bytes(self.folder, one.file),
            bundled=bool(one.package), removable=path is not None and not one.package,
        )  # fmt: skip

    @staticmethod
    def _of_path(path: Path, llm: LLMSettings, machine: Memory) -> ModelFile:
        try:
            header = read_header(path)
            check_model(header, path)
        except PdfQAError as error:
            return ModelFile(str(path), path.stem, "", 0, 0, None, 0, added=True, removable=True, problem=str(error))
        dimensions = header.dimensions
        needed = needed_memory(header.size, dimensions, llm.context_size, llm.batch_size) if dimensions else 0
        return ModelFile(
            str(path), header.title or path.stem, header.licence, header.size, needed,
            fit(needed, machine) if needed else None, header.number("context_length"), path=str(path), added=True,
            removable=True,
        )  # fmt: skip

    # ------------------------------------------------------------ adding and removing

    def added(self) -> list[str]:
        """Return the paths that were added."""
        return [str(path) for path in read_choices(self._workspace).get("added", [])]

    def add(self, path: str) -> str:
        """Remember a GGUF file of this computer and return its full path. Raises UsageError, ModelError."""
        given = path.strip().strip("\"'")
        if not given:
            raise UsageError("There is no path.", "Type the path of a .gguf file.")
        full = Path(given).expanduser().absolute()
        check_model(read_header(full), full)
        added = self.added()
        if str(full) not in added:
            self._write(added=[*added, str(full)])
        return str(full)

    def remove(self, name: str) -> bool:
        """Remove a model: the file of one of the catalogue is deleted, an added one is only forgotten.

        Returns whether a file was deleted. Raises UsageError for a name that is unknown, not on this computer, or part
        of the program.
        """
        if name in (added := self.added()):
            self._write(added=[path for path in added if path != name])
            return False
        full = str(Path(name).expanduser().absolute())
        if full in added:
            return self.remove(full)
        known = entry(name)
        if known.package:
            raise UsageError(f"{known.title} comes with the program and stays.", "Remove another one.")
        found = [folder / known.file for folder in self.folders if (folder / known.file).exists()]
        if not found and not partial_bytes(self.folder, known.file):
            raise UsageError(f"{known.title} is not on this computer.", "See which are: pdfqa models list")
        try:
            for path in found:
                forget(path)
            remove_partial(self.folder, known.file)
        except OSError as error:
            raise StorageError(
                f"{error.filename} cannot be deleted: {error.strerror}.", "Check the folder's permissions."
            ) from error
        return True

    # ------------------------------------------------------------ what was chosen

    def remember(self, **llm: Any) -> None:
        """Keep settings of the language model for the next start."""
        self._write(llm={**read_choices(self._workspace).get("llm", {}), **llm})

    def remember_encoder(self, name: str) -> None:
        """Keep which encoder is used for the next start."""
        self._write(retrieval={"embedding_model": name})

    def keep_measured(self, bandwidth: float, share: float) -> None:
        """Keep the bytes a second of this machine's memory and the share of them that answers reach."""
        self._write(measured={"bandwidth": bandwidth, "share": share})

    def expected_speed(self, size: int) -> float | None:
        """Return the tokens a second expected of a file of `size` bytes here; None before the first speed test."""
        measured = read_choices(self._workspace).get("measured")
        if not isinstance(measured, dict) or not size:
            return None
        return float(measured.get("bandwidth", 0)) * float(measured.get("share", 0)) / size or None

    def _write(self, **values: Any) -> None:
        data = {**read_choices(self._workspace), **values}
        target = self._workspace / CHOICES
        try:
            self._workspace.mkdir(parents=True, exist_ok=True)
            write_atomically(target, json.dumps(data, indent=1).encode())
        except OSError as error:
            raise cannot_write(target, error) from error
