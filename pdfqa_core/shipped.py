"""Where the files lie that come with the program: the sample document and the catalogues of models."""

from __future__ import annotations

from pathlib import Path

_PACKAGED = Path(__file__).resolve().parent / "packaged"  # `setup.py` copies them there

SHIPPED = _PACKAGED if _PACKAGED.is_dir() else _PACKAGED.parent.parent
"""The folder with `data/sample` and `models`: the checkout, or within the package where pip installed it."""


def installed() -> bool:
    """Return whether pip installed the program, rather than that it runs in a checkout."""
    return SHIPPED == _PACKAGED
