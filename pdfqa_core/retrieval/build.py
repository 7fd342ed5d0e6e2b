"""A retriever as settings describe it: its parameters, its models, a re-ranker and the choice of evidence on top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Protocol

from pdfqa_core.errors import UsageError
from pdfqa_core.retrieval.base import IndexRetriever, Searcher, retrievers
from pdfqa_core.retrieval.evidence import Evidence
from pdfqa_core.retrieval.index import Index
from pdfqa_core.retrieval.rerank import PairScorer, Reranked
from pdfqa_core.retrieval.token_encoder import TokenEncoder

LATE = "late_interaction"
ALL_PASSAGES = "none"


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
    if name == LATE and parameters.get("first_stage", ALL_PASSAGES) != ALL_PASSAGES:
        name = parameters["first_stage"]
    return bool(retrievers.get(name).needs_embeddings)


def prepared(parameters: Mapping[str, Any]) -> str:
    """Return a name for what the retriever prepares beside the passages and embeddings of an index; "" for nothing."""
    return f"{LATE} {parameters.get('late_model', '')}" if parameters["retriever"] == LATE else ""


def make_retriever(index: Index, parameters: Mapping[str, Any], models: RetrievalModels) -> Searcher:
    """Return the retriever that the parameters describe.

    `retriever` names it; its own parameters go by the names of its fields. Of late interaction: `late_model` (path or
    hub name), `first_stage` (another retriever's name, or "none"). For all: `reranker` (path or hub name, "" for none),
    `rerank_candidates`, `per_page` (hits of one page, 0 for any number), `merge_overlaps`. Models are loaded when they
    are first used. Raises UsageError.
    """
    name = parameters["retriever"]
    found: Searcher = _plain(index, name, parameters, models)
    if parameters.get("reranker"):
        found = Reranked(found, models.reranker(parameters["reranker"]), parameters.get("rerank_candidates", 20))
    if parameters.get("per_page") or parameters.get("merge_overlaps"):
        found = Evidence(found, parameters.get("per_page", 0), parameters.get("merge_overlaps", False))
    return found


def _plain(index: Index, name: str, parameters: Mapping[str, Any], models: RetrievalModels) -> IndexRetriever:
    strategy = retrievers.get(name)
    declared = {field.name for field in fields(strategy)}
    own = {key: value for key, value in parameters.items() if key in declared}
    if name == LATE:
        own["token_encoder"] = models.token_encoder(parameters.get("late_model", ""))
        first = parameters.get("first_stage", ALL_PASSAGES)
        if first == LATE:
            raise UsageError(f"The first stage of {LATE} is {LATE} itself.", "Choose another retriever, or none.")
        if first != ALL_PASSAGES:
            own["first"] = _plain(index, first, parameters, models)
    made: IndexRetriever = strategy(index, **own)
    return made
