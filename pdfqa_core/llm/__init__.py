"""Language models: text in, text out, streamed and stoppable. Importing it loads no model and no heavy library."""

from pdfqa_core.llm.base import Engine, engines
from pdfqa_core.llm.llama_cpp import LlamaCpp
from pdfqa_core.llm.openai import OpenAICompatible

__all__ = ["Engine", "LlamaCpp", "OpenAICompatible", "engines"]
