"""Stored runs for elsewhere: beside each other as one evaluation, as items of a study, as files of answers."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, Prediction, ReadText, Run, ScoredSystem
from pdfqa_core.json_codec import parse_json
from pdfqa_core.protocols import Case, CaseFile, run_protocols
from pdfqa_core.protocols.asqa import answer_alone
from pdfqa_core.protocols.gold.formats import asqa_rows
from pdfqa_core.protocols.study_items import GeneratedItem
from pdfqa_core.reading.outcomes import lines_and_words
from pdfqa_core.study_types import GoldPassage, ItemDetails
from pdfqa_core.types import Hit, Passage, Span

# ----------------------------------------------------------------------------------------------------
# A run that came in a file.


def check_settings(run: Run, filename: str) -> None:
    """Raise UsageError where the settings of a system are no objects by section, as they were stored."""
    for system in run.plan.systems:
        found = parse_json(system.settings.encode(errors="replace"), f"{filename}, settings of {system.name}")
        if not isinstance(found, dict) or not all(isinstance(section, dict) for section in found.values()):
            raise UsageError(f"{filename}: the settings of {system.name} are no settings.", "Export it again.")


# ----------------------------------------------------------------------------------------------------
# Stored runs beside each other: the systems of several runs on the same data, as one evaluation.


def together(runs: Sequence[Run]) -> Evaluation:
    """Return the scores of runs on the same data as one evaluation; of one run its own.

    Systems are named by their runs too, where there are several. Kept are the questions and the measures that all runs
    have; a note says what is left out. Raises UsageError where a run has no scores, they are of different data or
    protocols, or they have no question or no measure in common.
    """
    scored = [(run, run.results) for run in runs if run.results is not None]
    if not scored or len(scored) < len(runs):
        missing = next((run.name for run in runs if run.results is None), "")
        raise UsageError(f"“{missing}” has no scores yet." if missing else "No run is chosen.", "Let it finish.")
    first, found = scored[0]
    if len(scored) == 1:
        return found
    for run, _ in scored[1:]:
        if (run.plan.protocol, run.plan.data_hash) != (first.plan.protocol, first.plan.data_hash):
            raise UsageError(
                f"“{first.name}” and “{run.name}” are of different questions or protocols.",
                "Compare runs on the same file.",
            )
    results = [one for _, one in scored]
    names, notes = run_names(runs), [note for one in results for note in one.notes]
    measures = tuple(name for name in found.measures if all(name in one.measures for one in results))
    ids = [{item.id for item in one.systems[0].items} for one in results]
    shared = set.intersection(*ids)
    if not measures or not shared:
        what = "measure" if shared else "question"
        raise UsageError(f"“{first.name}” and the others have no {what} in common.", "Run them on the same questions.")
    if left := dict.fromkeys(name for one in results for name in one.measures if name not in measures):
        notes.append(f"Not measured in every run, so not shown: {', '.join(left)}.")
    if any(len(one) > len(shared) for one in ids):
        notes.append(f"Compared on the {len(shared)} questions that all runs have.")
    systems = tuple(_kept(system, names[run.id, system.name], shared) for run, one in scored for system in one.systems)
    order = {item.id: place for place, item in enumerate(systems[0].items)}
    systems = tuple(replace(one, items=tuple(sorted(one.items, key=lambda item: order[item.id]))) for one in systems)
    settings = dict(found.settings)
    for run, one in scored[1:]:
        for key, value in one.settings.items():
            if settings.setdefault(key, value) != value:
                settings[f"{key} ({run.name})"] = value
    versions: Mapping[str, str] = {key: value for one in reversed(results) for key, value in one.versions.items()}
    return replace(
        found,
        measures=measures,
        systems=systems,
        notes=tuple(dict.fromkeys(notes)),
        settings=settings,
        versions=versions,
        id="",
    )


def _kept(system: ScoredSystem, name: str, ids: set[str]) -> ScoredSystem:
    return replace(system, name=name, items=tuple(item for item in system.items if item.id in ids))


def run_names(runs: Sequence[Run]) -> dict[tuple[str, str], str]:
    """Return the systems' names by run and name: with the run's before them, numbered where two would be the same."""
    if len(runs) == 1:
        return {(runs[0].id, system.name): system.name for system in runs[0].plan.systems}
    found: dict[tuple[str, str], str] = {}
    for run in runs:
        for system in run.plan.systems:
            base = f"{run.name}: {system.name}"
            same = (base, *(f"{base} ({number})" for number in range(2, len(found) + 3)))
            found[run.id, system.name] = next(one for one in same if one not in found.values())
    return found


# ----------------------------------------------------------------------------------------------------
# Answers of runs as a study: the items that people rate, beside their gold answers, without the systems' names.

REFUSED = "(refused to answer)"  # what annotators read in place of a refused answer


def study_items(
    file: CaseFile,
    predictions: Mapping[tuple[str, str], Prediction],
    filenames: Mapping[str, str],
    item_ids: Collection[str] = (),
    systems: Collection[str] = (),
) -> tuple[GeneratedItem, ...]:
    """Return the answers of runs as items of a study, question by question; what failed is left out.

    `filenames` are the documents' by id; `item_ids` and `systems` choose the answers, empty: all.
    """
    wanted = [name for name in dict.fromkeys(system for system, _ in predictions) if not systems or name in systems]
    found = []
    for case in file.cases:
        for system in wanted if not item_ids or case.id in item_ids else ():
            one = predictions.get((system, case.id))
            if one is not None and not one.failed:
                found.append(_item(case, system, one, file, filenames))
    return tuple(found)


def _item(
    case: Case, system: str, prediction: Prediction, file: CaseFile, filenames: Mapping[str, str]
) -> GeneratedItem:
    gold = tuple(_gold(place, file) for place in case.gold_citations or ())
    document = next((one.filename for one in gold if one.filename), "")
    lines = [prediction.quote.quote] if prediction.perhaps and prediction.quote else []
    answer = lines_and_words(lines, prediction.answer.strip()) or (REFUSED if prediction.refused else "")
    hits = _hits(prediction.evidence)
    return GeneratedItem(
        case.id,
        case.question,
        answer or "(empty)",
        ItemDetails(case.references, gold, system=system, document=document),
        hits,
        {hit.passage.document_id: filenames.get(hit.passage.document_id, hit.passage.id) for hit in hits},
    )


def _hits(read: Sequence[ReadText]) -> tuple[Hit, ...]:
    """Return the passages that an answer was made of, without the retriever's name: who rates is not to know it."""
    passages = (
        Passage(one.id, one.spans or (Span(one.document_id or one.id, one.page, 0, 0),), one.text) for one in read
    )
    return tuple(Hit(one, 0.0, rank, "") for rank, one in enumerate(passages, start=1))


def _gold(place: str, file: CaseFile) -> GoldPassage:
    """Return a gold place, "file.pdf#page=7" or a text of the data set by its id."""
    name, mark, page = place.rpartition("#page=")
    if mark and page.isdecimal():
        return GoldPassage("", name, int(page))
    return GoldPassage(next((one.text for one in file.corpus if one.id == place), ""), place)


# ----------------------------------------------------------------------------------------------------
# Files of answers and gold answers, as `evaluate answers` reads them.

GOLD_FILE = "gold.json"
NOT_ASKED = "It was not asked yet."


def answer_files(run: Run, file: CaseFile, predictions: Mapping[tuple[str, str], Prediction]) -> dict[str, bytes]:
    """Return gold.json and a file per system, lists of {"id", "answer", "citations", …}, by name.

    All questions are in all of them; what failed, or was not asked yet, says so ("error"). Every gold row names the
    protocol, and the profile if there is one.
    """
    rows = run_protocols.get(run.plan.protocol).rows
    made_by = {"protocol": run.plan.protocol} | ({"profile": run.plan.profile} if run.plan.profile else {})
    cited = any(case.gold_citations for case in file.cases)
    files = {GOLD_FILE: _json([rows.gold(case) | made_by for case in file.cases])}
    for system in run.plan.systems:
        made = (predictions.get((system.name, one.id), Prediction(one.id, error=NOT_ASKED)) for one in file.cases)
        files[_unused(system.name, files)] = _json(
            [rows.predicted(case, one, cited=cited) for case, one in zip(file.cases, made, strict=True)]
        )
    return files | (_with_rows(run, predictions) if run.plan.protocol == "asqa" else {})


def _with_rows(run: Run, predictions: Mapping[tuple[str, str], Prediction]) -> dict[str, bytes]:
    """Return the rows of ASQA with the answers of each model attached, as MODEL.jsonl: `answers`, `responses`, `model`.

    Rows that were not asked, or whose question failed, are left out. Source of the form: rageval.
    """
    rows = asqa_rows(Path(run.plan.data[0]))
    files: dict[str, bytes] = {}
    for system in run.plan.systems:
        lines = []
        for name, row in rows:
            one = predictions.get((system.name, name))
            if one is not None and not one.failed:
                told = {"answers": answer_alone(one.answer), "responses": one.answer, "model": system.model}
                lines.append(json.dumps({**row, **told}, ensure_ascii=False) + "\n")
        if system.model and lines:
            files[_unused(system.model, files, "jsonl")] = "".join(lines).encode("utf-8", "replace")
    return files


def _json(rows: list[dict[str, Any]]) -> bytes:
    return (json.dumps(rows, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "replace")


def _unused(name: str, taken: Mapping[str, bytes], suffix: str = "json") -> str:
    stem = re.sub(r"[^\w.-]+", "_", name).strip("_.")[:80] or "system"
    names = (f"{stem}.{suffix}", *(f"{stem}_{number}.{suffix}" for number in range(2, len(taken) + 3)))
    return next(one for one in names if one not in taken)
