"""Removing what indexes hold of a document."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from pdfqa_core.retrieval.embedding_cache import PREFIX, file_stem, forget_embeddings
from pdfqa_core.retrieval.graph import forget_graph
from pdfqa_core.retrieval.store import MANIFEST, IndexFolder
from pdfqa_core.retrieval.token_store import forget_tokens

_STEM = re.compile(r"[0-9a-f]{32}")


def forget(root: Path, document_id: str) -> None:
    """Remove a document's passages, vectors and title from all indexes below `root`. Raises OSError.

    A search graph that may hold its vectors goes as a whole and is built again when it is needed.
    """
    _forget(root, file_stem(document_id))


def stems(root: Path) -> set[str]:
    """Return what files of documents begin with in all indexes below `root`, see `file_stem`."""
    names = {path.name.partition(".")[0] for pattern in ("*/*.*", "*/tokens-*/*.*") for path in root.glob(pattern)}
    listed = {file_stem(one) for path in root.glob(f"*/{MANIFEST}") for one in IndexFolder(path.parent).listed()}
    return {name for name in names if _STEM.fullmatch(name)} | listed


def forget_stems(root: Path, gone: Collection[str]) -> None:
    """Remove what is of the documents whose files begin so. Raises OSError."""
    for stem in gone:
        _forget(root, stem)


def _forget(root: Path, stem: str) -> None:
    if not root.is_dir():
        return
    forget_embeddings(root, stem)
    for path in root.iterdir():
        if path.is_dir() and not path.name.startswith(PREFIX):
            folder = IndexFolder(path)
            if folder.remove(stem):
                forget_graph(path)
            forget_tokens(path, stem)
