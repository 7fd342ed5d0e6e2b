"""A recipe: what of the settings makes passages and finds them; its chunker, its name, what its passages depend on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pdfqa_core.chunking import Chunking, Tokenize, chunkers
from pdfqa_core.services.strategies import in_use
from pdfqa_core.settings import RetrievalSettings, Settings


def chunker(settings: Settings, tokenize: Tokenize | None = None) -> Chunking:
    """Return the chunker of a recipe; `tokenize` is for lengths in tokens. Raises UsageError."""
    name = settings.chunking.chunker
    made: Chunking = chunkers.get(name)(**_parameters(settings), tokenize=tokenize or _no_tokens)
    return made


def _no_tokens(text: str) -> list[tuple[int, int]]:
    raise NotImplementedError("The recipe's passages are named, not made.")


def _parameters(settings: Settings) -> dict[str, Any]:
    return chunkers.accepted(settings.chunking.chunker, settings.chunking.model_dump())


def name_of(settings: Settings) -> str:
    """Return the name of a recipe as people read it: "hybrid over windows of 120 words, step 60, with headings".

    What is not at its default is part of it, so that two recipes never have one name.
    """
    chunking = settings.chunking
    headings = ", with headings" if chunking.headings else ""
    text = f" as read by {chunking.read_by}" if chunking.read_by else ""
    others = "".join(f", {words}" for words in _others(settings))
    return f"{settings.retrieval.retriever} over {chunker(settings).words}{headings}{text}{others}"


def _others(settings: Settings) -> Iterator[str]:
    """Yield in words the settings that the retriever uses and that differ from their default."""
    used = in_use(settings)
    for name, field in RetrievalSettings.model_fields.items():
        value, words = getattr(settings.retrieval, name), name.replace("_", " ")
        if name != "retriever" and value != field.default and used.get(("retrieval", name), True):
            yield words if value is True else f"no {words}" if value is False else f"{words} {value}"


def fingerprint(settings: Settings, *others: str) -> str:
    """Return a name for everything that the passages depend on; settings the chunker does not have are left out.

    Lengths in tokens depend on whose tokens they are.
    """
    chunking = settings.chunking
    parts = {
        "chunker": chunking.chunker, "headings": chunking.headings, **_parameters(settings), "others": others,
    }  # fmt: skip
    if parts.get("unit") == "tokens":
        parts["tokenizer"] = settings.retrieval.embedding_model
    return json.dumps(parts, sort_keys=True)
