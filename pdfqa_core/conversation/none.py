"""No rewriting: every question is searched for as it was asked."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.conversation.base import rewriters
from pdfqa_core.types import Rewritten, StopSignal


@rewriters.register("none", "searched as typed")
class NoRewriting:
    """Leaves every question alone."""

    def rewrite(
        self, question: str, history: Sequence[tuple[str, str]], *, stop: StopSignal | None = None
    ) -> Rewritten:
        """Return the question."""
        return Rewritten(question)
