"""No rewriting: every question is searched for as it was asked."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.conversation.base import rewriters
from pdfqa_core.conversation.relation import NEW_TOPIC, Encode
from pdfqa_core.types import Rewritten, StopSignal


@rewriters.register("none")
class NoRewriting:
    """Leaves every question alone."""

    needs_llm = False

    def __init__(self, *, turns: int = 0, encode: Encode | None = None, new_topic: float = NEW_TOPIC) -> None:
        self.turns = turns

    def rewrite(
        self, question: str, history: Sequence[tuple[str, str]], *, stop: StopSignal | None = None
    ) -> Rewritten:
        """Return the question."""
        return Rewritten(question)
