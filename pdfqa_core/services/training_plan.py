"""What a training is asked to do, what it begins with, and what was asked of one that was stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.full_disk import cannot_write
from pdfqa_core.json_codec import encode, restore
from pdfqa_core.models.trained import check_name
from pdfqa_core.settings import Settings, load
from pdfqa_core.training import BI_ENCODER, KINDS, MARGIN, Checkpoint, Estimate, State, TrainingSettings
from pdfqa_core.whole_files import write_atomically

PLAN = "plan.json"


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """What is trained on what.

    `kind` is one of KINDS, `name` what the model will be called ("": the first free one). `base` is a path, a hub name
    or a name known here ("": what the settings name). Hard negatives are among the first `k` of the settings'
    retriever; `margin` and `teacher` (path or hub name of a cross-encoder, "": the retriever's scores) filter them.
    `held_out` is the share of questions whose documents are held out. `unreviewed` takes questions nobody has looked at
    besides those accepted. `restart` forgets a run that was stopped. No `document_ids`: all documents.
    """

    kind: str = BI_ENCODER
    name: str = ""
    base: str = ""
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    k: int = 20
    margin: float = MARGIN
    teacher: str = ""
    held_out: float = 0.2
    unreviewed: bool = False
    restart: bool = False
    device: str = ""
    document_ids: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise UsageError where it cannot be carried out."""
        if self.kind not in KINDS:
            raise UsageError(f"There is no kind of model called {self.kind!r}.", f"Choose one of: {', '.join(KINDS)}.")
        if self.name:
            check_name(self.name)
        if self.k < 1 or not 0 <= self.margin <= 1 or not 0 < self.held_out < 1:
            raise UsageError(
                f"k is {self.k}, margin {self.margin} and the share held out {self.held_out}.",
                "k is 1 or more, the margin 0 to 1, and the share between 0 and 1.",
            )
        if self.settings.distil and not self.teacher:
            raise UsageError("Margin distillation needs a teacher.", "Name a cross-encoder as teacher, or turn it off.")
        self.settings.check()


@dataclass(frozen=True, slots=True)
class Prepared:
    """What training starts with: counts, what it will take at most, and sentences that the user should know."""

    name: str
    questions: int
    held_out: int
    passages: int
    negatives: int
    estimate: Estimate
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A training that was stopped or broken off. `state` is where it stands, None where no step was kept."""

    owner: str
    plan: TrainingPlan
    settings: Settings
    state: State | None


def keep_plan(folder: Path, owner: str, plan: TrainingPlan, settings: Settings) -> None:
    """Keep beside the checkpoint in `folder` what was asked for. Raises StorageError."""
    chosen = settings.model_dump(mode="json", exclude={"server"}, exclude_unset=True)
    data: dict[str, Any] = {"owner": owner, "plan": plan, "settings": chosen}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / PLAN, encode(data).encode())
    except OSError as error:
        raise cannot_write(folder / PLAN, error, "Nothing was begun.") from error


def unfinished(folder: Path, owner: str) -> Iterator[Unfinished]:
    """Yield the owner's trainings below `folder` that were not finished, by name; what cannot be read is left out."""
    for file in sorted(folder.glob(f"*/{PLAN}")):
        try:
            data = json.loads(file.read_bytes())
            plan = restore(TrainingPlan, data["plan"])
            if data["owner"] != owner or plan.name != file.parent.name:
                continue
            settings = load(data["settings"])
        except (OSError, ValueError, TypeError, KeyError, AttributeError, PdfQAError):
            continue
        yield Unfinished(owner, plan, settings, _state(file.parent))


def _state(folder: Path) -> State | None:
    try:
        return Checkpoint(folder).read_state()
    except UsageError:  # damaged; whoever goes on with it is told
        return None
