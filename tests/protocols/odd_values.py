"""A JSON value with something odd at each of its places, one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

ODD = ("null", "[]", "{}", "[[]]", "[7]", "[null]", '"x"', '""', '"\\u0000"', '"\\ud800"', "-1", "true", "1.5", "1e400",
       "9" * 30, "9" * 6000, "9" * 300 + ".5")  # fmt: skip
_HERE = "odd value"


def changed(value: Any, odd: Sequence[str]) -> Iterator[str]:
    """Yield the value as JSON with each odd text in place of each part of it, and without each key."""
    for with_gap in _with_gap(value):
        text = json.dumps(with_gap)
        for one in odd:
            yield text.replace(f'"{_HERE}"', one)


def _with_gap(value: Any) -> Iterator[Any]:
    yield _HERE
    if isinstance(value, dict):
        for key, part in value.items():
            for changed_part in _with_gap(part):
                yield {**value, key: changed_part}
            yield {name: one for name, one in value.items() if name != key}
    elif isinstance(value, list):
        for place, part in enumerate(value[:1]):  # the others are like the first
            for changed_part in _with_gap(part):
                yield [*value[:place], changed_part, *value[place + 1 :]]
