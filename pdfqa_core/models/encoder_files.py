"""Encoders of the catalogue (models/encoders.toml): which there are, fetching them, and the one in use."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from pdfqa_core.errors import ModelError, PdfQAError, StorageError, UsageError
from pdfqa_core.full_disk import cannot_write
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.languages import ENGLISH, UNKNOWN
from pdfqa_core.llm.download import download, partial_bytes
from pdfqa_core.llm.downloads import Downloads
from pdfqa_core.llm.remote import HubFile
from pdfqa_core.models.trained import TrainedModel, trained_model, trained_models, trained_path
from pdfqa_core.retrieval.paired_encoder import parts_of
from pdfqa_core.settings import RetrievalSettings
from pdfqa_core.training import BI_ENCODER, LATE_INTERACTION
from pdfqa_core.types import Progress
from pdfqa_core.whole_files import write_atomically

CATALOGUE = Path(__file__).resolve().parents[2] / "models" / "encoders.toml"
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
    entry: EncoderEntry, folder: Path, *, on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: StopSignal | None = None,
) -> Path:  # fmt: skip
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
        """Return the models that were trained here, of both kinds, by name."""
        return trained_models(self.folder)

    def foreign(self, named: Iterable[str]) -> tuple[str, ...]:
        """Return those of some models that are neither bundled, of the catalogue nor trained here: paths, hub names.

        Whoever asks for one of them has this computer open a folder or fetch files.
        """
        known = {"", *(one.name for one in read_encoders()), *(one.name for one in self.trained())}
        return tuple(name for name in dict.fromkeys(named) if name not in known)

    def find_late(self, path_or_name: str) -> str:
        """Return the folder of a late interaction model that was trained here, any other path or name as it is.

        Raises ModelError where the model is of another kind.
        """
        return trained_path(self.folder, path_or_name, LATE_INTERACTION) or path_or_name

    def find(self, path_or_name: str) -> str:
        """Return the folder of an encoder that was trained here or is of the catalogue, any other as it is.

        Raises ModelError where it is not here, or not wholly, or is of another kind.
        """
        if not is_encoder(path_or_name):
            return trained_path(self.folder, path_or_name, BI_ENCODER) or path_or_name
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
