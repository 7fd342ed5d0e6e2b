"""Vectors of a text's tokens from any encoder of the transformers library in a local folder, for BERTScore."""

from __future__ import annotations

import json
import threading
from collections.abc import Hashable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pdfqa_core.errors import LOADING_FAILS, ModelError
from pdfqa_core.metrics.bertscore import TokenVectors

BATCH = 16
LONGEST_INPUT = 512  # tokens, where the model does not say
INSTALL = "Install it with: pip install sentence-transformers"


class TransformerTokens:
    """An encoder (safetensors, its code is the library's) in `folder`, called `name`; loaded at first use.

    `layer` counts the layer whose vectors are taken, 0 the input embeddings; None takes the last. Texts are encoded
    sorted by length in batches of `batch`; padding is masked out, so that it changes no value. What is beyond the
    model's longest input is cut off; `cut` counts such texts. Every method raises ModelError if the library or the
    model is missing or broken.
    """

    def __init__(
        self, folder: Path, *, name: str = "", layer: int | None = None, device: str | None = None, batch: int = BATCH
    ) -> None:
        self._folder = _transformer_folder(folder)
        self._name = name or folder.name
        self._layer = layer
        self._device = device or "cpu"
        self._batch = batch
        self._lock = threading.Lock()
        self.cut = 0

    @property
    def name(self) -> str:
        """The model's name with its layer."""
        return self._name if self._layer is None else f"{self._name}, layer {self._layer}"

    def token_ids(self, texts: Sequence[str]) -> list[tuple[Hashable, ...]]:
        """Return the ids of each text's tokens without the special ones, cut at the model's longest input."""
        if not texts:
            return []
        with self._lock:
            found = self._encoded(texts)
        return [
            tuple(token for token, special in zip(ids, mask, strict=True) if not special)
            for ids, mask in zip(found["input_ids"], found["special_tokens_mask"], strict=True)
        ]

    def embed(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the tokens of each text, special ones included, with their vectors, in the order of the texts."""
        if not texts:
            return []
        import torch

        with self._lock, torch.inference_mode():
            encoded = self._encoded(texts)
            ids, special = encoded["input_ids"], encoded["special_tokens_mask"]
            self.cut += sum(len(row) >= self._longest for row in ids)
            order = sorted(range(len(texts)), key=lambda row: -len(ids[row]))
            found: dict[int, TokenVectors] = {}
            for first in range(0, len(order), self._batch):
                rows = order[first : first + self._batch]
                vectors = self._vectors([ids[row] for row in rows])
                for row, one in zip(rows, vectors, strict=True):
                    marks = tuple(bool(mark) for mark in special[row])
                    found[row] = TokenVectors(tuple(ids[row]), one[: len(ids[row])], marks)
        return [found[row] for row in range(len(texts))]

    def _encoded(self, texts: Sequence[str]) -> Any:
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return self._tokenizer(
            clean, truncation=True, max_length=self._longest, return_special_tokens_mask=True, padding=False
        )

    def _vectors(self, rows: Sequence[Sequence[int]]) -> list[Any]:
        import torch

        longest = max(map(len, rows))
        padding = self._tokenizer.pad_token_id or 0
        ids = torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows], device=self._device)
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows], device=self._device)
        output = self._model(input_ids=ids, attention_mask=mask, output_hidden_states=self._layer is not None)
        chosen = output.last_hidden_state if self._layer is None else self._hidden(output.hidden_states)
        return list(chosen.float().cpu().numpy())

    def _hidden(self, states: Sequence[Any]) -> Any:
        assert self._layer is not None
        if not 0 <= self._layer < len(states):
            raise ModelError(f"{self._name} has no layer {self._layer}.", f"Choose 0 to {len(states) - 1}.")
        return states[self._layer]

    @cached_property
    def _longest(self) -> int:
        try:
            config = json.loads((self._folder / "config.json").read_text("utf-8"))
        except (OSError, ValueError):
            config = {}
        stated = int(config.get("max_position_embeddings") or LONGEST_INPUT)
        if config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
            stated -= 2  # their positions begin behind the padding's
        return max(4, min(stated, int(self._tokenizer.model_max_length or stated)))

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from transformers import AutoTokenizer

            return AutoTokenizer.from_pretrained(str(self._folder), local_files_only=True, trust_remote_code=False)
        except LOADING_FAILS as error:
            raise self._broken(error) from error

    @cached_property
    def _model(self) -> Any:
        try:
            from transformers import AutoModel
            from transformers.utils.logging import disable_progress_bar

            disable_progress_bar()  # type: ignore[no-untyped-call]
            options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
            return AutoModel.from_pretrained(str(self._folder), **options).eval().to(self._device)
        except LOADING_FAILS as error:
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> ModelError:
        if isinstance(error, ImportError):
            return ModelError("The transformers library is not installed.", INSTALL)
        return ModelError(f"The encoder {self._name} does not load: {error}.", "Choose another one.")


def _transformer_folder(folder: Path) -> Path:
    """Return where the transformer lies in a folder of sentence-transformers: as a rule in the folder itself."""
    try:
        modules = json.loads((folder / "modules.json").read_text("utf-8"))
        return folder / str(modules[0]["path"])
    except (OSError, ValueError, LookupError, TypeError):
        return folder
