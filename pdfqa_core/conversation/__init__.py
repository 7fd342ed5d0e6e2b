"""Follow-up question to standalone question.

A rewriter that has a parameter `llm` is given the language model.
"""

from pdfqa_core.conversation.base import rewriters
from pdfqa_core.conversation.concatenation import Concatenation
from pdfqa_core.conversation.llm import LLMRewriter
from pdfqa_core.conversation.none import NoRewriting

__all__ = ["Concatenation", "LLMRewriter", "NoRewriting", "rewriters"]
