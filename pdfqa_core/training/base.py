"""What a retriever is trained on: questions with the passage that answers each, hard negatives, and the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pdfqa_core.errors import UsageError
from pdfqa_core.types import Passage

BI_ENCODER, DPR, LATE_INTERACTION = "bi-encoder", "dpr", "late-interaction"
KINDS = (BI_ENCODER, DPR, LATE_INTERACTION)
ROUNDS = 2  # "steps two and three are repeated once", seed 001
Precision: TypeAlias = Literal["auto", "fp32", "bf16"]
Keep: TypeAlias = Literal["best", "last"]
Similarity: TypeAlias = Literal["cosine", "dot"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and the passage that answers it: (q, p+)."""

    id: str
    question: str
    positive: Passage


@dataclass(frozen=True, slots=True)
class Example:
    """A pair with its hard negatives, best first. `found`: the out-of-domain retriever has p+ among its first k."""

    pair: Pair
    negatives: tuple[Passage, ...] = ()
    found: bool = False

    @property
    def triples(self) -> tuple[tuple[str, Passage, Passage], ...]:
        """The triples (q, p+, p-) of the pair."""
        return tuple((self.pair.question, self.pair.positive, negative) for negative in self.negatives)


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How a model is trained.

    `steps` are those of each round, `batch` the questions of a step, `hard_negatives` those of each question in a step;
    the passages of the other questions are its in-batch negatives. `learning_rate` is the highest one: it rises over
    the first `warm_up` (share of the steps) and falls to 0 at the end. `scale` multiplies scores before the softmax (0:
    the model's own). `chunk` texts are computed at once, whatever the batch. `precision` "auto" is bf16 where the
    device has it, else fp32. Every `evaluate_every` steps HR@k, MRR and loss on held-out documents are taken; after
    `patience` times without a better one the round ends (0: never). `keep` "best" takes the weights that scored best;
    "last" those of the last of all `steps`, which no score ends early. A bi-encoder's vectors are compared by
    `similarity`: "cosine", or "dot" for the products S = Q Pᵀ of vectors of any length. A DPR pair always takes "dot",
    late interaction cosines of tokens.
    """

    steps: int = 200
    batch: int = 32
    hard_negatives: int = 1
    learning_rate: float = 2e-5
    warm_up: float = 0.1
    scale: float = 0.0
    chunk: int = 16
    precision: Precision = "auto"
    evaluate_every: int = 25
    patience: int = 2
    k: int = 5
    seed: int = 0
    keep: Keep = "best"
    similarity: Similarity = "cosine"

    def check(self) -> None:
        """Raise UsageError where training cannot be done like this."""
        least = {"steps": 1, "batch": 2, "hard_negatives": 0, "chunk": 1, "evaluate_every": 1, "patience": 0, "k": 1}
        for name, smallest in least.items():
            value = getattr(self, name)
            if value < smallest:
                raise UsageError(f"{name} is {value}.", f"It must be {smallest} or more.")
        if not 0 < self.learning_rate < 1:
            raise UsageError(f"learning_rate is {self.learning_rate}.", "Give a small number such as 2e-5.")
        if not 0 <= self.warm_up <= 1:
            raise UsageError(f"warm_up is {self.warm_up}.", "It is a share of the steps, 0 to 1.")
        if self.scale < 0:
            raise UsageError("scale cannot be below 0.", "Change it.")
