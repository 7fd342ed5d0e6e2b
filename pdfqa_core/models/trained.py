"""Models that were trained here: they lie beside the encoders of the catalogue, each in a folder of its name."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.full_disk import cannot_write
from pdfqa_core.json_codec import encode
from pdfqa_core.training import BI_ENCODER, CARD, RECORD, Compared, TrainingRecord, card, read_record
from pdfqa_core.whole_files import sync_folder, unfinished_name, write_atomically

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
SETTING = {True: "embedding_model", False: "late_model"}  # by whether it is a bi-encoder


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A model that was trained here: its name, its folder, and how it came about."""

    name: str
    path: str
    record: TrainingRecord

    @property
    def setting(self) -> str:
        """The setting of retrieval that takes its name."""
        return SETTING[self.record.kind == BI_ENCODER]

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.stat().st_size for file in Path(self.path).rglob("*") if file.is_file())


def check_name(name: str) -> None:
    """Raise UsageError for a name that cannot be a folder's."""
    if not _NAME.fullmatch(name) or name.endswith("."):
        raise UsageError(
            f"A model cannot be called {name!r}.", "Use up to 60 letters, digits, points, hyphens and underscores."
        )


def trained_model(folder: Path, name: str) -> TrainedModel | None:
    """Return the model of this name; None where there is none."""
    if not _NAME.fullmatch(name):
        return None
    record = read_record(folder / name)
    return None if record is None else TrainedModel(name, str(folder / name), record)


def trained_models(folder: Path) -> tuple[TrainedModel, ...]:
    """Return all of them, by name."""
    names = sorted(path.parent.name for path in folder.glob(f"*/{RECORD}"))
    found = (trained_model(folder, name) for name in names)
    return tuple(one for one in found if one is not None)


def trained_path(folder: Path, name: str, kind: str) -> str:
    """Return the folder of a model of this kind, "" where none goes by the name.

    Raises ModelError where the model is of the other kind.
    """
    found = trained_model(folder, name)
    if found is None:
        return ""
    if found.record.kind != kind:
        raise ModelError(f"{name} is a {found.record.kind} model.", f"Name it as {found.setting}.")
    return found.path


def keep_trained(
    folder: Path, record: TrainingRecord, save: Callable[[Path], None]
) -> TrainedModel:  # fmt: skip
    """Save a model with its record and card as `folder`/name: all of it or nothing. `save` writes the weights.

    Raises StorageError where it cannot be written, UsageError where the name is taken.
    """
    target, temporary = folder / record.name, unfinished_name(folder)
    if target.exists():
        raise UsageError(f"There is a model called {record.name} already.", "Choose another name, or remove it.")
    try:
        temporary.mkdir(parents=True)
        save(temporary)
        write_atomically(temporary / CARD, card(record).encode())
        write_atomically(temporary / RECORD, encode(record).encode())
        temporary.replace(target)
        sync_folder(folder)
    except Exception as error:  # what writes safetensors has errors of its own
        shutil.rmtree(temporary, ignore_errors=True)
        raise cannot_write(f"the model {record.name} in {folder}", error, "What was learnt is kept: go on.") from error
    return TrainedModel(record.name, str(target), record)


def note_people(model: TrainedModel, name: str, scores: Mapping[str, Compared]) -> TrainedModel:
    """Keep scores on questions of people, by measure, in a model's record and card; return the model as it is then.

    Those that go by the same name are replaced. Raises StorageError.
    """
    record = replace(model.record, people={**model.record.people, name: scores})
    folder = Path(model.path)
    try:
        write_atomically(folder / CARD, card(record).encode())
        write_atomically(folder / RECORD, encode(record).encode())
    except OSError as error:
        raise cannot_write(folder / RECORD, error, "The model is kept as it was.") from error
    return replace(model, record=record)
