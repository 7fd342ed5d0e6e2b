"""Answers, hits and citations as JSON objects: the same on the command line, in the API and in its documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pdfqa_core.types import Citation, Document, Hit, Turn


def turn_row(turn: Turn, documents: Mapping[str, Document]) -> dict[str, Any]:
    """Return an answered question as it appears in JSON."""
    answer = turn.answer
    return {
        "question": turn.question,
        "answer": answer.text,
        "refused": answer.refused,
        "standalone_question": turn.standalone_question,
        "citations": [citation_row(citation, documents) for citation in answer.citations],
        "nearest": citation_row(answer.nearest, documents) if answer.nearest else None,
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


def citation_row(citation: Citation, documents: Mapping[str, Document]) -> dict[str, Any]:
    """Return a citation as it appears in JSON."""
    return {
        "filename": filename_of(citation.span.document_id, documents),
        "page": citation.span.page,
        "quote": citation.quote,
        "verified": citation.verified,
        "number": citation.number,
    }


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
