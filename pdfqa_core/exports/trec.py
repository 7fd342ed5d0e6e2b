"""Run and qrels files of TREC: what trec_eval, ir_measures and ranx read.

A run line is "topic Q0 docno rank score tag", a qrels line "topic 0 docno relevance". Source: trec_eval's README.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_WHITE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class RunLine:
    """What a system put at a rank of a topic."""

    topic: str
    docno: str
    rank: int
    score: float
    tag: str = "pdfqa"


@dataclass(frozen=True, slots=True)
class Qrel:
    """How relevant a document is to a topic; 0: not."""

    topic: str
    docno: str
    relevance: int


def _name(text: str) -> str:
    return _WHITE.sub("_", text.strip()) or "_"


def write_run(lines: Iterable[RunLine]) -> bytes:
    """Return a run file; white space in names becomes "_".

    trec_eval sorts by score and ignores the rank, so scores are written such that they descend strictly with the rank.
    """
    rows = []
    last: dict[str, float] = {}
    for line in lines:
        score = min(line.score, _below(last[line.topic])) if line.topic in last else line.score
        last[line.topic] = score
        rows.append(f"{_name(line.topic)} Q0 {_name(line.docno)} {line.rank} {score!r} {_name(line.tag)}\n")
    return "".join(rows).encode()


def _below(score: float) -> float:
    """Return a score that trec_eval, which reads single precision, still tells apart."""
    return score - max(abs(score) * 1e-6, 1e-6)


def write_qrels(qrels: Iterable[Qrel]) -> bytes:
    """Return a qrels file; white space in names becomes "_"."""
    return "".join(f"{_name(q.topic)} 0 {_name(q.docno)} {q.relevance}\n" for q in qrels).encode()
