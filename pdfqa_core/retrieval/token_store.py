"""Token vectors of an index's passages: one byte per number, memory-mapped, and the MaxSim of a question with them.

One folder per model inside the index's folder, one pair of files per 256 passages of a document: an interrupted
building goes on with the next pair. What is damaged or of another text is encoded again. No pickles.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.embedding_cache import file_stem
from pdfqa_core.retrieval.encoder import OnProgress, Vectors
from pdfqa_core.retrieval.index import index_text
from pdfqa_core.retrieval.interface import SearchIndex
from pdfqa_core.retrieval.postings import Floats, Ints
from pdfqa_core.retrieval.token_encoder import PHASE, TokenEncoder
from pdfqa_core.types import Progress
from pdfqa_core.whole_files import DAMAGE, HELD, file_sha256, unfinished, write_atomically

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
            "texts": _digest(texts), "sha256": hashed, "lengths": np.diff(part.starts).tolist(),
            "scales": part.scales.tolist(),
        }  # fmt: skip
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
