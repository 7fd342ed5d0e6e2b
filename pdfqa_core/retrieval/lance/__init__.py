"""An index in LanceDB, for passages beyond memory: passages, vectors and words in tables on disk.

`LanceIndex.open_or_build` makes it, the retrievers search it. The libraries are imported when it is opened; they are
in requirements-lance.txt.
"""

from pdfqa_core.retrieval.lance.index import LanceIndex
from pdfqa_core.retrieval.lance.library import installed
from pdfqa_core.retrieval.lance.tables import forget_document

__all__ = ["LanceIndex", "forget_document", "installed"]
