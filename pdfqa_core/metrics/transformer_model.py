"""A model of the transformers library with a head, and its tokenizer, from a local folder."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.errors import LOADING_FAILS, ModelError


@dataclass(frozen=True, slots=True)
class Head:
    """What a model ends in: the library's class that loads it, its task, and how it is spoken of in errors.

    `option` is that of the command line which asks for such a model, `longest_input` how many tokens are read at once.
    """

    loader: str
    task: str
    kind: str
    option: str
    longest_input: int


class TransformerModel:
    """The model (safetensors only, its code is the library's) in `folder`, called `name`; loaded at first use.

    Subclasses name its head. `_lock` is held while the model computes.
    """

    head: ClassVar[Head]

    def __init__(self, folder: Path, *, name: str = "", device: str | None = None) -> None:
        self._folder = folder
        self.name = name or folder.name
        self._device = device
        self._lock = threading.Lock()

    @property
    def _longest(self) -> int:
        """How many tokens the model reads at once."""
        model, tokenizer = self._model
        stated = int(getattr(model.config, "max_position_embeddings", self.head.longest_input + 2)) - 2
        return max(4, min(self.head.longest_input, stated, int(tokenizer.model_max_length)))

    @cached_property
    def _model(self) -> tuple[Any, Any]:
        """The model and its tokenizer. Raises ModelError."""
        try:
            import transformers
            from transformers.utils.logging import disable_progress_bar

            disable_progress_bar()  # type: ignore[no-untyped-call]
            tokenizer = transformers.AutoTokenizer.from_pretrained(self._folder, local_files_only=True, use_fast=True)
            model = getattr(transformers, self.head.loader).from_pretrained(
                self._folder, local_files_only=True, use_safetensors=True, trust_remote_code=False
            )
        except LOADING_FAILS as error:
            raise ModelError(
                f"The {self.head.kind} model {self.name} cannot be loaded: {error}.",
                f"Choose a model with a {self.head.task} head and safetensors, or leave {self.head.option} out.",
            ) from error
        return model.eval().to(self._device or "cpu"), tokenizer
