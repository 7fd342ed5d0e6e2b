"""An index's folder: a manifest, and per document one segment of passages and one file of vectors. No pickles.

Everything here is derived data. Whatever is missing, damaged or made under other settings reads as "not there"; the
caller builds it again. The manifest is written about once a second, so that an interrupted build keeps what it had.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pdfqa_core.languages import ENGLISH, RULES, has_others
from pdfqa_core.retrieval.bm25 import TermCounts
from pdfqa_core.retrieval.embedding_cache import file_stem
from pdfqa_core.retrieval.encoder import Vectors
from pdfqa_core.types import Passage, Span
from pdfqa_core.whole_files import DAMAGE, sha256, write_atomically

SCHEMA = 1
MANIFEST = "manifest.json"
TEMPORARY_SECONDS = 3600


@dataclass(frozen=True, eq=False)
class IndexSegment:
    """One document's passages with their index terms counted, and their vectors where they have been made."""

    passages: tuple[Passage, ...]
    terms: TermCounts
    vectors: Vectors | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class ManifestEntry:
    """What the manifest says of one document: number of passages, hashes of its two files, seconds of building.

    `source` names the text that the passages were made of, `language` is the one they were split by, `rules` says what
    a term was then.
    """

    passages: int
    sha256: str
    vectors_sha256: str = ""
    seconds: float = 0.0
    source: str = ""
    language: str = ENGLISH
    rules: int = 1

    @property
    def written(self) -> dict[str, Any]:
        """What stands in the manifest; English goes without saying, as it did before other languages were known."""
        return {name: value for name, value in asdict(self).items() if name != "language" or value != ENGLISH}


@dataclass(frozen=True)
class Manifest:
    """What an index is: made by this recipe and model (hash; "" without one), vectors of `dimension` (0: none yet)."""

    recipe: str
    model: str
    model_hash: str
    dimension: int = 0
    schema: int = SCHEMA
    documents: Mapping[str, ManifestEntry] = field(default_factory=dict)

    def only(self, document_ids: Sequence[str]) -> Manifest:
        """Return a copy without the documents that are not in `document_ids`."""
        return replace(self, documents={i: e for i, e in self.documents.items() if i in set(document_ids)})


@dataclass(frozen=True)
class IndexFolder:
    """Reads and writes the files of one index."""

    path: Path

    def segment_file(self, document_id: str) -> Path:
        """Where a document's passages lie."""
        return self.path / f"{file_stem(document_id)}.passages.npz"

    def vectors_file(self, document_id: str) -> Path:
        """Where a document's vectors lie."""
        return self.path / f"{file_stem(document_id)}.vectors.npy"

    def read_manifest(self, empty: Manifest) -> Manifest:
        """Return the manifest if it is whole and made under the same settings as `empty`, else `empty`."""
        try:
            data = json.loads((self.path / MANIFEST).read_bytes())
            documents = {str(i): ManifestEntry(**entry) for i, entry in data.pop("documents").items()}
            found = Manifest(documents=documents, **data)
        except DAMAGE:
            return empty
        return found if replace(found, documents={}, dimension=0) == empty else empty

    def write_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest. Raises OSError."""
        data = asdict(manifest) | {"documents": {i: entry.written for i, entry in manifest.documents.items()}}
        write_atomically(self.path / MANIFEST, json.dumps(data, indent=1).encode())

    def load(self, document_id: str, manifest: Manifest, *, vectors: bool) -> IndexSegment | None:
        """Return a document's segment as saved, None if it is missing or damaged; without vectors if those are."""
        entry = manifest.documents.get(document_id)
        if entry is None:
            return None
        try:
            content = self.segment_file(document_id).read_bytes()
            if sha256(content) != entry.sha256:
                return None
            segment = _segment_from(content, document_id, entry.language)
            if len(segment.passages) != entry.passages:
                return None
            if entry.rules != RULES and any(
                has_others(one.heading) or has_others(one.text) for one in segment.passages
            ):
                return None
            segment = replace(segment, seconds=float(entry.seconds))
        except DAMAGE:
            return None
        return replace(segment, vectors=self._load_vectors(document_id, entry, manifest)) if vectors else segment

    def _load_vectors(self, document_id: str, entry: ManifestEntry, manifest: Manifest) -> Vectors | None:
        try:
            content = self.vectors_file(document_id).read_bytes()
            if sha256(content) != entry.vectors_sha256:
                return None
            found = np.load(io.BytesIO(content), allow_pickle=False)
        except DAMAGE:
            return None
        right = found.dtype == np.float32 and found.shape == (entry.passages, manifest.dimension)
        return found if right and bool(np.isfinite(found).all()) else None

    def save(self, document_id: str, segment: IndexSegment, known: ManifestEntry | None) -> ManifestEntry:
        """Write what is new of a segment and return its entry; `known` is the entry of files that are already there.

        Raises OSError.
        """
        entry = known
        if entry is None:
            content = _segment_bytes(segment)
            write_atomically(self.segment_file(document_id), content)
            language = next((passage.language for passage in segment.passages), ENGLISH)
            entry = ManifestEntry(len(segment.passages), sha256(content), language=language, rules=RULES)
        if segment.vectors is not None:
            buffer = io.BytesIO()
            np.save(buffer, segment.vectors, allow_pickle=False)
            write_atomically(self.vectors_file(document_id), buffer.getvalue())
            entry = replace(entry, vectors_sha256=sha256(buffer.getvalue()))
        return replace(entry, seconds=round(segment.seconds, 3))

    def clean(self, manifest: Manifest) -> None:
        """Remove the files of documents that the manifest does not name, and what an interrupted writing left."""
        kept = {f(i).name for i in manifest.documents for f in (self.segment_file, self.vectors_file)}
        try:
            for file in self.path.iterdir():
                segment = file.name.endswith((".passages.npz", ".vectors.npy")) and file.name not in kept
                if segment or (file.suffix == ".tmp" and file.stat().st_mtime < time.time() - TEMPORARY_SECONDS):
                    file.unlink(missing_ok=True)
        except OSError:
            return  # left-over files take room, nothing else

    def listed(self) -> frozenset[str]:
        """Return the documents that the manifest names, whatever it was made under."""
        try:
            return frozenset(json.loads((self.path / MANIFEST).read_bytes())["documents"])
        except DAMAGE:
            return frozenset()

    def remove(self, stem: str) -> bool:
        """Remove what is of a document (see `file_stem`); return whether it had vectors. Raises OSError."""
        vectors = (self.path / f"{stem}.vectors.npy").exists()
        for file in self.path.glob(f"{stem}.*"):
            file.unlink(missing_ok=True)
        try:
            data = json.loads((self.path / MANIFEST).read_bytes())
            left = {one: entry for one, entry in data["documents"].items() if file_stem(one) != stem}
        except FileNotFoundError:
            return vectors
        except DAMAGE:
            (self.path / MANIFEST).unlink(missing_ok=True)
            return vectors
        if len(left) < len(data["documents"]):  # an entry has the title
            write_atomically(self.path / MANIFEST, json.dumps(data | {"documents": left}, indent=1).encode())
        return vectors

    def size(self) -> int:
        """Return the bytes of all files."""
        try:
            return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())
        except OSError:
            return 0


def _as_bytes(data: object) -> Any:
    # ASCII only: broken PDFs hold lone surrogates, which UTF-8 cannot say.
    return np.frombuffer(json.dumps(data, separators=(",", ":")).encode("ascii"), dtype=np.uint8)


def _segment_bytes(segment: IndexSegment) -> bytes:
    passages = [[p.id, p.heading, p.text, [[s.page, s.start, s.end] for s in p.spans]] for p in segment.passages]
    buffer = io.BytesIO()
    np.savez(
        buffer,
        passages=_as_bytes(passages),
        vocabulary=_as_bytes(segment.terms.vocabulary),
        term_ids=segment.terms.term_ids.astype(np.int32),
        counts=segment.terms.counts.astype(np.int32),
        indptr=segment.terms.indptr,
    )
    return buffer.getvalue()


def _segment_from(content: bytes, document_id: str, language: str) -> IndexSegment:
    with np.load(io.BytesIO(content), allow_pickle=False) as data:
        passages = tuple(
            Passage(i, tuple(Span(document_id, *place) for place in places), text, heading, language)
            for i, heading, text, places in json.loads(data["passages"].tobytes())
        )
        vocabulary = tuple(json.loads(data["vocabulary"].tobytes()))
        arrays = (data[name].astype(np.int64) for name in ("term_ids", "counts", "indptr"))
        terms = TermCounts(vocabulary, *arrays)
    if not terms.valid() or len(terms.indptr) != len(passages) + 1:
        raise ValueError("the segment's parts do not fit together")
    return IndexSegment(passages, terms)
