"""What is known of a model that was trained here, kept beside its weights; `card` tells it to people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.json_codec import decode
from pdfqa_core.training.base import TrainingSettings
from pdfqa_core.training.checkpoint import RoundRecord, Scored
from pdfqa_core.training.leakage import TrainedOn
from pdfqa_core.training.ranks import Compared

RECORD = "training.json"
NO_HELP = (
    "Training did not help: on held-out questions the model is not better than the one it started from. Use that one."
)
UNCERTAIN = (
    "The model is better on held-out questions, but so few or so little that it may be chance (the interval of the "
    "difference includes 0)."
)


@dataclass(frozen=True, slots=True)
class TrainingRecord:
    """How a model came about.

    `base` is the model it started from ("" the bundled one), `retriever` the out-of-domain one that hard negatives are
    of, among its first `k`. `trained_on` keeps others from measuring the model with what it has seen. `compared` are
    scores of `held_out` questions before and after, among all passages.
    """

    name: str
    kind: str
    base: str
    base_licence: str
    data_hash: str
    settings_fingerprint: str
    retriever: str
    k: int
    settings: TrainingSettings
    examples: int
    held_out: int
    rounds: tuple[RoundRecord, ...]
    scores: tuple[Scored, ...]
    losses: tuple[tuple[int, int, float], ...]
    compared: Mapping[str, Compared]
    seconds: float
    made_at: datetime
    versions: Mapping[str, str]
    trained_on: TrainedOn
    notes: tuple[str, ...] = ()

    @property
    def gain(self) -> Compared:
        """HR@k before and after, what decides whether training helped."""
        return next(one for name, one in self.compared.items() if name.startswith("HR@"))

    @property
    def helped(self) -> bool:
        """Whether HR@k or, where that is the same, MRR rose on held-out questions."""
        return (self.gain.difference.mean or 0.0, self.compared["MRR"].difference.mean or 0.0) > (0.0, 0.0)

    @property
    def warning(self) -> str:
        """A sentence where training did not help, or nobody can tell; "" where it did."""
        if not self.helped:
            return NO_HELP
        sure = any((one.difference.low or 0.0) > 0 for one in self.compared.values())
        return "" if sure else UNCERTAIN


def read_record(folder: Path) -> TrainingRecord | None:
    """Return the record in a model's folder; None where the model was not trained here, or it is damaged."""
    try:
        return decode(TrainingRecord, (folder / RECORD).read_bytes())
    except (OSError, UsageError):
        return None
