"""The registry of rewriters."""

from __future__ import annotations

from collections.abc import Callable

from pdfqa_core.registry import Registry
from pdfqa_core.types import Rewriter

rewriters: Registry[Callable[..., Rewriter]] = Registry("rewriter")
