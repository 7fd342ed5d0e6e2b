"""What the program keeps: the only place that knows tables and where files lie."""

from pdfqa_core.storage.records import ConversationSummary, Reading, StudyTurn, Summary
from pdfqa_core.storage.store import DATABASE_FILE, Store

__all__ = ["DATABASE_FILE", "ConversationSummary", "Reading", "Store", "StudyTurn", "Summary"]
