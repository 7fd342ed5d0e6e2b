"""Imports Gradio without the type stubs that it makes of its components at every import, a third of the import's time.

Gradio parses the source of each component class and writes a `.pyi` file beside it, which only an editor reads. It
leaves out classes that have no file, so its own are said to have none while it is imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def _without_files() -> Iterator[None]:
    """Have `inspect` say that Gradio's classes come from no file."""
    known = inspect.getfile

    def getfile(described: Any) -> str:
        if isinstance(described, type) and described.__module__.startswith("gradio."):
            raise OSError(f"{described.__name__} is left without a type stub")
        return known(described)

    inspect.getfile = getfile  # type: ignore[assignment]  # takes whatever is described
    try:
        yield
    finally:
        inspect.getfile = known


with _without_files():
    import gradio  # noqa: F401
