"""The models that measures use: entailment, spans, token vectors, names."""

from __future__ import annotations

import json
import threading
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.errors import LOADING_FAILS, ModelError, StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.metrics.bertscore import TokenVectors
from pdfqa_core.metrics.entailment import Hypothesis, Statement, Tag
from pdfqa_core.metrics.replies import OnDone
from pdfqa_core.text import sentences

# ----------------------------------------------------------------------------------------------------
# A model of the transformers library with a head, and its tokenizer, from a local folder.


@dataclass(frozen=True, slots=True)
class Head:
    """What a model ends in: the library's class that loads it, and how it is spoken of in errors.

    `option` is that of the command line which asks for such a model, `longest_input` how many tokens are read at once.
    """

    loader: str
    needed: str
    kind: str
    option: str
    longest_input: int


class TransformerModel:
    """The model (safetensors only, its code is the library's) in `folder`, called `name`; loaded at first use.

    Subclasses name its head. `_lock` is held while the model computes.
    """

    head: ClassVar[Head]

    def __init__(self, folder: Path, *, name: str = "") -> None:
        self._folder = folder
        self.name = name or folder.name
        self._lock = threading.Lock()

    @property
    def _longest(self) -> int:
        """How many tokens the model reads at once."""
        stated = int(getattr(self._model.config, "max_position_embeddings", self.head.longest_input + 2)) - 2
        return max(4, min(self.head.longest_input, stated, int(self._tokenizer.model_max_length)))

    @cached_property
    def _tokenizer(self) -> Any:
        """The tokenizer, which takes no weights. Raises ModelError."""
        return self._loaded("AutoTokenizer", use_fast=True)

    @cached_property
    def _model(self) -> Any:
        """The model itself. Raises ModelError."""
        return self._loaded(self.head.loader, use_safetensors=True).eval()

    def _loaded(self, what: str, **options: bool) -> Any:
        try:
            import transformers
            from transformers.utils.logging import disable_progress_bar

            disable_progress_bar()
            kind = getattr(transformers, what)
            return kind.from_pretrained(str(self._folder), local_files_only=True, trust_remote_code=False, **options)
        except LOADING_FAILS as error:
            raise ModelError(
                f"The {self.head.kind} model {self.name} cannot be loaded: {error}.",
                f"Choose a model with {self.head.needed} and safetensors, or leave {self.head.option} out.",
            ) from error


# ----------------------------------------------------------------------------------------------------
# Entailment by a cross-encoder trained for natural language inference (NLI): fast, and no free text at all.

BATCH = 16
LONGEST_PAIR = 512  # tokens of premise and hypothesis, where the model does not say
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

    def __init__(self, folder: Path, *, name: str = "", batch: int = BATCH) -> None:
        self._folder = folder
        self.name = name or folder.name
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
            batch_size=self._batch,
            activation_fn=torch.nn.Softmax(dim=-1),
            show_progress_bar=False,
            convert_to_numpy=True,
        )
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
        stated = getattr(self._model.config, "max_position_embeddings", None) or LONGEST_PAIR
        return min(int(self._model.max_seq_length or stated), int(stated), 8192)

    @cached_property
    def _model(self) -> Any:
        try:
            from sentence_transformers import CrossEncoder
            from transformers.utils.logging import disable_progress_bar

            disable_progress_bar()
            return CrossEncoder(
                str(self._folder),
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
        except ImportError as error:
            raise ModelError("The sentence-transformers library is not installed.", INSTALL) from error
        except LOADING_FAILS as error:
            raise ModelError(f"The NLI model {self.name} does not load: {error}.", "Choose another one.") from error


# ----------------------------------------------------------------------------------------------------
# An extractive question answering model: the words of a text that answer a question, for Disambig-F1 in mode `qa`.
#
# Any transformers model with a question answering head works; the ASQA authors used a RoBERTa trained on SQuAD 2.

STRIDE = 128
LONGEST_ANSWER = 30  # tokens


class SpanReader(TransformerModel):
    """The model (safetensors only) in `folder`, called `name`; loaded at first use."""

    head: ClassVar[Head] = Head(
        "AutoModelForQuestionAnswering", "a question answering head", "question answering", "--qa-model", 384
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

        model, tokenizer = self._model, self._tokenizer
        asked = tokenizer.encode(question, add_special_tokens=False)
        if len(asked) > self._longest // 2:  # the text needs room
            question = tokenizer.decode(asked[: self._longest // 2])
        encoded = tokenizer(
            question,
            text,
            truncation="only_second",
            max_length=self._longest,
            stride=min(STRIDE, self._longest // 5),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding=True,
            return_tensors="pt",
        )
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


# ----------------------------------------------------------------------------------------------------
# Vectors of a text's tokens from any encoder of the transformers library in a local folder, for BERTScore.


class TransformerTokens(TransformerModel):
    """An encoder in `folder`, called `name`; its tokens can be had without its weights.

    The vectors are those of the last layer. Texts are encoded sorted by length in batches of `batch`; padding is masked
    out, so that it changes no value. What is beyond the model's longest input is cut off; `cut` counts such texts.
    Every method raises ModelError if the library or the model is missing or broken.
    """

    head: ClassVar[Head] = Head("AutoModel", "a tokenizer", "encoder", "--bertscore-encoder", 512)

    def __init__(self, folder: Path, *, name: str = "", batch: int = BATCH) -> None:
        super().__init__(_transformer_folder(folder), name=name or folder.name)
        self._batch = batch
        self.cut = 0

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
        ids = torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        return list(self._model(input_ids=ids, attention_mask=mask).last_hidden_state.float().numpy())

    @cached_property
    def _longest(self) -> int:
        try:
            config = json.loads((self._folder / "config.json").read_text("utf-8"))
        except (OSError, ValueError):
            config = {}
        stated = int(config.get("max_position_embeddings") or self.head.longest_input)
        if config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
            stated -= 2  # their positions begin behind the padding's
        return max(4, min(stated, int(self._tokenizer.model_max_length or stated)))


def _transformer_folder(folder: Path) -> Path:
    """Return where the transformer lies in a folder of sentence-transformers: as a rule in the folder itself."""
    try:
        modules = json.loads((folder / "modules.json").read_text("utf-8"))
        return folder / str(modules[0]["path"])
    except (OSError, ValueError, LookupError, TypeError):
        return folder


# ----------------------------------------------------------------------------------------------------
# A named entity recogniser: the names in a text, for Disambig-F1 in mode `entities`.
#
# Any transformers model with a token classification head works; labels as in CoNLL ("B-PER", "I-PER", "O") or
# without prefix. rageval names a RoBERTa.

OUTSIDE = "O"


class EntityFinder(TransformerModel):
    """The model (safetensors only) in `folder`, called `name`; loaded at first use."""

    head: ClassVar[Head] = Head("AutoModelForTokenClassification", "a token classification head", "NER", "--ner", 512)

    def __call__(self, text: str) -> list[str]:
        """Return the entities of a text in order, each as often as it occurs. Raises ModelError if it cannot load."""
        if not text.strip():
            return []
        with self._lock:
            return [text[start:end] for start, end in joined(text, *self._labelled(text))]

    def _labelled(self, text: str) -> tuple[list[tuple[int, int]], list[str]]:
        """Return the place of each token and its label."""
        import torch

        model, tokenizer = self._model, self._tokenizer
        encoded = tokenizer(
            text,
            truncation=True,
            max_length=self._longest,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding=True,
            return_tensors="pt",
        )
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
