"""The prompts of seed 001 (after PROMPTAGATOR, Dai et al. 2022), word for word."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.synthesis.base import Example

SEPARATOR = "XXX"  # between the examples of a few-shot prompt; a model that goes on writes it before another passage


def zero_shot_prompt(passage: str) -> str:
    """Return the prompt for a question about a passage without an example."""
    return f"{_line(passage)} Read the passage and generate a corresponding query."


def few_shot_prompt(examples: Sequence[Example], passage: str) -> str:
    """Return the prompt for a question about a passage after the pattern of the examples, at least one."""
    shown = [f"Passage: {_line(one.passage)} Question: {_line(one.question)}" for one in examples]
    return f" {SEPARATOR} ".join([*shown, f"Passage: {_line(passage)} Question:"])


def _line(text: str) -> str:
    """Return a text in one line, as the prompts have it."""
    return " ".join(text.split())
