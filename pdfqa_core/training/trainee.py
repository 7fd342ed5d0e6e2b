"""What both kinds of model share while they are trained: texts to vectors with gradients, scores, saving."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from pdfqa_core.errors import StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.model_folder import encodable, prompts
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Progress

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Embedded: TypeAlias = "tuple[Tensor, Tensor]"  # vectors (n x tokens x d) of length 1 and mask (n x tokens)
SCORED_AT_ONCE = 16  # texts, where nothing is learnt
ENCODING = "scoring held-out questions"


class Trainee(ABC):
    """A model of sentence-transformers that is being trained; it is nobody else's.

    `scale` is what scores are multiplied by before the softmax where the settings name nothing.
    """

    kind: ClassVar[str]
    scale: ClassVar[float]

    def __init__(self, model: Any) -> None:
        self.model = model
        self.prompts = prompts(model)

    @classmethod
    @abstractmethod
    def load(cls, path_or_name: str, device: str | None = None) -> Self:
        """Return the model at a path or of a hub name ("" is the bundled one). Raises ModelError."""

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        found: torch.device = self.model.device
        return found

    def _features(self, texts: Sequence[str], question: bool) -> Any:
        """Return what the model makes of texts."""
        from sentence_transformers.util import batch_to_device

        task = "query" if question else "document"
        prompt = self.prompts["question" if question else "document"] or None
        made = self.model.preprocess([encodable(text) for text in texts], prompt=prompt, task=task)
        return self.model(batch_to_device(made, self.device), task=task)

    @abstractmethod
    def embed(self, texts: Sequence[str], *, question: bool) -> Embedded:
        """Return the vectors of texts, with gradients where these are on."""

    @abstractmethod
    def scores(self, questions: Embedded, passages: Embedded) -> Tensor:
        """Return the score of every question with every passage (n x m)."""

    def similarities(
        self, questions: Sequence[str], passages: Sequence[str], *,
        on_progress: Callable[[Progress], None] | None = None, stop: StopSignal | None = None,
    ) -> npt.NDArray[np.float32]:  # fmt: skip
        """Return the score of every question with every passage (n x m), learning nothing. Raises StoppedError."""
        import torch

        self.model.eval()
        total = len(questions) + len(passages)
        done, pieces = 0, dict[bool, list[Embedded]]({True: [], False: []})
        with torch.inference_mode():
            for question, texts in ((True, questions), (False, passages)):
                for part in chunks(texts, SCORED_AT_ONCE):
                    if is_set(stop):
                        raise StoppedError("Scoring was stopped.")
                    pieces[question].append(self.embed(part, question=question))
                    done += len(part)
                    if on_progress is not None:
                        on_progress(Progress(ENCODING, done, total))
            asked = joined(pieces[True])
            columns = [self.scores(asked, piece).float().cpu().numpy() for piece in pieces[False]]
        return np.concatenate(columns, axis=1) if columns else np.zeros((len(questions), 0), np.float32)

    def save(self, folder: Path) -> None:
        """Write the model into a folder, as sentence-transformers loads it; weights are safetensors."""
        self.model.save_pretrained(str(folder), create_model_card=False)


def chunks(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Yield the texts, so many at a time."""
    for first in range(0, len(texts), size):
        yield texts[first : first + size]


def joined(pieces: Sequence[Embedded]) -> Embedded:
    """Return pieces as one, the shorter ones filled up with tokens that do not count."""
    import torch
    from torch.nn.functional import pad

    longest = max(mask.shape[1] for _, mask in pieces)
    vectors = [pad(vectors, (0, 0, 0, longest - vectors.shape[1])) for vectors, _ in pieces]
    return torch.cat(vectors), torch.cat([pad(mask, (0, longest - mask.shape[1])) for _, mask in pieces])


@contextmanager
def same_chance(trainee: Trainee, seed: int) -> Iterator[None]:
    """Let dropout inside follow from `seed` alone, and leave chance outside as it was."""
    import torch

    devices = [trainee.device] if trainee.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
