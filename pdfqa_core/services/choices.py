"""The strategies that can be chosen: which registry holds them, and which setting names them."""

from __future__ import annotations

from typing import Any

from pdfqa_core.chunking import chunkers
from pdfqa_core.conversation import rewriters
from pdfqa_core.extraction import extractors
from pdfqa_core.llm import engines
from pdfqa_core.reading import readers
from pdfqa_core.registry import Registry
from pdfqa_core.retrieval import retrievers
from pdfqa_core.settings import Settings

REGISTRIES: tuple[Registry[Any], ...] = (extractors, chunkers, retrievers, readers, rewriters, engines)


def names(kind: str) -> tuple[str, ...]:
    """Return the names of the strategies of a kind ("extractor", "chunker", "retriever", "reader", "rewriter")."""
    return next(registry.names() for registry in REGISTRIES if registry.kind == kind)


def check(settings: Settings) -> None:
    """Raise UsageError if the settings name a strategy that does not exist."""
    extractors.get(settings.extraction.extractor)
    if settings.chunking.read_by:
        extractors.get(settings.chunking.read_by)
    chunkers.get(settings.chunking.chunker)
    retrievers.get(settings.retrieval.retriever)
    readers.get(settings.reading.reader)
    rewriters.get(settings.conversation.rewriter)
    engines.get(settings.llm.engine)
