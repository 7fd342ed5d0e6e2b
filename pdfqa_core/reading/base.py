"""The registry of readers, and what every reader shares."""

from __future__ import annotations

from collections.abc import Callable

from pdfqa_core.interfaces import Reader
from pdfqa_core.registry import Registry

readers: Registry[Callable[..., Reader]] = Registry("reader")

# The whole answer where the passages do not answer the question. Metrics compare with exactly this text.
INSUFFICIENT_CONTEXT = "Insufficient context."
