"""Models that were trained here: they lie beside the encoders of the catalogue, each in a folder of its name."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.json_codec import encode
from pdfqa_core.training import CARD, LATE_INTERACTION, NOT_STATED, RECORD, Compared, TrainingRecord, card, read_record
from pdfqa_core.whole_files import cannot_write, sync_folder, unfinished_name, write_atomically

# ----------------------------------------------------------------------------------------------------
# The licence of a model that training starts from, as its card says.


def stated_licence(path_or_name: str) -> str:
    """Return the licence in the header of a model's card, or NOT_STATED.

    The card is README.md in its folder; that of a model named as on the hub is looked for among downloaded files.
    Takes nothing from the network.
    """
    from huggingface_hub.repocard import metadata_load

    card = _card(path_or_name)
    try:
        header = metadata_load(card) if card else None
    except Exception:  # noqa: BLE001 - what reads YAML has errors of its own
        return NOT_STATED
    header = header or {}
    found, name = header.get("license"), header.get("license_name")
    if isinstance(found, Sequence) and not isinstance(found, str):
        found = ", ".join(map(str, found))
    if str(found or "").casefold() == "other" and name:
        found = name
    return str(found) if found else NOT_STATED


def _card(path_or_name: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    folder = Path(path_or_name).expanduser()
    if folder.is_dir():
        return folder / CARD if (folder / CARD).is_file() else None
    try:
        found = try_to_load_from_cache(path_or_name, CARD)
    except HFValidationError:  # no name of the hub
        return None
    return Path(found) if isinstance(found, str) else None


# ----------------------------------------------------------------------------------------------------
# Models that were trained here: they lie beside the encoders of the catalogue, each in a folder of its name.

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
EMBEDDING, LATE = "embedding_model", "late_model"  # the settings of retrieval that take the name of a trained model


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A model that was trained here: its name, its folder, and how it came about."""

    name: str
    path: str
    record: TrainingRecord

    @property
    def setting(self) -> str:
        """The setting of retrieval that takes its name."""
        return LATE if self.record.kind == LATE_INTERACTION else EMBEDDING

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


def trained_path(folder: Path, name: str, setting: str) -> str:
    """Return the folder of a model that this setting takes, "" where none goes by the name.

    Raises ModelError where another setting takes it.
    """
    found = trained_model(folder, name)
    if found is None:
        return ""
    if found.setting != setting:
        raise ModelError(f"{name} is a {found.record.kind} model.", f"Name it as {found.setting}.")
    return found.path


def keep_trained(folder: Path, record: TrainingRecord, save: Callable[[Path], None]) -> TrainedModel:
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
