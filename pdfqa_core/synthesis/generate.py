"""Questions of a language model about a passage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pdfqa_core.interfaces import GREEDY, LLM, Message, Sampling, StopSignal
from pdfqa_core.streaming import complete, is_set
from pdfqa_core.synthesis.base import Example
from pdfqa_core.synthesis.prompts import SEPARATOR, few_shot_prompt, zero_shot_prompt

LONGEST = 48  # tokens of a question
WARM = Sampling(temperature=0.7, top_p=0.95)  # for the second and later questions; PROMPTAGATOR samples at 0.7

_LABEL = re.compile(r"^(?:\W*(?:question|query|q)\s*\d*\s*[:.)-]\s*|\s*(?:\d+[.)]|[-*•])\s+)+", re.IGNORECASE)
_QUOTES = "\"'“”„«»` "


@dataclass(frozen=True, slots=True)
class Generator:
    """Asks a language model for questions, with `examples` for patterns; without any, zero-shot."""

    llm: LLM
    examples: tuple[Example, ...] = ()

    def questions(self, passage: str, count: int, seed: int, stop: StopSignal | None = None) -> Iterator[str]:
        """Yield `count` questions about a passage, as they are written; fewer where `stop` is set.

        The first is the likeliest, the others are drawn with seeds that follow from `seed`, so that the same seed
        gives the same questions. Equal ones are not left out.
        """
        prompt = few_shot_prompt(self.examples, passage) if self.examples else zero_shot_prompt(passage)
        for number in range(count):
            if is_set(stop):
                return
            sampling = GREEDY if number == 0 else replace(WARM, seed=seed + number)
            pieces = complete(self.llm, [Message("user", prompt)], max_tokens=LONGEST, stop=stop, sampling=sampling)
            written = "".join(pieces)
            if not is_set(stop):
                yield tidy(written)


def tidy(written: str) -> str:
    """Return the first question of what a model wrote, without labels, numbers and quotation marks around it.

    What it says before its question ("Here is a query:") is left out, and all behind it. Without a question mark the
    first line is returned, for the guards to judge.
    """
    text = written.partition(SEPARATOR)[0].strip()
    lines = [_LABEL.sub("", line).strip(_QUOTES + "*") for line in text.splitlines()]
    lines = [line for line in lines if line]
    asked = next((line for line in lines if "?" in line), None)
    if asked is None:
        return lines[0] if lines else ""
    first = asked[: asked.index("?") + 1]
    return re.split(r"(?<=[.:!])\s+(?=[\"“'A-Z])", first)[-1].strip(_QUOTES)
