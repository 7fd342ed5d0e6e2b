"""The versions that numbers depend on, looked up in one place."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterable

from pdfqa_core import __version__

STATISTICS = ("numpy", "scipy", "matplotlib")
MODELS = ("torch", "transformers", "sentence-transformers", "llama-cpp-python")
RETRIEVAL = (*STATISTICS, *MODELS, "hnswlib", "pypdfium2")


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of the program, of Python and of packages; "unknown" for one that is not installed."""
    found = {"pdfqa": __version__, "python": platform.python_version()}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "unknown"
    return found
