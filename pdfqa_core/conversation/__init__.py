"""Follow-up question to standalone question.

A rewriter that has a parameter `llm` is given the language model.
"""

from pdfqa_core.conversation.rewriters import Concatenation, LLMRewriter, NoRewriting, rewriters

__all__ = ["Concatenation", "LLMRewriter", "NoRewriting", "rewriters"]
