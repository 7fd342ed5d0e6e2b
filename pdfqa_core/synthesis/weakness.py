"""Whether a language model is too weak to ask questions: by what came of its questions, before that by its size."""

from __future__ import annotations

from dataclasses import dataclass

FEWEST = 20  # questions from which on their share of useless ones tells more than the model's size
MOST_USELESS = 0.5
SMALL = 1.0  # billions of parameters


@dataclass(frozen=True, slots=True)
class Asked:
    """How many questions a model wrote, and how many of them guards dropped or a person rejected."""

    questions: int = 0
    useless: int = 0

    def __add__(self, other: Asked) -> Asked:
        """Return the sums of both."""
        return Asked(self.questions + other.questions, self.useless + other.useless)


def weakness(model: str, parameters: float | None, asked: Asked) -> str:
    """Return why questions by rules may be better than those of a model, in words; "" where nothing says so.

    `parameters` are billions, None where nobody knows. Of FEWEST questions or more their fate alone counts.
    """
    if asked.questions >= FEWEST:
        share = asked.useless / asked.questions
        if share < MOST_USELESS:
            return ""
        return (
            f"{model} seems too weak to ask questions here: {asked.useless} of its {asked.questions} were dropped or "
            f"rejected ({share:.0%}). Rules need no model: make questions by rules instead."
        )
    if parameters is None or parameters >= SMALL:
        return ""
    return (
        f"{model} has {parameters:g} billion parameters; models below {SMALL:g} billion often write what is of no "
        "use as a question. Look its questions over with care, or make questions by rules, which need no model."
    )
