"""A recipe: what of the settings makes passages and finds them; its chunker, its name, what its passages depend on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pdfqa_core.chunking import Chunking, Tokenize, chunkers
from pdfqa_core.services.strategies import in_use
from pdfqa_core.settings import RetrievalSettings, Settings
from pdfqa_core.text import words


def chunker(settings: Settings, tokenize: Tokenize = words) -> Chunking:
    """Return the chunker of a recipe. `tokenize` measures lengths in tokens; words do to name it. Raises UsageError."""
    made: Chunking = chunkers.get(settings.chunking.chunker)(**_parameters(settings), tokenize=tokenize)
    return made


def _parameters(settings: Settings) -> dict[str, Any]:
    return chunkers.accepted(settings.chunking.chunker, settings.chunking.model_dump())


def name_of(settings: Settings) -> str:
    """Return the name of a recipe as people read it: "hybrid over windows of 120 words, step 60, with headings".

    What is not at its default is part of it, so that two recipes never have one name.
    """
    chunking = settings.chunking
    headings = ", with headings" if chunking.headings else ""
    text = f" as read by {chunking.read_by}" if chunking.read_by else ""
    others = "".join(f", {one}" for one in _others(settings))
    return f"{settings.retrieval.retriever} over {chunker(settings).words}{headings}{text}{others}"


def _others(settings: Settings) -> Iterator[str]:
    """Yield in words the settings that the retriever uses and that differ from their default."""
    used = in_use(settings)
    for name, field in RetrievalSettings.model_fields.items():
        value, said = getattr(settings.retrieval, name), name.replace("_", " ")
        if name != "retriever" and value != field.default and used.get(("retrieval", name), True):
            yield said if value is True else f"no {said}" if value is False else f"{said} {value}"


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
