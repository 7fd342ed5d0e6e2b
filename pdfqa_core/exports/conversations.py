"""Conversations as JSON lines with all evidence, and back."""

from __future__ import annotations

from collections.abc import Iterable

from pdfqa_core.exports.jsonl import read_jsonl, write_jsonl
from pdfqa_core.types import Conversation


def conversations_jsonl(conversations: Iterable[Conversation]) -> bytes:
    """Return one conversation per line, with its turns, answers, hits and citations, exactly."""
    return write_jsonl(conversations)


def read_conversations(data: bytes) -> tuple[Conversation, ...]:
    """Return the conversations that `conversations_jsonl` wrote. Raises UsageError that names the line."""
    return read_jsonl(Conversation, data)
