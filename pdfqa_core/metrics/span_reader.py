"""An extractive question answering model: the words of a text that answer a question, for Disambig-F1 in mode `qa`.

Any transformers model with a question answering head works; the ASQA authors used a RoBERTa trained on SQuAD 2.
"""

from __future__ import annotations

from typing import ClassVar

from pdfqa_core.metrics.transformer_model import Head, TransformerModel

STRIDE = 128
LONGEST_ANSWER = 30  # tokens


class SpanReader(TransformerModel):
    """The model (safetensors only) in `folder`, called `name`; loaded at first use."""

    head: ClassVar[Head] = Head(
        "AutoModelForQuestionAnswering", "question answering", "question answering", "--qa-model", 384
    )

    def __call__(self, question: str, text: str) -> str:
        """Return the most probable answer within the text, empty where "no answer" is more probable.

        Raises ModelError if the model cannot be loaded.
        """
        if not text.strip() or not question.strip():
            return ""
        with self._lock:
            return self._read(question, text)

    def _read(self, question: str, text: str) -> str:
        import torch

        model, tokenizer = self._model
        asked = tokenizer.encode(question, add_special_tokens=False)
        if len(asked) > self._longest // 2:  # the text needs room
            question = tokenizer.decode(asked[: self._longest // 2])
        encoded = tokenizer(
            question, text, truncation="only_second", max_length=self._longest, stride=min(STRIDE, self._longest // 5),
            return_overflowing_tokens=True, return_offsets_mapping=True, padding=True, return_tensors="pt",
        )  # fmt: skip
        offsets = encoded.pop("offset_mapping")
        encoded.pop("overflow_to_sample_mapping", None)
        with torch.inference_mode():
            found = model(**{key: value.to(model.device) for key, value in encoded.items()})
        best, answer, nothing = float("-inf"), "", float("inf")
        for row in range(len(offsets)):
            start, end = found.start_logits[row].float().cpu(), found.end_logits[row].float().cpu()
            nothing = min(nothing, float(start[0] + end[0]))
            inside = torch.tensor([part == 1 for part in encoded.sequence_ids(row)])
            scores = start[:, None] + end[None, :]
            allowed = inside[:, None] & inside[None, :]
            allowed &= torch.ones_like(allowed).triu() & ~torch.ones_like(allowed).triu(LONGEST_ANSWER)
            scores = scores.masked_fill(~allowed, float("-inf"))
            place = int(scores.argmax())
            first, last = divmod(place, scores.shape[1])
            if float(scores[first, last]) > best:
                best = float(scores[first, last])
                answer = text[int(offsets[row][first][0]) : int(offsets[row][last][1])]
        return answer.strip() if best > nothing else ""
