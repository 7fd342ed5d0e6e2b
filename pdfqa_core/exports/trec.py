"""Run and qrels files of TREC: what trec_eval, ir_measures and ranx read.

A run line is "topic Q0 docno rank score tag", a qrels line "topic 0 docno relevance". Source: trec_eval's README.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import inf

from pdfqa_core.evaluation_types import Ranking

_WHITE = re.compile(r"\s+")


def _name(text: str) -> str:
    return _WHITE.sub("_", text.strip()) or "_"


def write_run(lines: Iterable[tuple[str, str, float]], tag: str) -> bytes:
    """Return a run file of (topic, docno, score), best first in each topic; white space in names becomes "_".

    trec_eval sorts by score and ignores the rank, so scores are written such that they descend strictly with the rank.
    """
    rows = []
    last: dict[str, tuple[int, float]] = {}
    for topic, docno, given in lines:
        rank, before = last.get(topic, (0, inf))
        score = min(given, _below(before)) if rank else given
        last[topic] = rank + 1, score
        rows.append(f"{_name(topic)} Q0 {_name(docno)} {rank + 1} {score!r} {_name(tag)}\n")
    return "".join(rows).encode()


def _below(score: float) -> float:
    """Return a score that trec_eval, which reads single precision, still tells apart."""
    return score - max(abs(score) * 1e-6, 1e-6)


def write_qrels(gold: Iterable[tuple[str, str]]) -> bytes:
    """Return a qrels file of the relevant (topic, docno); white space in names becomes "_"."""
    return "".join(f"{_name(topic)} 0 {_name(docno)} 1\n" for topic, docno in gold).encode()


def trec_files(
    found: Mapping[tuple[str, str], Ranking], systems: Sequence[str], filenames: Mapping[str, str]
) -> dict[str, bytes]:
    """Return `qrels.txt` and a run file per system by file name; `found` is by system and item.

    `filenames` by document id make names readable.
    """

    def docno(name: str) -> str:
        document, mark, place = name.partition("#")
        return f"{filenames.get(document, document)}{mark}{place}"

    lines: dict[str, list[tuple[str, str, float]]] = {system: [] for system in systems}
    for (system, item), ranking in found.items():
        lines[system] += [(item, docno(place.docno), place.score) for place in ranking.places]
    gold = dict.fromkeys((item, docno(name)) for (_, item), ranking in found.items() for name in ranking.gold)
    runs = {f"run-{n}-{_plain(name)}.txt": write_run(lines[name], name) for n, name in enumerate(systems, start=1)}
    return {"qrels.txt": write_qrels(gold), **runs}


def _plain(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name).split())[:60] or "system"
