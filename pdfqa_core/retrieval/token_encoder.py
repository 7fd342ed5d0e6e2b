"""Texts to one vector per token, for late interaction; any checkpoint of sentence-transformers' MultiVectorEncoder."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.encoder import BatchEncoder, NamedModel, OnProgress, Vectors
from pdfqa_core.retrieval.model_folder import LOADING

PROJECTED = 128  # dimensions
UNTRAINED = "untrained for late interaction"
LATE_TYPES = ("MultiVectorEncoder", "ColBERT")
PHASE = "Encoding the tokens of passages"


class TokenEncoder(NamedModel, Protocol):
    """What late interaction needs of an encoder."""

    def encode_tokens(
        self,
        texts: Sequence[str],
        *,
        question: bool = False,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> list[Vectors]:
        """Return one (tokens, dimension) array of vectors of length 1 per text."""
        ...


class LateEncoder(BatchEncoder):
    """A ColBERT-like model, which makes one vector per token of a text.

    A model that was not made for late interaction, such as the bundled one, gives the vectors of its tokens as its last
    layer has them, without those of punctuation, and turned into 128 dimensions by one fixed orthogonal projection (a
    third of the room and time; no worse on the Northwind questions). Its name says that it is untrained. Source:
    Khattab and Zaharia 2020, "ColBERT".
    """

    kind = "late interaction model"
    otherwise = "leave late_model empty for the bundled encoder"
    phase = PHASE

    @cached_property
    def trained(self) -> bool:
        """Whether the model was made for late interaction."""
        if self._files.json("config_sentence_transformers.json").get("model_type") in LATE_TYPES:
            return True
        architectures = self._files.json("config.json").get("architectures") or []
        return any(name == "HF_ColBERT" or name.endswith("ForRetrieval") for name in architectures)

    @property
    def name(self) -> str:
        """The hub name, or the last part of the path."""
        return self._files.name if self.trained else f"{self._files.name} ({UNTRAINED})"

    @property
    def model_hash(self) -> str:
        """16 hex digits over the names and contents of the model's configuration, vocabulary and weights."""
        found = self._files.model_hash
        return found if self.trained else hashlib.sha256(f"{found} {PROJECTED}".encode()).hexdigest()[:16]

    def encode_tokens(
        self,
        texts: Sequence[str],
        *,
        question: bool = False,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> list[Vectors]:
        """Return one (tokens, dimension) array of vectors of length 1 per text, in their order. Raises StoppedError."""
        return self._encode(texts, question, on_progress, stop)

    @cached_property
    def _model(self) -> Any:
        return self.fresh_model()

    def fresh_model(self) -> Any:
        """Return the MultiVectorEncoder, loaded anew: who asks may change it. Raises ModelError."""
        with self._lock, self._files.loading() as folder:
            from sentence_transformers import MultiVectorEncoder, SentenceTransformer
            from sentence_transformers.base.modules import Normalize
            from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

            if self.trained:
                return MultiVectorEncoder(folder, device=self._device, **LOADING)
            # MultiVectorEncoder itself would add a projection with other random weights at every start.
            dense = SentenceTransformer(folder, device="cpu", **LOADING)
            mask = MultiVectorMask(skiplist_words=list(string.punctuation))
            transformer: Any = dense[0]
            modules = [transformer, *_projection(int(transformer.get_embedding_dimension()))]
            modules += [mask, Normalize(module_input_name="token_embeddings")]
            prompts = {name: prompt for name, prompt in dense.prompts.items() if prompt}
            return MultiVectorEncoder(modules=modules, device=self._device, prompts=prompts)


def _projection(width: int) -> list[Any]:
    """Return the layer that takes vectors of more than 128 numbers to 128, keeping angles as far as that goes."""
    if width <= PROJECTED:
        return []
    import torch
    from sentence_transformers.base.modules import Dense

    directions = np.linalg.qr(np.random.default_rng(0).normal(size=(width, PROJECTED)))[0].T
    return [
        Dense(
            in_features=width,
            out_features=PROJECTED,
            bias=False,
            activation_function=torch.nn.Identity(),
            init_weight=torch.from_numpy(directions.astype(np.float32)),
            module_input_name="token_embeddings",
        )
    ]
