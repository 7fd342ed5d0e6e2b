"""Pages of one document to passages: `paragraphs`, `snippets`, `windows`.

Each strategy is a frozen dataclass whose fields are its parameters; `recipe` writes them down. Lengths are in words, or
in tokens of the embedding model when `unit` is "tokens" and a `tokenize` function is given. Knows nothing about
retrieval or embedding models. Source: the three ways of building an index from extracted text (fixed paragraphs,
snippets of bounded length, sliding windows) as compared for question answering over PDFs.
"""

from pdfqa_core.chunking.base import APART, Chunking, chunkers
from pdfqa_core.chunking.strategies import Paragraphs, Snippets, Windows, with_headings
from pdfqa_core.chunking.stream import Tokenize

__all__ = ["APART", "Chunking", "Paragraphs", "Snippets", "Tokenize", "Windows", "chunkers", "with_headings"]
