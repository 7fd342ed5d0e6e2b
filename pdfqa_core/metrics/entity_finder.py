"""A named entity recogniser: the names in a text, for Disambig-F1 in mode `entities`.

Any transformers model with a token classification head works; labels as in CoNLL ("B-PER", "I-PER", "O") or without
prefix. rageval names a RoBERTa.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pdfqa_core.metrics.transformer_model import Head, TransformerModel

OUTSIDE = "O"


class EntityFinder(TransformerModel):
    """The model (safetensors only) in `folder`, called `name`; loaded at first use."""

    head: ClassVar[Head] = Head("AutoModelForTokenClassification", "token classification", "NER", "--ner", 512)

    def __call__(self, text: str) -> list[str]:
        """Return the entities of a text in order, each as often as it occurs. Raises ModelError if it cannot load."""
        if not text.strip():
            return []
        with self._lock:
            return [text[start:end] for start, end in joined(text, *self._labelled(text))]

    def _labelled(self, text: str) -> tuple[list[tuple[int, int]], list[str]]:
        """Return the place of each token and its label."""
        import torch

        model, tokenizer = self._model
        encoded = tokenizer(
            text, truncation=True, max_length=self._longest, return_overflowing_tokens=True,
            return_offsets_mapping=True, padding=True, return_tensors="pt",
        )  # fmt: skip
        offsets = encoded.pop("offset_mapping").tolist()
        encoded.pop("overflow_to_sample_mapping", None)
        with torch.inference_mode():
            best = model(**{key: value.to(model.device) for key, value in encoded.items()}).logits.argmax(-1).tolist()
        tokens = [
            ((start, end), str(model.config.id2label[label]))
            for places, labels in zip(offsets, best, strict=True)
            for (start, end), label in zip(places, labels, strict=True)
            if end > start
        ]
        return [place for place, _ in tokens], [label for _, label in tokens]


def joined(text: str, places: Sequence[tuple[int, int]], labels: Sequence[str]) -> list[tuple[int, int]]:
    """Return (start, end) of each entity: neighbouring tokens of one type, a "B-" begins a new one.

    A token that goes on with the word of the one before it takes its label.
    """
    found: list[tuple[int, int]] = []
    before, reached = OUTSIDE, -1
    for (start, end), label in zip(places, labels, strict=True):
        prefix, dash, kind = label.partition("-")
        kind = kind if dash else label
        if start == reached and text[start].isalnum() and text[start - 1].isalnum():
            kind, prefix = before, "I"
        if kind != OUTSIDE:
            if kind == before and prefix != "B" and found:
                found[-1] = (found[-1][0], end)
            else:
                found.append((start, end))
        before, reached = kind, end
    return found
