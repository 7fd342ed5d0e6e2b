"""Entailment by a cross-encoder trained for natural language inference (NLI): fast, and no free text at all."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pdfqa_core.errors import LOADING_FAILS, ModelError, StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.metrics.entailment import Hypothesis, Statement, Tag
from pdfqa_core.metrics.replies import OnDone
from pdfqa_core.text import sentences

BATCH = 16
LONGEST_INPUT = 512  # tokens of premise and hypothesis, where the model does not say
LEAST_PREMISE = 16  # tokens of the premise that a long hypothesis leaves room for
INSTALL = "Install it with: pip install sentence-transformers"
_NAMES = {
    "entailment": Tag.ENT, "entail": Tag.ENT, "entails": Tag.ENT,
    "contradiction": Tag.CONT, "contradict": Tag.CONT, "contradicts": Tag.CONT,
    "neutral": Tag.NEUT, "not_entailment": Tag.NEUT, "not entailment": Tag.NEUT,
}  # fmt: skip


def label_order(config: Path) -> tuple[Tag, ...]:
    """Return which tag each number of the model's output stands for, from `id2label` in its config.json.

    Raises ModelError if that does not name entailment: the order differs between models, and none is assumed.
    """
    try:
        named = json.loads(config.read_text("utf-8"))["id2label"]
        labels = [str(named[key]) for key in sorted(named, key=int)]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ModelError(f"{config} does not name the labels of the model.", "Choose an NLI cross-encoder.") from error
    tags = [_NAMES.get(label.strip().lower()) for label in labels]
    if None in tags or Tag.ENT not in tags:
        raise ModelError(
            f"The labels of the model in {config.parent} are {', '.join(labels)}: which one is entailment is not said.",
            "Choose a model whose id2label names entailment, neutral and contradiction.",
        )
    return tuple(tag for tag in tags if tag is not None)


class NliCrossEncoder:
    """A sentence-transformers CrossEncoder (safetensors only) in `folder`, called `name`; loaded at first use.

    Each hypothesis is one statement with the most probable tag. A premise that is too long is read in parts, whole
    sentences each; the part with the largest probability of entailment counts. Source of that: Laban et al. 2022,
    "SummaC", the zero-shot model.
    """

    def __init__(self, folder: Path, *, name: str = "", device: str | None = None, batch: int = BATCH) -> None:
        self._folder = folder
        self.name = name or folder.name
        self._device = device
        self._batch = batch
        self._lock = threading.Lock()

    @cached_property
    def labels(self) -> tuple[Tag, ...]:
        """Which tag each number of the output stands for. Raises ModelError."""
        return label_order(self._folder / "config.json")

    def tag(
        self, pairs: Sequence[tuple[str, str]], *, stop: StopSignal | None = None, on_done: OnDone | None = None
    ) -> list[Hypothesis]:
        """Return the hypothesis of each pair as one tagged statement; an empty one has none. In batches, by length.

        Raises ModelError if the library or the model is missing or broken, StoppedError.
        """
        with self._lock:
            asked = [
                (row, part, hypothesis)
                for row, (premise, hypothesis) in enumerate(pairs)
                if hypothesis.strip() and premise.strip()
                for part in self._parts(premise, hypothesis)
            ]
            asked.sort(key=lambda one: -len(one[1]) - len(one[2]))
            best: dict[int, list[float]] = {}
            entailment = self.labels.index(Tag.ENT)
            for first in range(0, len(asked), self._batch):
                if stop is not None and stop.is_set():
                    raise StoppedError
                batch = asked[first : first + self._batch]
                for (row, _, _), shares in zip(batch, self._probabilities(batch), strict=True):
                    if row not in best or shares[entailment] > best[row][entailment]:
                        best[row] = shares
                if on_done is not None:
                    on_done(min(len(asked), first + self._batch), len(asked))
        return [self._hypothesis(hypothesis, best.get(row)) for row, (_, hypothesis) in enumerate(pairs)]

    def _hypothesis(self, text: str, shares: list[float] | None) -> Hypothesis:
        if shares is None:
            return Hypothesis(text, reason="premise or hypothesis is empty")
        tag = self.labels[max(range(len(shares)), key=shares.__getitem__)]
        return Hypothesis(text, (Statement(text, tag, shares[self.labels.index(Tag.ENT)]),))

    def _probabilities(self, batch: Sequence[tuple[int, str, str]]) -> list[list[float]]:
        import torch

        scores = self._model.predict(
            [(premise, hypothesis) for _, premise, hypothesis in batch],
            batch_size=self._batch, activation_fn=torch.nn.Softmax(dim=-1), show_progress_bar=False,
            convert_to_numpy=True,
        )  # fmt: skip
        if scores.ndim != 2 or scores.shape[1] != len(self.labels):
            raise ModelError(f"{self.name} makes {scores.shape[-1]} numbers for {len(self.labels)} labels.")
        return [[float(share) for share in row] for row in scores]

    def _parts(self, premise: str, hypothesis: str) -> list[str]:
        """Return the premise in parts of whole sentences that fit the model together with the hypothesis."""
        room = max(LEAST_PREMISE, self._longest - self._length(hypothesis) - 4)
        if self._length(premise) <= room:
            return [premise]
        parts: list[str] = []
        begun = last = None
        for start, end in sentences(premise):
            if begun is not None and last is not None and self._length(premise[begun:end]) > room:
                parts.append(premise[begun:last])
                begun = start
            begun, last = start if begun is None else begun, end
        return [*parts, premise[begun:last]] if begun is not None else [premise]

    def _length(self, text: str) -> int:
        return len(self._model.tokenizer.encode(text, add_special_tokens=False, verbose=False))

    @cached_property
    def _longest(self) -> int:
        stated = getattr(self._model.config, "max_position_embeddings", None) or LONGEST_INPUT
        return min(int(self._model.max_seq_length or stated), int(stated), 8192)

    @cached_property
    def _model(self) -> Any:
        try:
            from sentence_transformers import CrossEncoder
            from transformers.utils.logging import disable_progress_bar

            disable_progress_bar()  # type: ignore[no-untyped-call]
            return CrossEncoder(
                str(self._folder), device=self._device, local_files_only=True, trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )  # fmt: skip
        except ImportError as error:
            raise ModelError("The sentence-transformers library is not installed.", INSTALL) from error
        except LOADING_FAILS as error:
            raise ModelError(f"The NLI model {self.name} does not load: {error}.", "Choose another one.") from error
