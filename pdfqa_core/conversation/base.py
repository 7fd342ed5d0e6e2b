"""The registry of rewriters."""

from __future__ import annotations

from collections.abc import Callable

from pdfqa_core.interfaces import Rewriter
from pdfqa_core.registry import Registry

rewriters: Registry[Callable[..., Rewriter]] = Registry("rewriter")
