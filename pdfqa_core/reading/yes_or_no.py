"""Yes or no by a model's probabilities: its own words mostly say yes."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence

from pdfqa_core.interfaces import LLM, Message, StopSignal
from pdfqa_core.types import Progress

YES, NO = "Yes", "No"
LEAST = 1e-12  # probabilities below count as this


def log_odds(
    llm: LLM, messages: Sequence[Message], doing: str, *, stop: StopSignal | None = None
) -> Generator[Progress, None, float]:
    """Yield Progress in the words of `doing`; return the log-odds of yes against no as the reply to the messages.

    Raises ModelError if the engine gives no probabilities, StoppedError.
    """
    yield Progress(doing)
    return of_shares(llm.choose(messages, (YES, NO), stop=stop))


def of_shares(shares: Mapping[str, float]) -> float:
    """Return the log-odds of yes against no of their probabilities."""
    return math.log(max(shares[YES], LEAST)) - math.log(max(shares[NO], LEAST))
