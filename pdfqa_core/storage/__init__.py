"""What the program keeps: the only place that knows tables and where files lie."""

from pdfqa_core.storage.records import (
    Collection,
    ConversationSummary,
    Outcome,
    Reading,
    StudyTurn,
    Summary,
    SyntheticQuestion,
    TurnText,
)
from pdfqa_core.storage.store import DATABASE_FILE, Store

__all__ = [
    "DATABASE_FILE", "Collection", "ConversationSummary", "Outcome", "Reading", "Store", "StudyTurn",
    "Summary", "SyntheticQuestion", "TurnText",
]  # fmt: skip
