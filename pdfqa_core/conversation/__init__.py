"""Follow-up question to standalone question.

A rewriter's class attribute `needs_llm` says whether it must be given a language model (`llm=`).
"""

from pdfqa_core.conversation.base import rewriters
from pdfqa_core.conversation.concatenation import Concatenation
from pdfqa_core.conversation.llm import LLMRewriter
from pdfqa_core.conversation.none import NoRewriting

__all__ = ["Concatenation", "LLMRewriter", "NoRewriting", "rewriters"]
