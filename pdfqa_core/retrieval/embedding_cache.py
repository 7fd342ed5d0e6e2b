"""Vectors by text: what a model has encoded once is not encoded again, also after an interruption or by a new chunker.

One folder per model below the indexes' root, one file per document (with whose passages the vectors go when the
document is removed). A file's name holds the hash of its content: a damaged one reads as "not there". No pickles.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from pdfqa_core.errors import ModelError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.retrieval.encoder import BATCH, OnProgress, TextEncoder, Vectors
from pdfqa_core.types import Progress
from pdfqa_core.whole_files import DAMAGE, cannot_write, sha256, write_atomically

Known: TypeAlias = dict[bytes, Vectors]

PREFIX = "embeddings-"
LIMIT_BYTES = 2_000_000_000
KEY_BYTES = 16
GROUP = 1024  # texts that are sorted by length together
CHUNK = BATCH  # texts per call of the encoder: what a stop in the middle loses
FLUSH_SECONDS = 3.0  # a search meanwhile uses what is kept
WRITING = 0.1  # at most this share of the time goes into keeping
_log = logging.getLogger(__name__)


def text_key(text: str) -> bytes:
    """Return the 16 bytes that stand for a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]


def file_stem(document_id: str) -> str:
    """Return the 32 hex digits that files of a document begin with."""
    return hashlib.sha256(document_id.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class EmbeddingCache:
    """The vectors that one model has made of the texts of documents. Never raises where its folder cannot be written.

    `root` is the folder of all indexes, `limit` the bytes above which the files that were used longest ago go.
    """

    root: Path
    model_hash: str
    limit: int = LIMIT_BYTES

    @property
    def folder(self) -> Path:
        """Where the files lie."""
        return self.root / f"{PREFIX}{self.model_hash}"

    def _files(self, document_id: str) -> list[Path]:
        try:
            return sorted(self.folder.glob(f"{file_stem(document_id)}.*.npz"))
        except OSError:
            return []

    def load(self, document_id: str) -> Known:
        """Return the vectors of a document's texts by `text_key`, all of one dimension."""
        found: Known = {}
        for file in self._files(document_id):
            vectors = _read(file)
            if found and vectors and len(next(iter(vectors.values()))) != len(next(iter(found.values()))):
                vectors = {}
            found.update(vectors)
        return found

    def add(self, document_id: str, known: Mapping[bytes, Vectors]) -> None:
        """Keep vectors beside those that are there; all end up in one file."""
        if not known:
            return
        old = self._files(document_id)
        merged = {**self.load(document_id), **known}
        dimension = len(next(iter(known.values())))
        merged = {key: vector for key, vector in merged.items() if len(vector) == dimension}
        buffer = io.BytesIO()
        keys = np.frombuffer(b"".join(merged), dtype=np.uint8).reshape(len(merged), KEY_BYTES)
        np.savez(buffer, keys=keys, vectors=np.stack(list(merged.values())))
        content = buffer.getvalue()
        new = self.folder / f"{file_stem(document_id)}.{sha256(content)[:32]}.npz"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(new, content)
            for file in old:
                if file != new:
                    file.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("%s", cannot_write(f"the embeddings in {self.folder}", error).what)

    def touch(self, document_id: str) -> None:
        """Note that a document's vectors are in use."""
        for file in self._files(document_id):
            try:
                os.utime(file)
            except OSError:
                return

    def trim(self) -> None:
        """Remove the files that were used longest ago until all models' files together are below the limit."""
        files = []
        try:
            for file in self.root.glob(f"{PREFIX}*/*"):
                facts = file.stat()
                if file.suffix == ".tmp" and facts.st_mtime < time.time() - 3600:
                    file.unlink(missing_ok=True)
                else:
                    files.append((facts.st_mtime, facts.st_size, file))
            total = sum(size for _, size, _ in files)
            for _, size, file in sorted(files):
                if total <= self.limit:
                    return
                file.unlink(missing_ok=True)
                total -= size
        except OSError as error:
            _log.warning("the embeddings in %s are not trimmed: %s", self.root, error)


def forget_embeddings(root: Path, stem: str) -> None:
    """Remove the vectors of a document's texts (see `file_stem`), of all models. Raises OSError."""
    for file in root.glob(f"{PREFIX}*/{stem}.*.npz"):
        file.unlink(missing_ok=True)


def _read(file: Path) -> Known:
    try:
        content = file.read_bytes()
        if sha256(content)[:32] != file.name.split(".")[1]:
            file.unlink(missing_ok=True)
            return {}
        with np.load(io.BytesIO(content), allow_pickle=False) as data:
            keys, vectors = data["keys"], data["vectors"]
    except DAMAGE:
        return {}
    right = keys.shape == (len(vectors), KEY_BYTES) and keys.dtype == np.uint8 and vectors.dtype == np.float32
    if not (right and vectors.ndim == 2 and np.isfinite(vectors).all()):
        return {}
    return {key.tobytes(): vector for key, vector in zip(keys, vectors, strict=True)}


@dataclass
class Embedding:
    """Encodes the texts of documents whose vectors are not known yet; without a `cache` nothing is kept."""

    encoder: TextEncoder
    cache: EmbeddingCache | None = None
    on_progress: OnProgress | None = None
    stop: StopSignal | None = None
    _done: int = field(default=0, init=False)
    _total: int = field(default=0, init=False)

    def run(self, documents: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Vectors, float]]:
        """Yield (document id, one vector per text, seconds) for each document, in order.

        Documents are taken together until there are about 1,024 new texts; those are encoded longest first. Raises
        StoppedError when `stop` is set: vectors of finished batches are kept. Passes on the encoder's ModelError.
        """
        self._total = sum(map(len, documents.values()))
        group: dict[str, Sequence[str]] = {}
        known: dict[str, Known] = {}
        new = 0
        for document_id, texts in documents.items():
            group[document_id] = texts
            known[document_id] = self.cache.load(document_id) if self.cache and texts else {}
            new += len({text_key(text) for text in texts} - known[document_id].keys())
            if new >= GROUP and new >= self._per_call:  # a cluster is asked for its size only where it has work
                yield from self._finish(group, known)
                group, known, new = {}, {}, 0
        yield from self._finish(group, known)

    def _finish(
        self, group: Mapping[str, Sequence[str]], known: dict[str, Known]
    ) -> Iterator[tuple[str, Vectors, float]]:
        started, done = time.perf_counter(), self._done
        self._encode(group, known)
        sizes = {len(vector) for vectors in known.values() for vector in vectors.values()}
        if len(sizes) > 1:  # what was kept is not of this model: its dimension is another
            known.update({document_id: {} for document_id in group})
            self._done = done
            self._encode(group, known)
        seconds = (time.perf_counter() - started) / max(1, sum(map(len, group.values())))
        for document_id, texts in group.items():
            vectors = [known[document_id][text_key(text)] for text in texts]
            empty = np.zeros((0, 0), dtype=np.float32)
            yield document_id, np.stack(vectors) if vectors else empty, seconds * len(texts)

    def _encode(self, group: Mapping[str, Sequence[str]], known: dict[str, Known]) -> None:
        owners: dict[str, list[str]] = {}  # of each text whose vector is not known
        for document_id, texts in group.items():
            for text in texts:
                if text_key(text) not in known[document_id]:
                    owners.setdefault(text, []).append(document_id)
        self._done += sum(map(len, group.values())) - len(owners)
        longest_first = sorted(owners, key=len, reverse=True)
        fresh: dict[str, Known] = {document_id: {} for document_id in group}
        flushed, pause = time.monotonic(), FLUSH_SECONDS
        try:
            size = self._per_call if len(owners) > CHUNK else CHUNK
            for first in range(0, len(owners), size):
                chunk = longest_first[first : first + size]
                for text, vector in zip(chunk, self._vectors(chunk), strict=True):
                    for document_id in owners[text]:
                        fresh[document_id][text_key(text)] = vector
                if time.monotonic() - flushed > pause:
                    began = time.monotonic()
                    self._keep(fresh)
                    flushed = time.monotonic()
                    pause = max(FLUSH_SECONDS, (flushed - began) / WRITING)
        finally:
            self._keep(fresh)
            for document_id, vectors in fresh.items():
                known[document_id].update(vectors)
        if self.cache is not None and not owners:
            for document_id in group:
                self.cache.touch(document_id)

    @property
    def _per_call(self) -> int:
        """How many texts the encoder wants at a time; one that works here is given a batch, one elsewhere many."""
        return int(getattr(self.encoder, "texts_per_call", CHUNK))

    def _keep(self, fresh: Mapping[str, Known]) -> None:
        if self.cache is not None:
            for document_id, vectors in fresh.items():
                self.cache.add(document_id, vectors)

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        done = self._done

        def report(progress: Progress) -> None:
            if self.on_progress is not None:
                self.on_progress(Progress(progress.phase, done + progress.done, self._total))

        vectors = self.encoder.encode(texts, on_progress=report, stop=self.stop)
        if vectors.shape[0] != len(texts) or vectors.ndim != 2:
            raise ModelError(f"{self.encoder.name} made {vectors.shape[0]} vectors of {len(texts)} texts.")
        self._done = done + len(texts)
        return vectors
