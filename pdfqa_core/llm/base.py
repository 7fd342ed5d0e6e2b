"""The registry of engines."""

from __future__ import annotations

from collections.abc import Callable

from pdfqa_core.registry import Registry
from pdfqa_core.types import LLM

engines: Registry[Callable[..., LLM]] = Registry("engine")
