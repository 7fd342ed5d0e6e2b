"""Ratings that others published, taken in as studies: the agreement is what scikit-learn makes of the same labels."""

from __future__ import annotations

import csv
import io
import json
from itertools import combinations
from pathlib import Path

import pytest
from sklearn.metrics import cohen_kappa_score

from pdfqa_core.csv_format import write_csv
from pdfqa_core.metrics.agreement import Agreement
from pdfqa_core.protocols.rating_tables import Columns
from pdfqa_core.services.studies import StudyService
from pdfqa_core.services.study_files import StudyFiles
from pdfqa_core.services.study_reports import StudyReports
from pdfqa_core.storage import Store
from pdfqa_core.study_types import Study

NQ = ("annotator1", "annotator2", "annotator3")
SCALES = ("naturalness", "appropriateness", "completeness", "faithfulness")


def taken_in(store: Store, data: bytes, columns: Columns) -> tuple[Study, StudyReports]:
    studies = StudyService(store.studies, store.conversations)
    study = StudyFiles(store.studies, studies).of_table("me", data, "Published", columns)
    return study, StudyReports(studies)


def pairs(store: Store, data: bytes, columns: Columns) -> dict[tuple[str, str, str], Agreement]:
    study, reports = taken_in(store, data, columns)
    return {
        (one.all.criterion, *pair.annotators): pair
        for one in reports.agreement("me", study.id, None)
        for pair in one.all.pairs
    }


def test_answers_to_natural_questions(store: Store, shared_data: Path) -> None:
    data = (shared_data / "human_labels" / "nq301_human.tsv").read_bytes()
    columns = Columns({"question": "Question", "answer": "Model answer", "conversation": "id"}, NQ,
                      values={"Yes": "1", "No": "0"})  # fmt: skip
    found = pairs(store, data, columns)
    rows = list(csv.DictReader(io.StringIO(data.decode()), delimiter="\t"))
    assert len(rows) == 1_490
    assert len(found) == 3
    for one, other in combinations(NQ, 2):
        both = [(row[one].strip(), row[other].strip()) for row in rows if row[one] and row[other]]
        both = [pair for pair in both if all(pair)]
        pair = found["answer", one, other]
        assert pair.n == len(both) > 100
        assert pair.kappa == pytest.approx(cohen_kappa_score(*zip(*both, strict=True)), abs=5e-5)
        assert pair.agreement == pytest.approx(sum(a == b for a, b in both) / len(both))


def test_answers_of_several_turns_on_four_scales(store: Store, shared_data: Path) -> None:
    rated = json.loads((shared_data / "human_labels" / "mtrag_human_evaluations.json").read_text("utf-8"))
    asked = {task["task_id"]: task["input"][-1]["text"] for task in rated["tasks"]}
    people = sorted(
        {person for one in rated["evaluations"] for scale in SCALES for person in one["annotations"][scale]}
    )
    columns = [f"{scale}: {person}" for scale in SCALES for person in people]
    rows = []
    for one in rated["evaluations"]:
        given = {f"{scale}: {person}": said["value"] for scale in SCALES
                 for person, said in one["annotations"][scale].items()}  # fmt: skip
        talk = f"{one['task_id'].partition('<')[0]} {one['model_id']}"
        rows.append([asked[one["task_id"]], one["model_response"], talk, *(given.get(name, "") for name in columns)])
    table = write_csv(["question", "answer", "conversation", *columns], rows)
    found = pairs(store, table, Columns())
    compared = 0
    for scale in SCALES:
        for one, other in combinations(people, 2):
            both = [
                (said[one]["value"], said[other]["value"])
                for evaluation in rated["evaluations"]
                if {one, other} <= set(said := evaluation["annotations"][scale])
            ]
            pair = found.get((scale, one, other)) or found[scale, other, one]
            assert pair.n == len(both)
            if pair.kappa is None:
                continue
            compared += 1
            expected = cohen_kappa_score(*zip(*both, strict=True))
            assert pair.kappa == pytest.approx(expected, abs=5e-5)
            for weighted in pair.weighted:
                labels = [str(n) for n in range(1, 5)]
                expected = cohen_kappa_score(*zip(*both, strict=True), weights=weighted.weights, labels=labels)
                assert weighted.kappa == pytest.approx(expected, abs=5e-5)
    assert compared > 40
