"""Run and qrels files of TREC: what trec_eval, ir_measures and ranx read.

A run line is "topic Q0 docno rank score tag", a qrels line "topic 0 docno relevance". Source: trec_eval's README.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pdfqa_core.types import Ranking

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


def trec_files(
    found: Mapping[tuple[str, str], Ranking], systems: Sequence[str], filenames: Mapping[str, str]
) -> dict[str, bytes]:
    """Return `qrels.txt` and a run file per system by file name; `found` is by system and item.

    `filenames` by document id make names readable.
    """

    def docno(name: str) -> str:
        document, mark, place = name.partition("#")
        return f"{filenames.get(document, document)}{mark}{place}"

    lines: dict[str, list[RunLine]] = {system: [] for system in systems}
    judged: dict[tuple[str, str], Qrel] = {}
    for (system, item), ranking in found.items():
        for rank, place in enumerate(ranking.places, start=1):
            lines[system].append(RunLine(item, docno(place.docno), rank, place.score, system))
        for name in ranking.gold:
            judged[item, name] = Qrel(item, docno(name), 1)
    runs = {f"run-{n}-{_plain(name)}.txt": write_run(lines[name]) for n, name in enumerate(systems, start=1)}
    return {"qrels.txt": write_qrels(judged.values()), **runs}


def _plain(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name).split())[:60] or "system"
