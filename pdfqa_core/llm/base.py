"""What an engine is, and the registry of engines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.interfaces import LLM
from pdfqa_core.llm.hardware import Offload
from pdfqa_core.registry import Registry

# ----------------------------------------------------------------------------------------------------
# Probabilities of several possible replies from those of tokens; knows no engine.

AMBIGUOUS = 0.01  # share of the probability above which tokens that begin several choices make the result useless


def check_choices(choices: Sequence[str]) -> None:
    """Raise UsageError unless `choices` are different texts, none of them empty."""
    if not choices or not all(choice.strip() for choice in choices) or len(set(choices)) < len(choices):
        raise UsageError(f"{list(choices)} are not choices.", "Give different texts, none of them empty.")


def common_length(sequences: Sequence[Sequence[int]]) -> int:
    """Return how many tokens all sequences begin with."""
    columns = enumerate(zip(*sequences, strict=False))
    return next((place for place, column in columns if len(set(column)) > 1), min(map(len, sequences)))


def shares_of_sequences(logs: Mapping[str, float], sequences: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """Return each choice's probability, adding up to 1, from the logarithms `logs` of those of its tokens.

    Where one choice's tokens begin another's, the shorter choice counts without the longer one.
    """
    best = max(logs.values())
    masses: dict[str, float] = {}
    for choice in sorted(logs, key=lambda choice: -len(sequences[choice])):
        tokens = sequences[choice]
        longer = sum(mass for other, mass in masses.items() if sequences[other][: len(tokens)] == tokens)
        masses[choice] = max(0.0, math.exp(logs[choice] - best) - longer)
    total = sum(masses.values())
    return {choice: masses[choice] / total for choice in logs}


def shares_of_first_tokens(choices: Sequence[str], tokens: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return each choice's probability, adding up to 1, from the likely first tokens and the logarithms of theirs.

    A token belongs to the choice that it begins or that begins with it; spaces before it do not count.
    Raises ModelError if no token belongs to a choice, or if likely ones belong to several.
    """
    masses = dict.fromkeys(choices, 0.0)
    shared = 0.0
    for text, log in tokens:
        word = text.strip()
        owners = [choice for choice in choices if word and (choice.startswith(word) or word.startswith(choice))]
        if len(owners) == 1:
            masses[owners[0]] += math.exp(log)
        elif owners:
            shared += math.exp(log)
    total = sum(masses.values())
    if shared > AMBIGUOUS * (shared + total):
        raise ModelError(
            f"The server's first token does not tell {list(choices)} apart.",
            "Use choices that begin differently, or the local engine.",
        )
    if not total:
        raise ModelError(f"None of {list(choices)} is among the server's most likely replies.", "Use a larger model.")
    return {choice: mass / total for choice, mass in masses.items()}


# ----------------------------------------------------------------------------------------------------
# What an engine is, and the registry of engines.


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
    def waiting(self) -> int:
        """How many calls wait for the one under way."""
        ...

    @property
    def offload(self) -> Offload | None:
        """How much of the loaded model is on a GPU; None where nothing is, or where a server runs it."""
        ...

    def unload(self) -> None:
        """Free what it holds once nobody uses it; the next call takes it again."""
        ...


engines: Registry[Callable[..., Engine]] = Registry("engine")
