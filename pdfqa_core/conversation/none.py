"""No rewriting: every question is searched for as it was asked."""

from __future__ import annotations

from pdfqa_core.conversation.base import rewriters
from pdfqa_core.interfaces import History, StopSignal
from pdfqa_core.types import Rewritten


@rewriters.register("none", "searched as typed")
class NoRewriting:
    """Leaves every question alone."""

    def rewrite(self, question: str, history: History, *, stop: StopSignal | None = None) -> Rewritten:
        """Return the question."""
        return Rewritten(question)
