"""Results of retrieval evaluations as files: a row per question and measure, TREC runs and qrels, what reports take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pdfqa_core.csv_format import write_csv
from pdfqa_core.exports.trec import Qrel, RunLine, write_qrels, write_run
from pdfqa_core.metrics.scored import Evaluation, ScoredItem, ScoredSystem
from pdfqa_core.metrics.statistics import Summary
from pdfqa_core.protocols.retrieval import SystemResult

CSV_COLUMNS = ("system", "settings", "item", "question", "measure", "value", "first_relevant_rank", "seconds")


def summary_row(summary: Summary) -> dict[str, Any]:
    """Return a mean with its interval as it appears in JSON."""
    return {
        "mean": summary.mean,
        "low": summary.low,
        "high": summary.high,
        "n": summary.n,
        "unscored": summary.unscored,
    }


def as_json(systems: Sequence[SystemResult], measures: Sequence[str], *, seed: int = 0) -> list[dict[str, Any]]:
    """Return the systems as `evaluate retrieval --json` prints them."""
    found = []
    for system in systems:
        values = {name: system.values(name) for name in measures}
        middle, slow = system.latency
        found.append(
            {
                "name": system.name,
                "settings_fingerprint": system.settings_fingerprint,
                "metrics": {name: summary_row(system.summary(name, seed=seed)) for name in measures},
                "passages": system.passages,
                "build_seconds": system.build_seconds,
                "index_bytes": system.index_bytes,
                "seconds": {"p50": middle, "p95": slow},
                "items": [
                    {
                        "id": item.id,
                        "metrics": {name: values[name][place] for name in measures},
                        "rank": item.rank,
                        "seconds": item.seconds,
                    }
                    for place, item in enumerate(system.items)
                ],
            }
        )
    return found


def as_csv(systems: Sequence[SystemResult], measures: Sequence[str]) -> bytes:
    """Return one row per system, question and measure; an unscored value is an empty cell."""
    rows = []
    for system in systems:
        for name in measures:
            for item, value in zip(system.items, system.values(name), strict=True):
                rows.append(
                    (
                        system.name,
                        system.settings_fingerprint,
                        item.id,
                        item.question,
                        name,
                        "" if value is None else repr(value),
                        "" if item.rank is None else str(item.rank),
                        f"{item.seconds:.6f}",
                    )
                )
    return write_csv(CSV_COLUMNS, rows)


def as_evaluation(
    dataset: str,
    systems: Sequence[SystemResult],
    measures: Sequence[str],
    *,
    notes: Sequence[str] = (),
    versions: Mapping[str, str] | None = None,
    made_at: datetime | None = None,
) -> Evaluation:
    """Return the results in the form that reports, figures and LaTeX tables are made of."""
    scored = []
    for system in systems:
        values = {name: system.values(name) for name in measures}
        items = tuple(
            ScoredItem(
                item.id,
                {name: values[name][place] for name in measures},
                {"question": item.question, "rank": "–" if item.rank is None else str(item.rank)},
            )
            for place, item in enumerate(system.items)
        )
        scored.append(ScoredSystem(system.name, items))
    settings = {f"settings fingerprint, {system.name}": system.settings_fingerprint for system in systems}
    made = Evaluation("retrieval", dataset, tuple(measures), tuple(scored), settings, versions or {}, tuple(notes))
    return made if made_at is None else replace(made, made_at=made_at)


def trec_files(systems: Sequence[SystemResult], filenames: Mapping[str, str]) -> dict[str, bytes]:
    """Return `qrels.txt` and a run file per system by file name; `filenames` by document id make names readable."""

    def docno(name: str) -> str:
        document, mark, place = name.partition("#")
        return f"{filenames.get(document, document)}{mark}{place}"

    files: dict[str, bytes] = {}
    judged: dict[tuple[str, str], Qrel] = {}
    for number, system in enumerate(systems, start=1):
        lines = [
            RunLine(item.id, docno(entry.docno), rank, entry.score, system.name)
            for item in system.items
            for rank, entry in enumerate(item.entries, start=1)
        ]
        files[f"run-{number}-{_plain(system.name)}.txt"] = write_run(lines)
        for item in system.items:
            for place in item.gold:
                judged[item.id, place] = Qrel(item.id, docno(place), 1)
    return {"qrels.txt": write_qrels(judged.values()), **files}


def _plain(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name).split())[:60] or "system"
