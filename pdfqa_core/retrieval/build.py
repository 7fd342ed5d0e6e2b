"""A retriever as settings describe it: its parameters, its models, a re-ranker and the choice of evidence on top."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

from pdfqa_core.errors import UsageError
from pdfqa_core.retrieval.base import IndexRetriever, Searcher, SearchIndex, retrievers
from pdfqa_core.retrieval.embedding_cache import PREFIX, file_stem, forget_embeddings
from pdfqa_core.retrieval.graph import forget_graph
from pdfqa_core.retrieval.late_interaction import TokenEncoder, forget_tokens
from pdfqa_core.retrieval.postprocessing import Postprocessed
from pdfqa_core.retrieval.rerank import PairScorer, Reranked
from pdfqa_core.retrieval.store import MANIFEST, IndexFolder
from pdfqa_core.retrieval.strategies import BothLists

# ----------------------------------------------------------------------------------------------------
# Removing what indexes hold of a document.

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


# ----------------------------------------------------------------------------------------------------
# A retriever as settings describe it: its parameters, its models, a re-ranker and the choice of evidence on top.

ALL_PASSAGES = "none"
TOKEN_ENCODER, FIRST = "token_encoder", "first"  # parameters of retrievers that are made of settings


class RetrievalModels(Protocol):
    """Where the models of retrievers come from, apart from the index's own encoder."""

    def token_encoder(self, path_or_name: str = "") -> TokenEncoder:
        """Return the late interaction model at a path or of a hub name; "" is the bundled encoder."""
        ...

    def reranker(self, path_or_name: str) -> PairScorer:
        """Return the cross-encoder at a path or of a hub name."""
        ...


def needs_embeddings(parameters: Mapping[str, Any]) -> bool:
    """Whether the index has to be opened with embeddings for the retriever that the parameters describe."""
    name = parameters["retriever"]
    return retrievers.get(_first(name, parameters) or name).needs_embeddings


def adds_words(parameters: Mapping[str, Any]) -> bool:
    """Whether the retriever compares words beside meanings, so that it finds passages whose meaning is not read yet."""
    return issubclass(retrievers.get(parameters["retriever"]), BothLists)


def prepared(parameters: Mapping[str, Any]) -> str:
    """Return a name for what the retriever prepares beside the passages and embeddings of an index; "" for nothing."""
    tokens = TOKEN_ENCODER in retrievers.parameters(parameters["retriever"])
    return f"tokens {parameters.get('late_model', '')}" if tokens else ""


def _first(name: str, parameters: Mapping[str, Any]) -> str:
    """Return the name of the retriever whose candidates the one called `name` orders; "" for none."""
    chosen = parameters.get("first_stage", ALL_PASSAGES)
    if FIRST not in retrievers.parameters(name) or chosen == ALL_PASSAGES:
        return ""
    if FIRST in retrievers.parameters(chosen):
        raise UsageError(f"{chosen} cannot be the first stage of {name}.", "Choose another retriever, or none.")
    return str(chosen)


def make_retriever(index: SearchIndex, parameters: Mapping[str, Any], models: RetrievalModels) -> Searcher:
    """Return the retriever that the parameters describe.

    `retriever` names it; its own parameters go by the names of its fields. A field `token_encoder` is made of
    `late_model` (path or hub name), a field `first` of `first_stage` (another retriever's name, or "none"). For all:
    `reranker` (path or hub name, "" for none), `rerank_candidates`, `per_page` (hits of one page, 0 for any number),
    `merge_overlaps`. Models are loaded when they are first used. Raises UsageError.
    """
    name = parameters["retriever"]
    found: Searcher = _plain(index, name, parameters, models)
    if parameters.get("reranker"):
        found = Reranked(found, models.reranker(parameters["reranker"]), parameters.get("rerank_candidates", 20))
    if parameters.get("per_page") or parameters.get("merge_overlaps"):
        found = Postprocessed(found, parameters.get("per_page", 0), parameters.get("merge_overlaps", False))
    return found


def _plain(index: SearchIndex, name: str, parameters: Mapping[str, Any], models: RetrievalModels) -> IndexRetriever:
    own = retrievers.accepted(name, {key: value for key, value in parameters.items() if key != "index"})
    if TOKEN_ENCODER in retrievers.parameters(name) and not index.resident:
        raise UsageError(f"{name} does not search an index in LanceDB.", "Choose another retriever, or index memory.")
    if TOKEN_ENCODER in retrievers.parameters(name):
        own[TOKEN_ENCODER] = models.token_encoder(parameters.get("late_model", ""))
    if first := _first(name, parameters):
        own[FIRST] = _plain(index, first, parameters, models)
    return retrievers.get(name)(index, **own)
