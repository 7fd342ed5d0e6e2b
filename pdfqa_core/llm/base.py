"""What an engine is, and the registry of engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pdfqa_core.interfaces import LLM
from pdfqa_core.llm.gpu import Offload
from pdfqa_core.registry import Registry


class Engine(LLM, Protocol):
    """A language model that takes memory of this computer, or none where a server runs it."""

    @property
    def loaded(self) -> bool:
        """Whether it answers without being loaded first."""
        ...

    @property
    def threads(self) -> int:
        """How many threads of this computer compute."""
        ...

    @property
    def offload(self) -> Offload | None:
        """How much of the loaded model is on a GPU; None where nothing is, or where a server runs it."""
        ...

    def unload(self) -> None:
        """Free what it holds once nobody uses it; the next call takes it again."""
        ...


engines: Registry[Callable[..., Engine]] = Registry("engine")
