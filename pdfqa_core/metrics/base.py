"""A measure: what tables, help texts and axis titles say of it, and the function that computes it, in one object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from inspect import Parameter, signature
from typing import Any, Generic, ParamSpec, TypeVar

from pdfqa_core.registry import Registry

P = ParamSpec("P")
R = TypeVar("R")


class Group(StrEnum):
    """What measures measure, in the order of the docs."""

    TEXT = "Answer text"
    MEANING = "Answer text by meaning"
    PEOPLE = "Judgement of people"
    JUDGE = "Language model"
    ENTAILMENT = "Entailment"
    CITATIONS = "Citations"
    HOTPOTQA = "HotpotQA"
    MISSING = "Missing evidence"
    ASQA = "ASQA"
    RANKING = "Ranking"
    AGREEMENT = "Agreement of annotators"


@dataclass(frozen=True, slots=True)
class Description:
    """A measure as people meet it.

    `name` is its key in files; `low` and `high` are its range, None where it has no bound; `higher_is_better` None: the
    value describes and does not judge. `formula` and `source` are one line each, `group` is what it measures.
    `proportion`: an item has 0 or 1 and nothing between, so that the mean is a proportion.
    """

    name: str
    pretty_name: str
    formula: str = ""
    source: str = ""
    higher_is_better: bool | None = True
    low: float | None = 0.0
    high: float | None = 1.0
    group: Group = Group.TEXT
    proportion: bool = False

    @property
    def direction(self) -> str:
        """An arrow up where higher is better, down where lower is, nothing where the value does not judge."""
        return {True: "↑", False: "↓", None: ""}[self.higher_is_better]

    @property
    def range(self) -> str:
        """The range in words, such as "0 to 1"."""
        low = "−∞" if self.low is None else f"{self.low:g}".replace("-", "−")
        return f"{low} to {'∞' if self.high is None else f'{self.high:g}'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(Description, Generic[P, R]):
    """A measure with the function that computes it; called like that function.

    Measures that come out of one computation (precision, recall and F1 of a model) share its function.
    """

    compute: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what the function returns."""
        return self.compute(*args, **kwargs)

    @property
    def inputs(self) -> tuple[str, ...]:
        """What it is computed from: the names of the function's arguments ("prediction", "references")."""
        return tuple(name for name, one in self._arguments if one.kind is not Parameter.KEYWORD_ONLY)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Its variants: the function's options with their defaults ("beta": 1.0)."""
        return {name: one.default for name, one in self._arguments if one.kind is Parameter.KEYWORD_ONLY}

    @property
    def _arguments(self) -> list[tuple[str, Parameter]]:
        return list(signature(self.compute).parameters.items())


measures: Registry[Measure[..., Any]] = Registry("measure")


def measure(
    name: str,
    pretty_name: str,
    formula: str,
    source: str = "",
    *,
    higher_is_better: bool | None = True,
    low: float | None = 0.0,
    high: float | None = 1.0,
    group: Group = Group.TEXT,
    proportion: bool = False,
) -> Callable[[Callable[P, R]], Measure[P, R]]:
    """Return a decorator that makes a measure of the function that computes it, and files it under its name."""

    def declare(compute: Callable[P, R]) -> Measure[P, R]:
        bounds = (low, high, group, proportion)
        made = Measure(name, pretty_name, formula, source, higher_is_better, *bounds, compute=compute)
        measures.register(name)(made)
        return made

    return declare
