"""Late interaction: every token of the question looks for its best match among the tokens of the passage."""

from __future__ import annotations

import hashlib
import json
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.base import IndexRetriever, ScoredRow, SearchIndex, check_candidates, retrievers
from pdfqa_core.retrieval.bm25 import Floats, Ints, top
from pdfqa_core.retrieval.embedding_cache import file_stem
from pdfqa_core.retrieval.encoder import BatchEncoder, NamedModel, OnProgress, Vectors
from pdfqa_core.retrieval.index import index_text
from pdfqa_core.retrieval.model_folder import LOADING
from pdfqa_core.types import Progress, Query
from pdfqa_core.whole_files import DAMAGE, HELD, file_sha256, unfinished, write_atomically

# ----------------------------------------------------------------------------------------------------
# Texts to one vector per token, for late interaction; any checkpoint of sentence-transformers' MultiVectorEncoder.

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


# ----------------------------------------------------------------------------------------------------
# Token vectors of an index's passages: one byte per number, memory-mapped, and the MaxSim of a question with them.
#
# One folder per model inside the index's folder, one pair of files per 256 passages of a document: an interrupted
# building goes on with the next pair. What is damaged or of another text is encoded again. No pickles.

Bytes: TypeAlias = npt.NDArray[np.int8]

PART = 256  # passages per file
BLOCK = 32_768  # token vectors that are compared at a time
LEVELS = 127


@dataclass(frozen=True, eq=False)
class Part:
    """Token vectors of some passages: `rows` are theirs in the index, `starts` (n + 1) where each one's tokens begin.

    A vector is `scales[passage] * tokens[token]`: one scale per passage, so that it can be applied after the maximum.
    """

    rows: Ints
    tokens: Bytes
    starts: Ints
    scales: Vectors

    @classmethod
    def of(cls, rows: Ints, encoded: Sequence[Vectors]) -> Part:
        """Return the vectors of passages in bytes; a passage without tokens gets one zero vector."""
        width = max((vectors.shape[1] for vectors in encoded), default=0)
        filled = [vectors if len(vectors) else np.zeros((1, width), dtype=np.float32) for vectors in encoded]
        scales = np.asarray([float(np.abs(vectors).max()) / LEVELS or 1.0 for vectors in filled], dtype=np.float32)
        tokens = np.concatenate(
            [np.rint(vectors / scale).astype(np.int8) for vectors, scale in zip(filled, scales, strict=True)]
        )
        starts = np.concatenate(([0], np.cumsum([len(vectors) for vectors in filled]))).astype(np.int64)
        return cls(rows, tokens, starts, scales)

    def only(self, chosen: Ints) -> Part:
        """Return the passages at the positions `chosen`."""
        pieces = [self.tokens[self.starts[i] : self.starts[i + 1]] for i in chosen]
        starts = np.concatenate(([0], np.cumsum([len(piece) for piece in pieces]))).astype(np.int64)
        return Part(self.rows[chosen], np.concatenate(pieces), starts, self.scales[chosen])

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield (first, last) positions of passages that have about 32,768 tokens together."""
        first = 0
        while first < len(self.rows):
            last = int(np.searchsorted(self.starts, self.starts[first] + BLOCK, side="right")) - 1
            last = max(last, first + 1)
            yield first, last
            first = last


@dataclass(frozen=True, eq=False)
class TokenStore:
    """The token vectors of all passages of an index."""

    parts: tuple[Part, ...]
    passages: int

    @classmethod
    def open_or_build(
        cls,
        index: SearchIndex,
        encoder: TokenEncoder,
        *,
        on_progress: OnProgress | None = None,
        stop: StopSignal | None = None,
    ) -> TokenStore:
        """Return the vectors of the index's passages: those that are there, the others encoded and kept.

        Raises ModelError, and StoppedError when `stop` is set (finished parts are kept). Where the index is kept
        nowhere, so are its token vectors.
        """
        folder = index.folder / f"tokens-{encoder.model_hash}" if index.folder is not None else None
        texts = [index_text(passage) for passage in index.passages]
        plan = list(_plan(index))
        found = {name: _load(folder, name, rows, [texts[row] for row in rows]) for name, rows in plan}
        missing = sum(len(rows) for name, rows in plan if found[name] is None)
        done = 0
        parts = []
        for name, rows in plan:
            part = found[name]
            if part is None:

                def report(progress: Progress, before: int = done) -> None:
                    if on_progress is not None:
                        on_progress(Progress(PHASE, before + progress.done, missing))

                mine = [texts[row] for row in rows]
                part = Part.of(rows, encoder.encode_tokens(mine, on_progress=report, stop=stop))
                done += len(rows)
                if folder is not None and _save(folder, name, part, mine):
                    part = _load(folder, name, rows, mine) or part
            parts.append(part)
        if folder is not None:
            _clean(folder, {name for name, _ in plan})
        return cls(tuple(parts), len(texts))

    def maxsim(self, question: Vectors, rows: Ints | None = None) -> Floats:
        """Return Σ over the question's tokens of the largest cosine with a token of the passage, per passage.

        `question` is (tokens, dimension). For the passages `rows` (ascending; None: all), in their order. Raises
        ValueError if the dimensions differ.
        """
        scores = np.full(self.passages, -np.inf)
        compare = _Comparison(question)
        for part in self.parts:
            wanted = part
            if rows is not None:
                chosen = np.flatnonzero(np.isin(part.rows, rows, assume_unique=True))
                if len(chosen) == 0:
                    continue
                wanted = part if len(chosen) == len(part.rows) else part.only(chosen)
            for first, last in wanted.blocks():
                start, end = wanted.starts[first], wanted.starts[last]
                similar = compare.maxima(wanted.tokens[start:end], wanted.starts[first:last] - start)
                scores[wanted.rows[first:last]] = similar * wanted.scales[first:last]
        return scores if rows is None else scores[rows]


class _Comparison:
    """A question's token vectors, ready to be compared with those of passages."""

    def __init__(self, question: Vectors, *, in_bytes: bool | None = None) -> None:
        import torch

        self._torch: Any = torch
        # Products of bytes are several times faster than of floats, where the processor knows them.
        knows = hasattr(torch, "_int_mm") and "AVX512" in torch.backends.cpu.get_cpu_capability()
        self._in_bytes = knows if in_bytes is None else in_bytes
        scales = np.abs(question).max(axis=1, keepdims=True) / LEVELS if self._in_bytes else np.ones((len(question), 1))
        scales[scales == 0] = 1.0
        self._scales = scales[:, 0].astype(np.float64)
        columns = np.ascontiguousarray(np.rint(question / scales).astype(np.int8) if self._in_bytes else question)
        self._columns = torch.from_numpy(columns).T.contiguous()

    def maxima(self, tokens: Bytes, starts: Ints) -> Floats:
        """Return, for the passages that begin at `starts`, the sum over the question's tokens of the best product."""
        block = self._torch.from_numpy(np.asarray(tokens))
        products = self._torch._int_mm(block, self._columns) if self._in_bytes else block.float() @ self._columns
        best = np.maximum.reduceat(products.numpy(), starts, axis=0)
        return np.asarray(best @ self._scales, dtype=np.float64)


def _plan(index: SearchIndex) -> Iterator[tuple[str, Ints]]:
    """Yield a name and the rows of each part."""
    for document_id in index.document_ids:
        rows = index.rows(frozenset((document_id,)))
        for number, first in enumerate(range(0, len(rows), PART)):
            yield f"{file_stem(document_id)}.{number}", rows[first : first + PART]


def _digest(texts: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _load(folder: Path | None, name: str, rows: Ints, texts: Sequence[str]) -> Part | None:
    if folder is None:
        return None
    file = folder / f"{name}.npy"
    try:
        facts = json.loads((folder / f"{name}.json").read_text("utf-8"))
        if facts["texts"] != _digest(texts) or facts["sha256"] != file_sha256(file):
            return None
        tokens = np.load(file, mmap_mode=None if HELD else "c", allow_pickle=False)
        starts = np.concatenate(([0], np.cumsum(facts["lengths"]))).astype(np.int64)
        scales = np.asarray(facts["scales"], dtype=np.float32)
    except DAMAGE:
        return None
    right = tokens.dtype == np.int8 and tokens.ndim == 2 and len(tokens) == starts[-1]
    return Part(rows, tokens, starts, scales) if right and len(scales) == len(starts) - 1 == len(rows) else None


def _save(folder: Path, name: str, part: Part, texts: Sequence[str]) -> bool:
    file = folder / f"{name}.npy"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with unfinished(file) as temporary:
            with temporary.open("wb") as stream:
                np.save(stream, part.tokens, allow_pickle=False)
            hashed = file_sha256(temporary)
        facts = {
            "texts": _digest(texts),
            "sha256": hashed,
            "lengths": np.diff(part.starts).tolist(),
            "scales": part.scales.tolist(),
        }
        write_atomically(folder / f"{name}.json", json.dumps(facts).encode())
    except OSError:
        return False
    return True


def _clean(folder: Path, names: set[str]) -> None:
    try:
        for file in folder.iterdir():
            if file.name.rpartition(".")[0] not in names:
                file.unlink(missing_ok=True)
    except OSError:
        return  # left-over files take room, nothing else


def forget_tokens(index_folder: Path, stem: str) -> None:
    """Remove the token vectors of a document (see `file_stem`) from the folder of an index. Raises OSError."""
    for file in index_folder.glob(f"tokens-*/{stem}.*"):
        file.unlink(missing_ok=True)


# ----------------------------------------------------------------------------------------------------
# Late interaction: every token of the question looks for its best match among the tokens of the passage.


@retrievers.register("late_interaction", "compares every word's meaning; takes most time and disk (ColBERT)")
@dataclass(frozen=True, eq=False)
class LateInteraction(IndexRetriever):
    """MaxSim of ColBERT: score(q, p) = Σ over question tokens of the largest cosine with a passage token.

    Where a query has several texts, the tokens of each count with its weight. Over all passages, or, with a `first`
    retriever, over its `candidates` best. Source: Khattab and Zaharia 2020, "ColBERT: Efficient and effective passage
    search via contextualized late interaction over BERT".
    """

    name: ClassVar[str] = "late_interaction"

    token_encoder: TokenEncoder | None = None
    first: IndexRetriever | None = None
    candidates: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_candidates(self.name, self.candidates)
        if self.token_encoder is None:
            raise UsageError("Late interaction needs an encoder of tokens.", "Give one as token_encoder.")

    @property
    def _encoder(self) -> TokenEncoder:
        assert self.token_encoder is not None
        return self.token_encoder

    def _store(self, on_progress: OnProgress | None = None, stop: StopSignal | None = None) -> TokenStore:
        def make() -> TokenStore:
            return TokenStore.open_or_build(self.index, self._encoder, on_progress=on_progress, stop=stop)

        return self.index.shared(("tokens", self._encoder.model_hash), make)

    def prepare(self, *, on_progress: OnProgress | None = None, stop: StopSignal | None = None) -> None:
        """Encode the tokens of all passages that are not stored yet. Raises ModelError, StoppedError."""
        if self.first is not None:
            self.first.prepare(on_progress=on_progress, stop=stop)
        self._store(on_progress, stop)

    def _find(self, query: Query, k: int, rows: Ints) -> list[ScoredRow]:
        parts: dict[int, dict[str, float]] = {}
        if self.first is not None:
            found = self.first._find(query, max(k, self.candidates), rows)
            parts = {item.row: dict(item.parts) for item in found}
            rows = np.asarray(sorted(parts), dtype=np.int64)
            if len(rows) == 0:
                return []
        texts = query.dense or ((query.text, 1.0),)
        encoded = self._encoder.encode_tokens([text for text, _ in texts], question=True)
        vectors = np.concatenate([weight * own for (_, weight), own in zip(texts, encoded, strict=True)])
        if len(vectors) == 0:
            return []
        try:
            scores = self._store().maxsim(vectors, rows if len(rows) < len(self.index.passages) else None)
        except (ValueError, RuntimeError) as error:
            raise ModelError(
                f"The tokens of the index do not fit those of {self._encoder.name}: {error}.",
                "Restart the program; the index is built again.",
            ) from error
        best = top(scores, k)
        return [
            ScoredRow(
                int(rows[i]), float(scores[i]), {**parts.get(int(rows[i]), {}), "late_interaction": float(scores[i])}
            )
            for i in best
        ]
