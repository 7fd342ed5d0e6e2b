"""A recipe: what of the settings makes passages and finds them; its chunker, its name, what its passages depend on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pdfqa_core.chunking import APART, Chunking, Tokenize, chunkers
from pdfqa_core.conversation import rewriters
from pdfqa_core.extraction import extractors
from pdfqa_core.llm import engines
from pdfqa_core.reading import readers
from pdfqa_core.registry import Registry
from pdfqa_core.retrieval import retrievers
from pdfqa_core.settings import RetrievalSettings, Settings
from pdfqa_core.text import words

# ----------------------------------------------------------------------------------------------------
# The strategies that can be chosen, the settings that name them, and which settings the chosen ones have.

REGISTRIES: Mapping[str, Registry[Any]] = {
    registry.kind: registry for registry in (extractors, chunkers, retrievers, readers, rewriters, engines)
}

# Starting points of a recipe, by the name that people choose.
PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "Quick": {"chunking": {"chunker": "paragraphs"}, "retrieval": {"retriever": "bm25", "k": 5}},
    "Balanced": {
        "chunking": {"chunker": "windows", "unit": "words", "size": 120, "step": 60, "headings": True},
        "retrieval": {"retriever": "hybrid", "k": 5},
    },
    "Thorough": {
        "chunking": {"chunker": "windows", "unit": "words", "size": 200, "step": 50, "headings": True},
        "retrieval": {"retriever": "hybrid", "k": 10, "candidates": 300},
    },
}


def with_preset(settings: Settings, name: str) -> Settings:
    """Return settings with those of a preset; as they are where there is no such one."""
    for section, fields in PRESETS.get(name, {}).items():
        settings = settings.changed(section, **fields)
    return settings


def preset_of(settings: Settings) -> str | None:
    """Return the preset that settings agree with, None where they agree with none."""
    return next((name for name in PRESETS if with_preset(settings, name) == settings), None)


def names(kind: str, without: str = "") -> tuple[str, ...]:
    """Return the names of the strategies of a kind ("extractor", "chunker", "retriever", "reader", "rewriter").

    Those that have a parameter called `without` are left out.
    """
    registry = REGISTRIES[kind]
    return tuple(name for name in registry.names() if without not in registry.parameters(name))


def check(settings: Settings) -> None:
    """Raise UsageError if the settings name a strategy that does not exist."""
    for section, name, look in settings.looks():
        value = getattr(getattr(settings, section), name)
        if look.of and (look.also is None or value != look.also[0]):
            REGISTRIES[look.of].get(value)


def in_use(settings: Settings) -> dict[tuple[str, str], bool]:
    """Return, for each setting that is a parameter of some strategy of its section, whether the chosen one has it.

    What a strategy does with the help of another, such as a first stage, it does with the parameters of both. Of a
    choice that stands for one of several, such as the reader by the model, those of all count.
    """
    found: dict[tuple[str, str], bool] = {}
    for section in Settings.model_fields:
        values = getattr(settings, section)
        looks = {name: look for of, name, look in settings.looks() if of == section}
        kind = next((name for name, look in looks.items() if look.of == name), None)
        if kind is None:
            continue
        registry = REGISTRIES[kind]
        parameters = {name: registry.parameters(name) for name in registry.names()}
        chosen = getattr(values, kind)
        used = parameters[chosen] if chosen in parameters else frozenset[str]().union(*parameters.values())
        for name, look in looks.items():
            if look.of == kind and look.parameter in used:
                used = used.union(parameters.get(getattr(values, name), ()))
        known = frozenset[str]().union(*parameters.values())
        given = {name: look.parameter or name for name, look in looks.items()}
        found |= {(section, name): parameter in used for name, parameter in given.items() if parameter in known}
    return found


# ----------------------------------------------------------------------------------------------------
# A recipe: what of the settings makes passages and finds them; its chunker, its name, what its passages depend on.


def chunker(settings: Settings, tokenize: Tokenize = words) -> Chunking:
    """Return the chunker of a recipe. `tokenize` measures lengths in tokens; words do to name it. Raises UsageError."""
    made: Chunking = chunkers.get(settings.chunking.chunker)(**_parameters(settings), tokenize=tokenize)
    return made


def _parameters(settings: Settings) -> dict[str, Any]:
    """Return the parameters of the chunker; that tables are apart goes without saying, for indexes of old."""
    found = chunkers.accepted(settings.chunking.chunker, settings.chunking.model_dump())
    return {name: value for name, value in found.items() if (name, value) != ("tables", APART)}


def name_of(settings: Settings) -> str:
    """Return the name of a recipe as people read it: "hybrid over windows of 120 words, step 60, with headings".

    What is not at its default is part of it, so that two recipes never have one name.
    """
    chunking = settings.chunking
    headings = ", with headings" if chunking.headings else ""
    text = f" as read by {chunking.read_by}" if chunking.read_by else ""
    text += ", tables in the text" if chunking.tables != APART else ""
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
        "chunker": chunking.chunker,
        "headings": chunking.headings,
        **_parameters(settings),
        "others": others,
    }
    if parts.get("unit") == "tokens":
        parts["tokenizer"] = settings.retrieval.embedding_model
    return json.dumps(parts, sort_keys=True)
