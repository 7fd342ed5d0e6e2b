"""Pages that need no other file, from the templates beside this module."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def html_page(template: str, **values: Any) -> bytes:
    """Return a page in UTF-8; texts are escaped, lone surrogates become "?"."""
    return _environment().get_template(f"{template}.html").render(**values).encode("utf-8", errors="replace")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("pdfqa_core.exports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
