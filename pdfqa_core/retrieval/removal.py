"""Removing what indexes hold of a document."""

from __future__ import annotations

from pathlib import Path

from pdfqa_core.retrieval.embedding_cache import PREFIX, forget_embeddings
from pdfqa_core.retrieval.graph import forget_graph
from pdfqa_core.retrieval.store import IndexFolder
from pdfqa_core.retrieval.token_store import forget_tokens


def forget(root: Path, document_id: str) -> None:
    """Remove a document's passages and vectors from all indexes below `root`. Raises OSError.

    A search graph that may hold its vectors goes as a whole and is built again when it is needed.
    """
    if not root.is_dir():
        return
    forget_embeddings(root, document_id)
    for path in root.iterdir():
        if path.is_dir() and not path.name.startswith(PREFIX):
            folder = IndexFolder(path)
            if folder.vectors_file(document_id).exists():
                forget_graph(path)
            folder.segment_file(document_id).unlink(missing_ok=True)
            folder.vectors_file(document_id).unlink(missing_ok=True)
            forget_tokens(path, document_id)
