"""Question to hits: an index of passages on disk, and retrievers that search it.

`Index.open_or_build` makes the index; `retrievers.get(name)(index, …)` searches it, with the retriever's dataclass
fields as parameters. Knows nothing about PDFs, chunkers or readers.
"""

from pdfqa_core.retrieval.base import IndexRetriever, retrievers
from pdfqa_core.retrieval.bm25 import BM25
from pdfqa_core.retrieval.confidence import confidence
from pdfqa_core.retrieval.dense import Dense
from pdfqa_core.retrieval.encoder import Encoder, TextEncoder, bundled_model_path
from pdfqa_core.retrieval.fusion import ReciprocalRankFusion
from pdfqa_core.retrieval.hybrid import Hybrid
from pdfqa_core.retrieval.index import Index, IndexStats, fingerprint, index_text

__all__ = [
    "BM25",
    "Dense",
    "Encoder",
    "Hybrid",
    "Index",
    "IndexRetriever",
    "IndexStats",
    "ReciprocalRankFusion",
    "TextEncoder",
    "bundled_model_path",
    "confidence",
    "fingerprint",
    "index_text",
    "retrievers",
]
