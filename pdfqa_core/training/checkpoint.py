"""Where training stands, in one file that is either whole or the one before: weights, optimizer, scores.

Safetensors, whose header holds the rest as JSON: nothing in it can run code when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdfqa_core.errors import UsageError
from pdfqa_core.json_codec import decode, encode
from pdfqa_core.whole_files import cannot_write, unfinished

if TYPE_CHECKING:
    from torch import Tensor

FILE = "checkpoint.safetensors"
STATE = "state"  # in the header
WEIGHTS, OPTIMIZER, BEST = "weights.", "optimizer.", "best."  # what names of tensors begin with


@dataclass(frozen=True, slots=True)
class Scored:
    """HR@k, MRR and the loss (nats) on held-out questions after a step of a round; step 0 is before the first."""

    round: int
    step: int
    hit_rate: float
    mrr: float
    loss: float | None = None

    @property
    def key(self) -> tuple[float, float, float]:
        """What steps are ordered by: HR@k, where that is equal MRR, and where both are the loss in thousandths."""
        return self.hit_rate, self.mrr, -inf if self.loss is None else -round(self.loss, 3)


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """What came of a round: questions before and after filtering, steps taken, the last loss, the best score if any.

    `found_by_new` and `found_by_old` count the questions whose passage the new and the out-of-domain model found.
    """

    round: int
    questions: int
    kept: int
    steps: int
    loss: float | None
    best: Scored | None
    found_by_new: int
    found_by_old: int

    @property
    def best_scores(self) -> tuple[float | None, float | None]:
        """HR@k and MRR of the best score; None where nothing is held out."""
        return (None, None) if self.best is None else (self.best.hit_rate, self.best.mrr)


@dataclass(slots=True)
class State:
    """Where training stands. `losses` are (round, step, loss); `kept` the ids of the questions not filtered out.

    `before` and `after` are the ranks of held-out questions among all passages, 0 for not found.
    """

    run: str
    round: int = 1
    step: int = 0
    losses: tuple[tuple[int, int, float], ...] = ()
    scores: tuple[Scored, ...] = ()
    best: Scored | None = None
    kept: tuple[str, ...] = ()
    records: tuple[RoundRecord, ...] = ()
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    seconds: float = 0.0

    def tried_since_best(self) -> int:
        """Return how often held-out questions were scored in this round since the best score, without a better one."""
        if self.best is None:
            return 0
        place = (self.best.round, self.best.step)
        return sum((one.round, one.step) > place and one.round == self.round and one.step > 0 for one in self.scores)


Tensors = dict[str, "Tensor"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint of a training run in its folder."""

    folder: Path

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / FILE

    def write(self, state: State, weights: Mapping[str, Tensor], optimizer: Any, best: Mapping[str, Tensor]) -> None:
        """Write all of it, or leave what was there. Raises StorageError where the disk is full or cannot be written."""
        named: Tensors = {f"{WEIGHTS}{name}": tensor for name, tensor in weights.items()}
        named |= {f"{BEST}{name}": tensor for name, tensor in best.items()}
        if optimizer is not None:
            for place, values in optimizer.state_dict()["state"].items():
                named |= {f"{OPTIMIZER}{place}.{name}": tensor for name, tensor in values.items()}
        write_tensors(self.path, named, {STATE: encode(state)}, self._kept(state))

    def _kept(self, state: State) -> str:
        there = self.path.is_file()
        return (
            "The last good checkpoint is kept: the same training goes on from it."
            if there or state.step
            else "Nothing was learnt yet."
        )

    def read_state(self) -> State | None:
        """Return where training stands; None where it has not begun. Raises UsageError for a damaged file."""
        if not self.path.is_file():
            return None
        try:
            from safetensors import safe_open

            with safe_open(str(self.path), framework="pt") as opened:
                return decode(State, opened.metadata()[STATE])
        except Exception as error:
            raise self._damaged(error) from error

    def read_tensors(self) -> tuple[Tensors, dict[int, Tensors], Tensors]:
        """Return weights, the optimizer's tensors by place, and the best weights. Raises UsageError if damaged."""
        try:
            from safetensors.torch import load_file

            found: Tensors = load_file(str(self.path))
        except Exception as error:
            raise self._damaged(error) from error
        optimizer: dict[int, Tensors] = {}
        for name, tensor in _below(found, OPTIMIZER).items():
            place, _, key = name.partition(".")
            optimizer.setdefault(int(place), {})[key] = tensor
        return _below(found, WEIGHTS), optimizer, _below(found, BEST)

    def _damaged(self, error: Exception) -> UsageError:
        return UsageError(
            f"The checkpoint {self.path} cannot be read ({type(error).__name__}).",
            "Delete what was learnt on the Train tab, or start anew with --restart.",
        )


def _below(tensors: Tensors, beginning: str) -> Tensors:
    return {name.removeprefix(beginning): one for name, one in tensors.items() if name.startswith(beginning)}


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str], kept: str) -> None:
    """Write tensors so that `path` holds all of them, or what it held before.

    Raises StorageError; `kept` is what that says of a full disk.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished(path) as temporary:
            save_file(
                {name: one.detach().cpu().contiguous() for name, one in tensors.items()}, temporary, dict(metadata)
            )
    except (OSError, SafetensorError) as error:
        raise cannot_write(path, error, kept) from error
