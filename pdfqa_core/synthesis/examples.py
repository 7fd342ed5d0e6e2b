"""Examples for few-shot prompts that come with the program: pairs of our own about documents of many kinds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from pdfqa_core.synthesis.base import Example

FILE = Path(__file__).with_name("examples.jsonl")


@cache
def shipped_examples() -> tuple[Example, ...]:
    """Return the pairs of FILE in their order."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(Example(**json.loads(line)) for line in lines)


def filled_up(own: Sequence[Example], k: int) -> tuple[Example, ...]:
    """Return the first k of one's own examples; where they are fewer, shipped ones follow as long as there are any."""
    return (*own, *(one for one in shipped_examples() if one not in own))[:k]


def origin(examples: Sequence[Example]) -> str:
    """Return in words where examples come from: "2 of your own and 1 that comes with the program"."""
    shipped = sum(one in shipped_examples() for one in examples)
    own = len(examples) - shipped
    parts = [f"{own} of your own"] if own else []
    parts += [f"{shipped} that {'comes' if shipped == 1 else 'come'} with the program"] if shipped else []
    return " and ".join(parts)
