"""Synthetic questions as files that evaluations read: JSON lines with document, page and quote, or a BEIR folder.

BEIR (Thakur et al. 2021): corpus.jsonl, queries.jsonl and qrels/test.tsv, whose line is query, document, relevance.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pdfqa_core.storage.records import SyntheticQuestion
from pdfqa_core.text import JOINER
from pdfqa_core.types import Passage, Span


def write_questions(questions: Iterable[SyntheticQuestion], filenames: Mapping[str, str]) -> bytes:
    """Return one line of JSON per question. `filenames` names the documents by id.

    The gold is one page and one quote: where a passage goes on over several pages, its longest part.
    """
    return _lines(
        {
            "id": one.id, "question": one.text, "document": filenames.get(one.document_id, one.document_id),
            "page": _longest(one.spans).page, "quote": _quote(one), "made_by": one.kind, "model": one.model,
            "seed": one.seed, "edited": one.edited,
        }
        for one in questions
    )  # fmt: skip


def write_beir(questions: Sequence[SyntheticQuestion], passages: Sequence[Passage]) -> dict[str, bytes]:
    """Return the files of a BEIR folder by their names.

    The corpus are `passages`, and those passages of questions that are no longer among them. Relevant to a question
    are the passage that it was made of and those that share text with it.
    """
    corpus = {one.id: one for one in passages}
    by_document: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        by_document[passage.document_id].append(passage)
    lines = ["query-id\tcorpus-id\tscore"]
    for one in questions:
        source = corpus.setdefault(one.passage_id, Passage(one.passage_id, one.spans, one.passage))
        relevant = [source.id, *(other.id for other in by_document[one.document_id] if source.overlaps(other))]
        lines += [f"{one.id}\t{passage_id}\t1" for passage_id in dict.fromkeys(relevant)]
    return {
        "corpus.jsonl": _lines({"_id": one.id, "title": one.heading, "text": one.text} for one in corpus.values()),
        "queries.jsonl": _lines(
            {"_id": one.id, "text": one.text, "metadata": {"made_by": one.kind, "model": one.model}}
            for one in questions
        ),
        "qrels/test.tsv": ("\n".join(lines) + "\n").encode(),
    }


def _longest(spans: Sequence[Span]) -> Span:
    return max(spans, key=lambda span: span.end - span.start)


def _quote(one: SyntheticQuestion) -> str:
    """Return the text of the longest part of a passage, whose text is its parts joined by JOINER."""
    longest = _longest(one.spans)
    start = sum(span.end - span.start + len(JOINER) for span in one.spans[: one.spans.index(longest)])
    return one.passage[start : start + longest.end - longest.start]


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for row in rows)
