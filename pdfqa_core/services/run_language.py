"""The language model of systems of a run: the one in use where it is theirs, else one that only the run talks to."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pdfqa_core.errors import ModelError
from pdfqa_core.interfaces import LLM
from pdfqa_core.metrics.replies import CachedLLM
from pdfqa_core.models.language import LanguageModel, engine_settings
from pdfqa_core.models.metrics import identity
from pdfqa_core.settings import LLMSettings
from pdfqa_core.storage.replies import StoredReplies


@contextmanager
def language_for(shared: LanguageModel, wanted: LLMSettings) -> Generator[LanguageModel, None, None]:
    """Give the language model that these settings name: `shared`, or another one that is freed at the end.

    Nothing is loaded yet. The one that others talk to stays as it is.
    """
    if engine_settings(shared.settings) == engine_settings(shared.named(wanted)):
        yield shared
        return
    own = shared.beside(wanted)
    try:
        yield own
    finally:
        own.close()


def same(language: LanguageModel) -> Callable[[], None]:
    """Return what raises ModelError once another model than the one now in use is."""
    used = engine_settings(language.settings)

    def check() -> None:
        if engine_settings(language.settings) != used:
            raise ModelError(
                "Another language model was chosen while the run went on, so that it was ended.",
                "What is done is kept. Go on with the run to load its own model and answer the rest.",
            )

    return check


@dataclass
class Remembering:
    """Gives a language model, as it is now, with its replies kept; `last` is the one that it gave last."""

    language: LanguageModel
    replies: Callable[[], StoredReplies]
    last: CachedLLM | None = None
    _known: dict[str, CachedLLM] = field(default_factory=dict)

    def __call__(self, llm: LLM | None = None) -> CachedLLM:
        """Return the language model (by default the one in use) with its replies kept."""
        key: Any = identity(self.language.settings)
        if key not in self._known:
            self._known[key] = CachedLLM(
                llm or self.language.llm(), self.replies(), model=key,
                same=lambda: identity(self.language.settings) == key,
            )  # fmt: skip
        self.last = self._known[key]
        return self.last
