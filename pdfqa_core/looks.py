"""How settings stand on the page: what the form of a recipe and the help of the command line are built from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import Field

ANSWERING, EVIDENCE, WORDS, MODELS, MORE = GROUPS = ("Answering", "Evidence shown", "Words", "Models", "More")


@dataclass(frozen=True, slots=True)
class Looks:
    """How a setting of the recipe stands on the page; its widget follows from its type. Without `label` it does not.

    `note` is the line below it; `group` the title of the fold that it lies in ("": always in view), where settings of a
    lower `order` come first; `beside`: in one row with the setting before; `slider`: its least and most value and its
    step; `dropdown`: choices that are rarely changed.

    A setting that names a strategy says of which kind (`of`), which other value it may have (`also`: the value, its
    label, its words) and which parameter the strategies offered here may not have (`without`). `words` explain the
    choices of other settings. `parameter` is what strategies call the setting, or what is made of it, where that is
    another name. `local`: only on one's own computer, since a visitor of a demo must not load files of the server.
    """

    label: str = ""
    note: str = ""
    group: str = ""
    order: int = 0
    beside: bool = False
    slider: tuple[float, float, float] | None = None
    dropdown: bool = False
    placeholder: str = ""
    of: str = ""
    also: tuple[str, str, str] | None = None
    without: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    parameter: str = ""
    local: bool = False


def setting(default: Any, description: str, looks: Looks | None = None, **limits: Any) -> Any:
    """Return a field with its help for the command line, how it stands on the page, and its limits (ge, le, …)."""
    return Field(default, description=description, json_schema_extra=asdict(looks or Looks()), **limits)
