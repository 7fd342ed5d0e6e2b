"""What all kinds of model share while they are trained: texts to vectors with gradients, scores, saving."""

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
from pdfqa_core.retrieval.encoder import Encoder
from pdfqa_core.retrieval.late_interaction import LateEncoder
from pdfqa_core.retrieval.model_folder import COSINE, DOT, encodable, prompts
from pdfqa_core.streaming import is_set
from pdfqa_core.training.base import BI_ENCODER, DPR, LATE_INTERACTION, Similarity
from pdfqa_core.types import Progress

if TYPE_CHECKING:
    import torch
    from torch import Tensor


# ----------------------------------------------------------------------------------------------------
# The loss of a retriever: negative log-likelihood of the right passage among those of the batch.
#
# Sources: Karpukhin et al. 2020, "Dense Passage Retrieval", equation 2 and section 3.2 (in-batch negatives); Khattab
# and Zaharia 2020, "ColBERT", for the score of late interaction.


def inner_products(questions: Tensor, passages: Tensor) -> Tensor:
    """Return S = Q Pᵀ (n x m) of question vectors (n x d) and passage vectors (m x d)."""
    return questions @ passages.T


def maxsim(questions: Tensor, question_mask: Tensor, passages: Tensor, passage_mask: Tensor) -> Tensor:
    """Return the score of late interaction (n x m): Σ over question tokens of the largest product with a passage token.

    Vectors are (n x tokens x d) and (m x tokens x d), masks (n x tokens) and (m x tokens), true where a token counts.
    """
    from sentence_transformers.util.similarity import maxsim as scored

    found: Tensor = scored(questions, passages, a_mask=question_mask, b_mask=passage_mask)
    return found


def in_batch_loss(scores: Tensor, positives: Tensor, ignored: Tensor | None = None) -> Tensor:
    """Return the mean of -log softmax(scores of a question) at its own passage, a number.

    `scores` is (questions x passages): the columns hold the passages of all questions and their hard negatives.
    `positives` (questions) is the column of each question's passage. `ignored` (questions x passages) is true where a
    passage is no negative of a question, because it answers it too.
    """
    from torch.nn.functional import cross_entropy

    if ignored is not None:
        scores = scores.masked_fill(ignored, float("-inf"))
    return cross_entropy(scores, positives)


# ----------------------------------------------------------------------------------------------------
# What all kinds of model share while they are trained: texts to vectors with gradients, scores, saving.

Embedded: TypeAlias = "tuple[Tensor, Tensor]"  # vectors (n x tokens x d) and mask (n x tokens)
SCORED_AT_ONCE = 16  # texts, where nothing is learnt
ENCODING = "scoring held-out questions"


class Trainee(ABC):
    """A model of sentence-transformers that is being trained; it is nobody else's.

    `similarity` is what vectors are compared by, `before` what the model that it starts from was made for.
    """

    kind: ClassVar[str]

    def __init__(self, model: Any, similarity: Similarity = COSINE, before: Similarity = COSINE) -> None:
        self.model = model
        self.similarity = similarity
        self.before = before

    @classmethod
    @abstractmethod
    def load(cls, *places: str, device: str | None = None, similarity: Similarity = COSINE) -> Self:
        """Return the model at a path or of a hub name ("" is the bundled one). Raises ModelError."""

    @property
    def scale(self) -> float:
        """What scores are multiplied by before the softmax where the settings name nothing."""
        return 1.0

    def side(self, *, question: bool) -> Any:
        """Return the model of sentence-transformers that reads questions, or the one that reads passages."""
        return self.model

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        found: torch.device = self.side(question=True).device
        return found

    @contextmanager
    def as_before(self) -> Iterator[None]:
        """Compare inside by what the model that it starts from was made for."""
        wanted, self.similarity = self.similarity, self.before
        try:
            yield
        finally:
            self.similarity = wanted

    def _features(self, texts: Sequence[str], question: bool) -> Any:
        """Return what the model makes of texts."""
        from sentence_transformers.util import batch_to_device

        model, task = self.side(question=question), "query" if question else "document"
        prompt = prompts(model)["question" if question else "document"] or None
        made = model.preprocess([encodable(text) for text in texts], prompt=prompt, task=task)
        return model(batch_to_device(made, self.device), task=task)

    @abstractmethod
    def embed(self, texts: Sequence[str], *, question: bool) -> Embedded:
        """Return the vectors of texts, with gradients where these are on."""

    @abstractmethod
    def scores(self, questions: Embedded, passages: Embedded) -> Tensor:
        """Return the score of every question with every passage (n x m)."""

    def similarities(
        self,
        questions: Sequence[str],
        passages: Sequence[str],
        *,
        on_progress: Callable[[Progress], None] | None = None,
        stop: StopSignal | None = None,
    ) -> npt.NDArray[np.float32]:
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


# ----------------------------------------------------------------------------------------------------
# A bi-encoder: one vector of a question, one of a passage, their inner product is the score (DPR, Sentence-BERT).


class BiEncoder(Trainee):
    """A SentenceTransformer, whose vectors have length 1 where they are compared by cosine.

    Cosines lie so near each other that a softmax over them tells nothing apart: they are multiplied by 20, as usual in
    sentence-transformers. Inner products are taken as they are.
    """

    kind: ClassVar[str] = BI_ENCODER

    @classmethod
    def load(cls, *places: str, device: str | None = None, similarity: Similarity = COSINE) -> Self:
        """Return the encoder at a path or of a hub name ("" is the bundled one). Raises ModelError."""
        model = Encoder(places[0], device=device).fresh_model()
        return cls(model, similarity, _compare_by(model, similarity))

    @property
    def scale(self) -> float:
        """20 for cosines, 1 for inner products."""
        return 20.0 if self.similarity == COSINE else 1.0

    def embed(self, texts: Sequence[str], *, question: bool) -> Embedded:
        """Return the vectors of texts (n x 1 x d)."""
        import torch
        from torch.nn.functional import normalize

        vectors = self._features(texts, question)["sentence_embedding"].float()
        vectors = normalize(vectors, dim=-1) if self.similarity == COSINE else vectors
        return vectors.unsqueeze(1), torch.ones(len(vectors), 1, dtype=torch.bool, device=vectors.device)

    def scores(self, questions: Embedded, passages: Embedded) -> Tensor:
        """Return the inner products (n x m), which are cosines where vectors have length 1."""
        return inner_products(questions[0].squeeze(1), passages[0].squeeze(1))


def _compare_by(model: Any, similarity: Similarity) -> Similarity:
    """Have a SentenceTransformer compare by this, when it is loaded again too; return what it was made for."""
    from sentence_transformers.base.modules import Normalize

    units = [place for place, module in enumerate(model) if isinstance(module, Normalize)]
    before: Similarity = DOT if model.similarity_fn_name == DOT and not units else COSINE
    model.similarity_fn_name = similarity
    for place in reversed(units) if similarity == DOT else ():
        del model[place]
    return before


# ----------------------------------------------------------------------------------------------------
# A pair of encoders, one of questions and one of passages, compared by inner product (DPR).


def pair_in(folder: str | Path) -> tuple[str, str]:
    """Return where in its folder the encoders of a pair lie: that of questions, that of passages."""
    return str(Path(folder) / "questions"), str(Path(folder) / "passages")


class EncoderPair(BiEncoder):
    """Two SentenceTransformers; where one place is named, both start from it."""

    kind: ClassVar[str] = DPR

    @classmethod
    def load(cls, *places: str, device: str | None = None, similarity: Similarity = DOT) -> Self:
        """Return the encoder of questions with the one of passages, always compared by inner product. ModelError."""
        from torch.nn import ModuleList

        sides = [BiEncoder.load(place, device=device, similarity=DOT) for place in (places[0], places[-1])]
        return cls(ModuleList(one.model for one in sides), DOT, sides[0].before)

    def side(self, *, question: bool) -> Any:
        """Return the encoder of questions or that of passages."""
        return self.model[0 if question else 1]

    def save(self, folder: Path) -> None:
        """Write each encoder into a folder of its own, see `pair_in`."""
        for model, place in zip(self.model, pair_in(folder), strict=True):
            model.save_pretrained(place, create_model_card=False)


# ----------------------------------------------------------------------------------------------------
# Late interaction: one vector per token, each token of the question looks for its best match (ColBERT).


class LateInteraction(Trainee):
    """A MultiVectorEncoder. One that was made for single vectors starts with a fixed projection, which is trained too.

    The score is a sum over the tokens of the question, wide enough for a softmax as it is.
    """

    kind: ClassVar[str] = LATE_INTERACTION

    @classmethod
    def load(cls, *places: str, device: str | None = None, similarity: Similarity = COSINE) -> Self:
        """Return the model at a path or of a hub name ("" is the bundled encoder). Raises ModelError."""
        return cls(LateEncoder(places[0], device=device).fresh_model())

    def embed(self, texts: Sequence[str], *, question: bool) -> Embedded:
        """Return the vectors of the tokens of texts (n x tokens x d) and which of them count."""
        from torch.nn.functional import normalize

        made = self._features(texts, question)
        return normalize(made["token_embeddings"].float(), dim=-1), made["attention_mask"].bool()

    def scores(self, questions: Embedded, passages: Embedded) -> Tensor:
        """Return the sums of largest products (n x m)."""
        return maxsim(*questions, *passages)
