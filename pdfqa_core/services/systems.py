"""Systems to evaluate: recipes from a grid of strategies or from a file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.models import TrainedModel
from pdfqa_core.models.trained import EMBEDDING
from pdfqa_core.services import (
    recipes,
)
from pdfqa_core.settings import Settings

WITH = " + "  # between a retriever and the model that it is to use


def grid(base: Settings, chunkers: Sequence[str], retrievers: Sequence[str]) -> dict[str, Settings]:
    """Return the systems that chunkers and retrievers make, named "bm25 · windows 120/60"; none given: those of `base`.

    A retriever may bring its model, such as one that was trained here: "hybrid + my-bi-encoder". Raises UsageError for
    an unknown name.
    """
    systems = run_grid(base, {"chunkers": chunkers, "retrievers": retrievers}).values()
    named = [(described(settings), settings) for settings in systems]
    return {f"{words['retrievers']} · {words['chunkers']}": settings for words, settings in named}


def _found_by(base: Settings, choice: str) -> Settings:
    """Return the recipe with a retriever, and the model that stands behind WITH."""
    retriever, _, model = choice.partition(WITH)
    if not model:
        return base.changed("retrieval", retriever=retriever)
    setting = "late_model" if retriever == "late_interaction" else "embedding_model"
    return base.changed("retrieval", **{"retriever": retriever, setting: model.strip()})


def _finder(settings: Settings) -> str:
    """Return the retriever, and behind WITH the model of its own that it uses, in short words."""
    chosen = settings.retrieval
    model = chosen.late_model if chosen.retriever == "late_interaction" else chosen.embedding_model
    return f"{chosen.retriever}{WITH}{Path(model).name}" if model and chosen.retriever != "bm25" else chosen.retriever


def with_models(models: Iterable[TrainedModel]) -> list[str]:
    """Return the choices of a grid that trained models make: each alone, and an embedding model in the hybrid too."""
    return [
        f"{retriever}{WITH}{one.name}"
        for one in models
        for retriever in (("dense", "hybrid") if one.setting == EMBEDDING else ("late_interaction",))
    ]


# What a grid of a run combines: the option's name, the setting, and the kind of strategy that it chooses.
DIMENSIONS: Mapping[str, tuple[str, str]] = {
    "extractors": ("chunking", "read_by"), "chunkers": ("chunking", "chunker"),
    "retrievers": ("retrieval", "retriever"),
    "rewriters": ("conversation", "rewriter"), "readers": ("reading", "reader"), "models": ("llm", "model"),
}  # fmt: skip


def run_grid(base: Settings, choices: Mapping[str, Sequence[str]]) -> dict[str, Settings]:
    """Return the systems that choices by dimension make, named by what they differ in; none chosen: `base` alone.

    A retriever may bring its model, as in `grid`. Raises UsageError for an unknown name.
    """
    dimensions = [(DIMENSIONS[name], values) for name, values in choices.items() if values]
    found = []
    for chosen in product(*(values for _, values in dimensions)):
        settings = base
        for ((section, setting), _), value in zip(dimensions, chosen, strict=True):
            if setting == "retriever":
                settings = _found_by(settings, value)
            else:
                settings = settings.changed(section, **{setting: value})
        recipes.check(settings)
        found.append(settings)
    return named_shortly(found)


def described(settings: Settings) -> dict[str, str]:
    """Return what a system is made of, in short words, by dimension."""
    chunking, model = settings.chunking, settings.llm.model
    lengths = {"windows": f" {chunking.size}/{chunking.step}", "snippets": f" {chunking.length}"}
    return {
        "retrievers": _finder(settings),
        "chunkers": f"{chunking.chunker}{lengths.get(chunking.chunker, '')}",
        "extractors": f"read by {chunking.read_by}" if chunking.read_by else "as read",
        "rewriters": f"rewriter {'joined' if settings.reading.plain else settings.conversation.rewriter}",
        "readers": f"reader {settings.reading.reader}{' (plain)' if settings.reading.plain else ''}",
        "models": Path(model).stem if model.endswith(".gguf") else model or settings.llm.url,
    }


def named_shortly(systems: Sequence[Settings]) -> dict[str, Settings]:
    """Return systems by names of what they differ in: "bm25 · windows 120/60"; one alone by retriever and passages."""
    words = [described(settings) for settings in systems]
    differ = [name for name in words[0] if len({one[name] for one in words}) > 1] if words else []
    shown = differ or ["retrievers", "chunkers"]
    found: dict[str, Settings] = {}
    for settings, one in zip(systems, words, strict=True):
        name = " · ".join(one[part] for part in shown)
        while name in found:
            name += "′"
        found[name] = settings
    return found


def shared_words(systems: Sequence[Settings]) -> str:
    """Return what all systems have in common, in short words."""
    words = [described(settings) for settings in systems]
    same = [name for name in words[0] if len({one[name] for one in words}) == 1] if words else []
    return " · ".join(f"model {words[0][name]}" if name == "models" else words[0][name] for name in same)


def system_of(text: str, base: Settings) -> tuple[str, Settings]:
    """Return the system that "NAME: setting=value setting=value" describes; without a name the settings are it.

    Raises UsageError that names the setting.
    """
    head, colon, tail = text.partition(":")
    name, given = (head.strip(), tail) if colon and "=" not in head else (text.strip(), text)
    values = {}
    for part in given.split():
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"--system {text!r}: {part!r} is no setting.", "Write NAME: retriever=bm25 size=200.")
        values[key.replace("-", "_")] = value
    return name, with_settings(base, values)


def with_settings(base: Settings, values: Mapping[str, Any]) -> Settings:
    """Return settings with some changed, named as options of the command line are: {"retriever": "bm25", "k": 10}.

    Raises UsageError that names the setting.
    """
    sections = {
        field: section
        for section in Settings.model_fields
        if section != "server"
        for field in type(getattr(base, section)).model_fields
    }
    changes: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        if name not in sections:
            near = get_close_matches(name, sections, 1)
            raise UsageError(
                f"{name!r} is no setting.", f"Did you mean {near[0]}?" if near else "See: pdfqa ask --help."
            )
        changes.setdefault(sections[name], {})[name] = value
    settings = base
    for section, changed in changes.items():
        settings = settings.changed(section, **changed)
    recipes.check(settings)
    return settings


def read_systems(path: Path, base: Settings) -> dict[str, Settings]:
    """Return systems from a TOML file: a table per system, with settings as in `pdfqa.toml` ([name.chunking] …).

    Raises UsageError that names the file and what is wrong.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", "Correct it.") from error
    found = {}
    for name, sections in data.items():
        if not isinstance(sections, dict) or not all(isinstance(values, dict) for values in sections.values()):
            raise UsageError(f"{path.name}: {name!r} is no system.", "Write [name.retrieval] and its settings below.")
        settings = base
        try:
            for section, values in sections.items():
                if section not in Settings.model_fields:
                    raise UsageError(f"There is no group of settings called {section!r}.")
                settings = settings.changed(section, **values)
            recipes.check(settings)
        except PdfQAError as error:
            raise UsageError(f"{path.name}, system {name!r}: {error.what}", error.hint) from error
        found[name] = settings
    return found
