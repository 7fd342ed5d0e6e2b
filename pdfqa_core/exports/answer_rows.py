"""Answers, hits and citations as JSON objects: the same on the command line, in the API and in its documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pdfqa_core.json_codec import plain
from pdfqa_core.reading.outcomes import lines_of
from pdfqa_core.types import Answer, Citation, Conversation, Document, Hit, Turn


def turn_row(turn: Turn, documents: Mapping[str, Document]) -> dict[str, Any]:
    """Return an answered question as it appears in JSON."""
    answer, names = turn.answer, {one.id: one.filename for one in documents.values()}
    return {
        "question": turn.question,
        "answer": answer.text,
        "refused": answer.refused,
        **outcome_row(answer, names),
        "standalone_question": turn.standalone_question,
        "citations": [
            {**place_row(one, names), "verified": one.verified, "number": one.number} for one in answer.citations
        ],
        "sentences": [
            {
                "text": answer.text[one.start : one.end],
                "support": one.support.value,
                "numbers_not_found": [answer.text[start:end] for start, end in one.numbers],
            }
            for one in answer.sentences
        ],
        "hits": [hit_row(hit, documents) for hit in answer.hits],
        "seconds": dict(answer.seconds),
        "model": answer.model,
        "reader": answer.reader,
        "confidence": answer.confidence,
        "signals": dict(answer.signals),
        "rewriting": answer.rewriting,
        "notes": list(answer.notes),
        "stopped": answer.stopped,
        "turn_id": turn.id,
    }


def conversation_row(conversation: Conversation, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a conversation as `json_codec` writes it, with `outcome_row` in each answer; `names` are file names."""
    row: dict[str, Any] = plain(conversation)
    for turn, told in zip(conversation.turns, row["turns"], strict=True):
        told["answer"] |= outcome_row(turn.answer, names)
    return row


def outcome_row(answer: Answer, names: Mapping[str, str]) -> dict[str, Any]:
    """Return what came of a question, and the lines that stand first in an answer that is not sure, or are nearest."""
    quotes = [place_row(lines, names) for lines in lines_of(answer)]
    return {
        "outcome": answer.outcome.value,
        "quote": quotes[0] if quotes else None,
        "second_quote": (*quotes, None, None)[1],
    }


def place_row(citation: Citation, names: Mapping[str, str]) -> dict[str, Any]:
    """Return what is quoted, with its place, as it appears in JSON; no name if the document has been removed."""
    span = citation.span
    return {"filename": names.get(span.document_id, ""), "page": span.page, "quote": citation.quote}


def hit_row(hit: Hit, documents: Mapping[str, Document]) -> dict[str, Any]:
    """Return a hit as it appears in JSON."""
    return {
        "rank": hit.rank,
        "score": hit.score,
        "filename": filename_of(hit.passage.document_id, documents),
        "document_id": hit.passage.document_id,
        "pages": list(hit.passage.pages),
        "text": hit.passage.text,
        "parts": dict(hit.parts),
    }


def filename_of(document_id: str, documents: Mapping[str, Document]) -> str:
    """Return the name of a document; empty if it has been removed meanwhile."""
    return documents[document_id].filename if document_id in documents else ""
