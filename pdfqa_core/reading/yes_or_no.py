"""Yes or no by the model's probabilities, where its own words would mostly say yes."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence

from pdfqa_core.errors import ModelError
from pdfqa_core.types import LLM, Message, Progress, StopSignal

YES, NO = "Yes", "No"
LEAST = 1e-6  # a probability that counts as none


def log_odds(
    llm: LLM, messages: Sequence[Message], *, stop: StopSignal | None = None
) -> Generator[Progress, None, float | None]:
    """Yield Progress; return the log-odds of yes against no as the reply to the messages.

    None where the engine gives no probabilities. Raises StoppedError.
    """
    yield Progress("weighing yes and no")
    try:
        shares = llm.choose(messages, (YES, NO), stop=stop)
    except ModelError:
        return None
    return math.log(max(shares[YES], LEAST)) - math.log(max(shares[NO], LEAST))
