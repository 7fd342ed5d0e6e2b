"""Question to hits: an index of passages on disk, and retrievers that search it.

`Index.open_or_build` makes the index; `make_retriever(index, parameters, models)` searches it as settings say, or
`retrievers.get(name)(index, …)` with the retriever's dataclass fields as parameters. Knows nothing about PDFs,
chunkers or readers.
"""

from pdfqa_core.retrieval import (  # noqa: F401, I001 - the page's order
    strategies,
    late_interaction,
)
from pdfqa_core.retrieval.bm25 import AUTO as AUTO_LANGUAGE
from pdfqa_core.retrieval.base import (
    IndexRetriever,
    IndexStats,
    PageRange,
    Searcher,
    SearchIndex,
    page_range,
    retrievers,
)
from pdfqa_core.retrieval.build import adds_words, make_retriever, needs_embeddings, prepared
from pdfqa_core.retrieval.postprocessing import confidence
from pdfqa_core.retrieval.embedding_cache import Embedding, EmbeddingCache, file_stem, text_key
from pdfqa_core.retrieval.encoder import AUTO, Encoder, TextEncoder
from pdfqa_core.retrieval.postprocessing import Postprocessed
from pdfqa_core.retrieval.index import Index, fingerprint, index_text
from pdfqa_core.retrieval.late_interaction import LateInteraction
from pdfqa_core.retrieval.model_folder import bundled_model_path
from pdfqa_core.retrieval.build import forget, forget_stems, stems
from pdfqa_core.retrieval.strategies import BM25, Dense, Hybrid, ReciprocalRankFusion
from pdfqa_core.retrieval.rerank import CrossEncoderScorer, PairScorer, Reranked
from pdfqa_core.retrieval.postprocessing import Spelling, in_both_spellings
from pdfqa_core.retrieval.late_interaction import LateEncoder, TokenEncoder

__all__ = [
    "AUTO", "AUTO_LANGUAGE", "BM25", "CrossEncoderScorer", "Dense", "Embedding", "EmbeddingCache", "Encoder",
    "Hybrid", "Index", "IndexRetriever", "IndexStats", "LateEncoder", "LateInteraction", "PageRange", "PairScorer",
    "Postprocessed", "ReciprocalRankFusion", "Reranked", "SearchIndex", "Searcher", "Spelling", "TextEncoder",
    "TokenEncoder", "adds_words", "bundled_model_path", "confidence", "file_stem", "fingerprint", "forget",
    "forget_stems", "in_both_spellings", "index_text", "make_retriever", "needs_embeddings", "page_range", "prepared",
    "retrievers", "stems", "text_key",
]  # fmt: skip
