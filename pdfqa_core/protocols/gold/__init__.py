"""Questions with gold from files: one reader per form of file, one per way to name a place. A new one is imported here.

The first reader that recognises a file reads it; `jsonl`, which takes whatever looks like JSON, is asked last.
"""

from pdfqa_core.protocols.gold import (  # noqa: F401
    formats,
)

# isort: split
from pdfqa_core.protocols.gold.base import (
    GoldFile,
    GoldPlace,
    GoldQuestion,
    corpus_passage,
    file_readers,
    forms,
    place_readers,
    read_gold,
    suffixes,
)
from pdfqa_core.protocols.gold.formats import packed, packed_folder

__all__ = [
    "GoldFile", "GoldPlace", "GoldQuestion", "corpus_passage", "file_readers", "forms", "packed",
    "packed_folder", "place_readers", "read_gold", "suffixes",
]  # fmt: skip
