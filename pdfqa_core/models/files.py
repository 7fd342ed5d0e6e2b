"""The model files: those of the catalogue, those added by path, and what was chosen among them."""

from __future__ import annotations

import json
import platform
import shutil
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pdfqa_core.errors import ModelError, PdfQAError, StorageError, UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.languages import ENGLISH, UNKNOWN
from pdfqa_core.llm.catalogue import OWN_WORDS, CatalogueEntry, entry, on_disk, read_catalogue
from pdfqa_core.llm.download import HubFile, download, partial_bytes, remove_partial
from pdfqa_core.llm.downloads import Downloads
from pdfqa_core.llm.gguf import check_model, read_header
from pdfqa_core.llm.hardware import COMFORTABLE, Fit, Memory, fit, memory, needed_memory
from pdfqa_core.llm.partial import forget
from pdfqa_core.models.trained import EMBEDDING, LATE, TrainedModel, trained_model, trained_models, trained_path
from pdfqa_core.retrieval.encoder import parts_of
from pdfqa_core.settings import CHOICES, LLMSettings, RetrievalSettings, read_choices
from pdfqa_core.shipped import SHIPPED
from pdfqa_core.training import DPR, pair_in
from pdfqa_core.types import Progress
from pdfqa_core.whole_files import cannot_write, write_atomically

# ----------------------------------------------------------------------------------------------------
# Encoders of the catalogue (models/encoders.toml): which there are, fetching them, and the one in use.

CATALOGUE = SHIPPED / "models" / "encoders.toml"
FOLDER = "text-encoders"  # in the folder of the model files
PROMPTS = "config_sentence_transformers.json"  # where sentence-transformers looks for what stands before a text
OTHERWISE = "name the folder of an encoder on the Retrieval tab"


@dataclass(frozen=True, slots=True)
class EncoderEntry:
    """An encoder of the catalogue, see there. `files` are paths in the repository, `sha256` by these."""

    name: str
    title: str
    repo: str
    revision: str
    size: int
    parameters: int
    dimension: int
    tokens: int
    multilingual: bool
    languages: str
    licence: str
    files: tuple[str, ...]
    note: str = ""
    query: str = ""
    passage: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)
    package: str = ""

    @property
    def url(self) -> str:
        """The page where a person finds it."""
        return f"https://huggingface.co/{self.repo}"

    @property
    def prompts(self) -> bytes:
        """The file that tells sentence-transformers what stands before questions and passages; empty for nothing."""
        said = {"query": self.query, "document": self.passage}
        return json.dumps({"prompts": said}).encode() if any(said.values()) else b""


@cache
def read_encoders(file: Path = CATALOGUE) -> tuple[EncoderEntry, ...]:
    """Return all entries, in the order of the file. Raises UsageError if it is not valid."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        entries = (EncoderEntry(name=name, **fields) for name, fields in data.items())
        return tuple(replace(entry, files=tuple(entry.files)) for entry in entries)
    except (OSError, tomllib.TOMLDecodeError, TypeError) as error:
        raise UsageError(f"The catalogue of encoders {file} cannot be read: {error}.", "Restore it.") from error


def encoder_entry(name: str) -> EncoderEntry:
    """Return the entry called `name`. Raises UsageError with the names that exist."""
    known = {entry.name: entry for entry in read_encoders()}
    if name not in known:
        raise UsageError(f"There is no encoder called {name!r}.", f"Choose one of: {', '.join(known)}.")
    return known[name]


def models_of(chosen: RetrievalSettings) -> tuple[str, ...]:
    """Return the models that a recipe names; "" is a bundled one, or none."""
    return (*parts_of(chosen.embedding_model), chosen.late_model, chosen.reranker)


def title_of_encoder(name: str) -> str:
    """Return what people call an encoder: the title in the catalogue, else its name."""
    return encoder_entry(name).title if is_encoder(name) else name


def is_encoder(name: str) -> bool:
    """Whether an encoder of the catalogue goes by this name."""
    return any(entry.name == name for entry in read_encoders())


def knows(path_or_name: str, language: str) -> bool:
    """Whether an encoder compares meanings in a language, as far as is known: nothing is said of people's own.

    "" is the bundled one.
    """
    if language in (ENGLISH, UNKNOWN, ""):
        return True
    known = {entry.name: entry.multilingual for entry in read_encoders()} | {"": False}
    return known.get(path_or_name, True)


def fetch_encoder(
    entry: EncoderEntry,
    folder: Path,
    *,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: StopSignal | None = None,
) -> Path:
    """Fetch the files of an encoder into its folder below `folder`, and return that; the weights come last.

    Files that are here and whole are not fetched again, an interrupted one goes on. Raises as `download` does.
    """
    target, before = folder / entry.name, 0

    def report(step: Progress) -> None:
        left = step.seconds_left
        on_progress(Progress(step.phase, min(before + step.done, entry.size), entry.size, left) if step.total else step)

    for path in entry.files:
        remote = HubFile(entry.repo, entry.revision, path, entry.sha256.get(path, ""), otherwise=OTHERWISE)
        found = target / path
        if not found.is_file() or remote.sha256:
            download(remote, found.parent, on_progress=report, stop=stop)
        before += found.stat().st_size
    if entry.prompts:
        try:
            write_atomically(target / PROMPTS, entry.prompts)
        except OSError as error:
            raise cannot_write(target / PROMPTS, error, "What has arrived is kept.") from error
    return target


@dataclass(frozen=True, slots=True)
class EncoderFile:
    """An encoder that can be had: `path` is its folder, "" where it is not (wholly) here; `partial` what is here."""

    entry: EncoderEntry
    path: str = ""
    partial: int = 0


class EncoderFiles:
    """The folder of encoders, what is fetched into it, and which one was chosen while the program runs.

    `chosen` is None as long as the settings' one counts. Makes nothing before it is asked to.
    """

    def __init__(self, models_folder: Path) -> None:
        self.folder = models_folder / FOLDER
        self.downloads = Downloads(self.folder, fetch_encoder)
        self.chosen: str | None = None

    def all(self) -> tuple[EncoderFile, ...]:
        """Return the encoders of the catalogue."""
        return tuple(self._of(entry) for entry in read_encoders())

    def _of(self, entry: EncoderEntry) -> EncoderFile:
        folder = self.folder / entry.name
        wanted = [folder / path for path in entry.files] + ([folder / PROMPTS] if entry.prompts else [])
        if all(path.is_file() for path in wanted):
            return EncoderFile(entry, str(folder))
        whole = sum(path.stat().st_size for path in wanted if path.is_file())
        return EncoderFile(entry, partial=whole + sum(partial_bytes(path.parent, path.name) for path in wanted))

    def trained(self) -> tuple[TrainedModel, ...]:
        """Return the models that were trained here, of all kinds, by name."""
        return trained_models(self.folder)

    def foreign(self, named: Iterable[str]) -> tuple[str, ...]:
        """Return those of some models that are neither bundled, of the catalogue nor trained here: paths, hub names.

        Whoever asks for one of them has this computer open a folder or fetch files.
        """
        known = {"", *(one.name for one in read_encoders()), *(one.name for one in self.trained())}
        return tuple(name for name in dict.fromkeys(named) if name not in known)

    def folders(self, path_or_name: str) -> tuple[str, ...]:
        """Return the folder of an encoder, see `find`, or the two of a pair: one that was trained here, or "A + B"."""
        found = tuple(self.find(part) for part in parts_of(path_or_name))
        model = trained_model(self.folder, path_or_name)
        return pair_in(found[0]) if model is not None and model.record.kind == DPR else found

    def find_late(self, path_or_name: str) -> str:
        """Return the folder of a late interaction model that was trained here, any other path or name as it is.

        Raises ModelError where the model is of another kind.
        """
        return trained_path(self.folder, path_or_name, LATE) or path_or_name

    def find(self, path_or_name: str) -> str:
        """Return the folder of an encoder that was trained here or is of the catalogue, any other as it is.

        Raises ModelError where it is not here, or not wholly, or is of another kind.
        """
        if not is_encoder(path_or_name):
            return trained_path(self.folder, path_or_name, EMBEDDING) or path_or_name
        entry = encoder_entry(path_or_name)
        found = self._of(entry)
        if not found.path:
            raise ModelError(
                f"The encoder {entry.title} is not on this computer.",
                f"Get it on the Models tab, or with: pdfqa models download {entry.name}  ({entry.size / 1e6:,.0f} MB).",
            )
        return found.path

    def download(self, name: str, then: Callable[[], None] = lambda: None) -> None:
        """Fetch an encoder in the background. Raises UsageError for a name that is not known."""
        self.downloads.start(encoder_entry(name), then)

    def remove(self, name: str) -> bool:
        """Delete the files of an encoder, or of a model that was trained here; return whether there were any.

        Raises PdfQAError while it is fetched, and UsageError for a name that is not known.
        """
        state = self.downloads.get(name)
        if state is not None and state.state == "downloading":
            raise PdfQAError(f"{encoder_entry(name).title} is being downloaded.", "Stop that first.")
        if trained_model(self.folder, name) is None:
            encoder_entry(name)
        self.downloads.clear(name)
        folder = self.folder / name
        if not folder.is_dir():
            return False
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise StorageError(
                f"{error.filename} cannot be deleted: {error.strerror}.", "Check the folder's permissions."
            ) from error
        return True


# ----------------------------------------------------------------------------------------------------
# The model files: those of the catalogue, those added by path, and what was chosen among them.


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


# Tokens a second at which people read: 238 words a minute (Brysbaert 2019), four tokens for three words.
READING_PACE = 238 / 60 * 4 / 3
SUGGESTED = {"small and quick": 4.0, "balanced": 2.0, "best that fits": 1.0}  # times the pace at which people read


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
        path = on_disk(one, *self.folders)
        size = path.stat().st_size if path else one.size
        needed = one.memory(llm.context_size, llm.batch_size)
        return ModelFile(
            one.name,
            one.title,
            one.licence,
            size,
            needed,
            fit(needed, machine),
            one.context,
            path=str(path or ""),
            parameters=one.parameters,
            note=one.note,
            accept=one.accept,
            sources=() if one.package else one.sources,
            partial=0 if path else partial_bytes(self.folder, one.file),
            bundled=bool(one.package),
            removable=path is not None and not one.package,
        )

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
            str(path),
            header.title or path.stem,
            header.licence,
            header.size,
            needed,
            fit(needed, machine) if needed else None,
            header.number("context_length"),
            path=str(path),
            added=True,
            removable=True,
        )

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

    def keep_measured(self, rate: float) -> None:
        """Keep how many bytes of its file a model reads in a second while it writes: the file once for each token.

        The largest rate measured on this machine is kept: other programs can only have slowed it.
        """
        if rate > self._bytes_a_second():
            self._write(measured={"rate": rate, "machine": platform.node()})

    def expected_speed(self, size: int) -> float | None:
        """Return the tokens a second expected of a file of `size` bytes here; None before one was measured."""
        return self._bytes_a_second() / size or None if size else None

    def _bytes_a_second(self) -> float:
        """Return how fast a file's weights are read while an answer is written, 0 where that was not measured here."""
        measured = read_choices(self._workspace).get("measured")
        known = measured if isinstance(measured, dict) else {}
        return float(known.get("rate", 0)) if known.get("machine") == platform.node() else 0.0

    def suggested(self, llm: LLMSettings) -> tuple[tuple[str, ModelFile, float], ...]:
        """Return which models this machine runs well: in words, the model, and the tokens a second expected.

        Each is the largest of the catalogue that its memory holds with room to spare and that writes four times, twice
        or just as fast as people read. Nothing before a speed is known, see `keep_measured`.
        """
        free, speed = (self._machine or memory()).free, self._bytes_a_second()
        writing = [one for one in self.all(llm) if not one.added and entry(one.name).reader == OWN_WORDS]
        room = [one for one in writing if one.memory <= COMFORTABLE * free or one.name == llm.model]
        found = []
        for words, pace in SUGGESTED.items():
            if fast := [one for one in room if speed / one.size >= pace * READING_PACE]:
                best = max(fast, key=lambda one: one.size)
                found.append((words, best, speed / best.size))
        return tuple(found)

    def _write(self, **values: Any) -> None:
        data = {**read_choices(self._workspace), **values}
        target = self._workspace / CHOICES
        try:
            self._workspace.mkdir(parents=True, exist_ok=True)
            write_atomically(target, json.dumps(data, indent=1).encode())
        except OSError as error:
            raise cannot_write(target, error) from error
