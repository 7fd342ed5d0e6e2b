"""Run and qrels files of TREC: what trec_eval, ir_measures and ranx read.

A run line is "topic Q0 docno rank score tag", a qrels line "topic 0 docno relevance". Source: trec_eval's README.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pdfqa_core.errors import UsageError

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


def read_run(data: bytes) -> tuple[RunLine, ...]:
    """Return the lines of a run file in its order. Raises UsageError that names the line."""
    found = []
    for number, cells in _lines(data, "a run line has six cells: topic Q0 docno rank score tag", 6):
        try:
            found.append(RunLine(cells[0], cells[2], int(cells[3]), float(cells[4]), cells[5]))
        except ValueError as error:
            raise UsageError(
                f"Line {number}: rank or score is no number.", "Write topic Q0 docno rank score tag."
            ) from error
    return tuple(found)


def read_qrels(data: bytes) -> tuple[Qrel, ...]:
    """Return the lines of a qrels file. Raises UsageError that names the line."""
    found = []
    for number, cells in _lines(data, "a qrels line has four cells: topic 0 docno relevance", 4):
        try:
            found.append(Qrel(cells[0], cells[2], int(cells[3])))
        except ValueError as error:
            raise UsageError(
                f"Line {number}: {cells[3]!r} is no whole number.", "Write topic 0 docno relevance."
            ) from error
    return tuple(found)


def _lines(data: bytes, rule: str, cells: int) -> Iterable[tuple[int, list[str]]]:
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        if not line.strip():
            continue
        parts = line.split()
        if len(parts) != cells:
            raise UsageError(f"Line {number} has {len(parts)} cells; {rule}.")
        yield number, parts


def rankings(
    run: Sequence[RunLine], qrels: Sequence[Qrel]
) -> Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]:
    """Return for each topic with judgements its gains by rank and the gains of all that is relevant.

    Sorted as trec_eval does: by score, ties by document name, both descending. A topic without results has no gains.
    """
    gold: dict[str, dict[str, int]] = {}
    for qrel in qrels:
        gold.setdefault(qrel.topic, {})[qrel.docno] = qrel.relevance
    results: dict[str, list[RunLine]] = {topic: [] for topic in gold}
    for line in run:
        if line.topic in results:
            results[line.topic].append(line)
    return {
        topic: (
            tuple(
                float(gold[topic].get(line.docno, 0))
                for line in sorted(lines, key=lambda one: (one.score, one.docno), reverse=True)
            ),
            tuple(float(relevance) for relevance in gold[topic].values() if relevance > 0),
        )
        for topic, lines in results.items()
    }
