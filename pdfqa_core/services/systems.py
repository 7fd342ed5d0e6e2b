"""Systems to evaluate: recipes from a grid of strategies or from a file."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.services import recipes, strategies
from pdfqa_core.settings import Settings


def grid(base: Settings, chunkers: Sequence[str], retrievers: Sequence[str]) -> dict[str, Settings]:
    """Return the systems that chunkers and retrievers make, named by their recipes; none given: those of `base`.

    Raises UsageError for an unknown name.
    """
    found: dict[str, Settings] = {}
    for chunker in chunkers or (base.chunking.chunker,):
        for retriever in retrievers or (base.retrieval.retriever,):
            settings = base.changed("chunking", chunker=chunker).changed("retrieval", retriever=retriever)
            strategies.check(settings)
            found[recipes.name_of(settings)] = settings
    return found


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
            strategies.check(settings)
        except PdfQAError as error:
            raise UsageError(f"{path.name}, system {name!r}: {error.what}", error.hint) from error
        found[name] = settings
    return found
