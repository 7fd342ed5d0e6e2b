"""Items of studies from files: matched, drawn, and what is wrong with them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.study_items import (
    GeneratedItem,
    draw,
    generated_and_gold,
    pairs,
    read_item_table,
)
from pdfqa_core.study_types import ItemDetails, ItemRole


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def gold(folder: Path, count: int = 3) -> Path:
    rows = [
        {"id": f"q{n}", "question": f"Why {n}?", "answer": f"Because {n}. [report.pdf#page={n}]"}
        for n in range(1, count + 1)
    ]
    return write(folder / "gold.json", rows)


def items(*strata: str) -> list[GeneratedItem]:
    return [GeneratedItem(str(n), f"{n}?", "A", ItemDetails(system=name)) for n, name in enumerate(strata)]


def test_answers_are_matched_by_id_by_question_or_by_order(tmp_path: Path) -> None:
    truth = gold(tmp_path)
    by_id = write(tmp_path / "a.json", [{"id": "q3", "answer": "three"}, {"id": "q1", "answer": "one"}])
    by_words = write(tmp_path / "b.json", [{"question": "WHY  2?", "answer": "two"}])
    by_order = write(tmp_path / "c.json", [{"answer": name} for name in ("x", "y", "z")])
    found = [[(one.question, one.answer) for one in generated_and_gold([path], truth)]
             for path in (by_id, by_words, by_order)]  # fmt: skip
    assert found == [
        [("Why 1?", "one"), ("Why 3?", "three")], [("Why 2?", "two")],
        [("Why 1?", "x"), ("Why 2?", "y"), ("Why 3?", "z")],
    ]  # fmt: skip


def test_an_item_has_its_gold_answer_and_where_it_stands(tmp_path: Path) -> None:
    (one,) = generated_and_gold([write(tmp_path / "mine.json", [{"id": "q2", "answer": "A"}])], gold(tmp_path))
    assert one.details.references == ("Because 2.",)
    assert [(place.filename, place.page) for place in one.details.gold] == [("report.pdf", 2)]
    assert (one.details.system, one.details.document) == ("mine", "report.pdf")


def test_what_an_evaluation_run_wrote_is_taken_with_its_systems(tmp_path: Path) -> None:
    run = {
        "run": "r1",
        "systems": [
            {"name": name, "metrics": {}, "items": [
                {"id": "q1", "answer": f"{name} says", "refused": False, "citations": [], "seconds": 1.0}
            ]}
            for name in ("bm25", "dense")
        ],
    }  # fmt: skip
    found = generated_and_gold([write(tmp_path / "run.json", run)], gold(tmp_path))
    assert [(one.details.system, one.answer) for one in found] == [("bm25", "bm25 says"), ("dense", "dense says")]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "holds no answers"),
        ([{"id": "q1"}], "row 1: there is no answer"),
        ([{"id": "other", "answer": "A"}], "No generated answer belongs"),
        ([{"answer": "A"}], "1 answers without ids, there are 3"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path: Path, rows: list[Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        generated_and_gold([write(tmp_path / "a.json", rows)], gold(tmp_path))


def test_the_same_seed_draws_the_same_and_each_stratum_gives_its_share() -> None:
    many = items(*"aaaaaabbbc")
    drawn = draw(many, 5, seed=3, by="system")
    assert drawn == draw(many, 5, seed=3, by="system")
    assert Counter(one.details.system for one in drawn) == {"a": 3, "b": 2}  # 3, 1.5 and 0.5 of 5
    assert [one.id for one in drawn] == sorted((one.id for one in drawn), key=int)
    assert {one.id for one in draw(many, 4, 1)} != {one.id for one in draw(many, 4, 2)}
    assert len(draw(many, 0, 1)) == len(draw(many, 99, 1)) == 10
    with pytest.raises(UsageError, match="not drawn by 'colour'"):
        draw(many, 2, 1, "colour")


def test_training_and_check_items_are_never_drawn_away() -> None:
    data = "question,answer,kind,gold:answer,explanation\n" + "".join(f"Q{n}?,A,,,\n" for n in range(9))
    found = read_item_table(f"{data}T?,A,training,1,So it is.\nC?,A,check,0,\n".encode())
    drawn = draw(found, 3, 1)
    assert [one.details.role for one in drawn] == [ItemRole.RATED] * 3 + [ItemRole.TRAINING, ItemRole.CHECK]
    assert (drawn[3].details.expected, drawn[3].details.explanation) == ({"answer": "1"}, "So it is.")


def test_a_table_names_all_rows_that_do_not_fit() -> None:
    data = b"question,answer,kind,page\nQ?,A,,\n,A,,\nQ?,A,exam,\nQ?,A,,seven\n"
    with pytest.raises(UsageError) as raised:
        read_item_table(data)
    for words in ("row 3: question or answer is empty", "row 4: 'exam'", "row 5: 'seven' is no page"):
        assert words in raised.value.what
    with pytest.raises(UsageError, match="no rows"):
        read_item_table(b"question,answer\n")


def test_pairs_hide_which_system_is_which(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.json", [{"id": f"q{n}", "answer": name} for n in range(1, 21)])
             for name in ("one", "two")]  # fmt: skip
    found = pairs(generated_and_gold(files, gold(tmp_path, 20)), seed=1)
    assert {(one.answer, one.details.second) for one in found} == {("one", "two"), ("two", "one")}
    assert all((one.details.system, one.details.second_system) == (one.answer, one.details.second) for one in found)
    assert found == pairs(generated_and_gold(files, gold(tmp_path, 20)), seed=1)
    with pytest.raises(UsageError, match="answered by two systems"):
        pairs(generated_and_gold(files[:1], gold(tmp_path)), seed=1)
