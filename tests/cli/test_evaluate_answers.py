"""The example of eight answers, from the command line, and files that are wrong."""

import json
import re
from pathlib import Path

import pytest

from pdfqa_core.csv_format import read_csv

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = [ROOT / "examples" / "batch" / f"{name}.jsonl" for name in ("predictions", "gold")]
PREDICTIONS, GOLD = ([json.loads(line) for line in file.read_text("utf-8").splitlines()] for file in FILES)
COMMAND = (
    "pdfqa evaluate answers --data examples/batch/predictions.jsonl --gold examples/batch/gold.jsonl --profile seed"
)


@pytest.fixture
def score(run, tmp_path):
    """Score predictions against gold answers, both as values or as raw text."""

    def go(predictions, gold, *options):
        paths = []
        for name, value in (("predictions.json", predictions), ("gold.json", gold)):
            paths.append(tmp_path / name)
            data = value if isinstance(value, str | bytes) else json.dumps(value)
            paths[-1].write_bytes(data if isinstance(data, bytes) else data.encode())
        return run("evaluate", "answers", "--data", paths[0], "--gold", paths[1], *options)

    return go


def test_the_page_on_evaluation_shows_what_the_example_prints(run, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = run(*COMMAND.split()[1:])
    printed = "\n".join(line.rstrip() for line in found.out.splitlines())
    assert f"\n{COMMAND}\n{printed}\n" in (ROOT / "docs" / "evaluate.md").read_text("utf-8")


def test_ids_match_items_in_any_order_and_references_may_be_several(score, tmp_path):
    gold = [{"id": "a", "answer": ["x y", "z"]}, {"id": 2, "answer": "b"}]
    found = score([{"id": "2", "answer": "b"}, {"id": "a", "answer": "z"}], gold, "--csv", tmp_path / "rows.csv")
    assert found.status == 0
    assert "Answer EM" in found.out
    assert "undefined  (n = 0, 2 unscored)" in found.out  # no citations anywhere
    table = read_csv((tmp_path / "rows.csv").read_bytes())
    values = {row.cells[1]: row.cells[3] for row in table.rows if row.cells[2] == "answer_em"}
    assert values == {"a": "1.0", "2": "1.0"}


@pytest.mark.parametrize(
    ("predictions", "gold", "message"),
    [
        (PREDICTIONS[:3], GOLD, "3 predictions and 8 gold answers"),
        ([{"id": "a", "answer": "x"}], [{"id": "b", "answer": "x"}], "no prediction with the id 'b'"),
        ([{"id": "a", "answer": "x"}, {"answer": "y"}], GOLD, "predictions.json, row 2: there is no id"),
        ([{"id": "a", "answer": "x"}, {"id": "a", "answer": "y"}], GOLD, "row 2: the id 'a' is used in row 1"),
        ([{"answer": None}], GOLD, "row 1: the answer is no text but NoneType"),
        ([{"answer": ["a", "b"]}], GOLD, "row 1: the answer is no text but list"),
        ([{"citations": []}], GOLD, "row 1: there is no answer"),
        ([{"answer": "a", "citations": "1"}], GOLD, "row 1: citations are no list"),
        ([{"answer": "a", "citations": [None]}], GOLD, "row 1: None is no citation"),
        (["a"], GOLD, "row 1: not an object"),
        ('[{"answer": "a", "citations": [NaN]}]', GOLD, "NaN is no value"),
        ('{"answer": "a"}\n{oops', GOLD, "line 2: no valid JSON"),
        ("", GOLD, "predictions.json is empty"),
        ("[]", GOLD, "holds no answers"),
        (b'[{"answer": "\xff"}]', GOLD, "not UTF-8"),
        ("[" * 100_000, GOLD, "nested too deeply"),
    ],
)
def test_what_is_wrong_is_one_clear_error(score, predictions, gold, message):
    found = score(predictions, gold, "--json")
    assert found.status == 2
    assert message in found.data["error"]["what"]
    assert found.data["error"]["hint"]


def test_an_unknown_measure_names_the_known_ones(score):
    found = score(PREDICTIONS, GOLD, "--measures", "accuracy", "--json")
    assert found.status == 2
    assert "answer_f1" in found.data["error"]["hint"]


SCENARIOS = ROOT / "examples" / "scenarios"
SIX = ("answer_f1", "answer_em", "citation_precision", "citation_recall", "citation_f1",
       "insufficient_context_detection")  # fmt: skip
PRINTED = {  # what the source prints for each of its scenarios, with what is said of it here
    "Perfect Generation": (1, 1, 1, 1, 1, None, "right to the word; all and only"),
    "Partial Answer Match": (0.667, 0, 1, 1, 1, None, "partly right: F1 0.667 gives credit, EM none; all and only"),
    "Citation Precision Issue": (1, 1, 0.667, 1, 0.8, None, "right to the word; something that does not belong"),
    "Citation Recall Issue": (1, 1, 1, 0.5, 0.667, None, "right to the word; a place is missing"),
    "Perfect Insufficient Context Detection": (1, 1, 1, 1, 1, 1, "sees that there is no answer; all and only"),
    "Failed Insufficient Context Detection": (0, 0, 0, 0, 0, 0, "there is no answer; something that does not"),
    "Complete Failure": (0, 0, 0, 0, 0, None, "no word with the gold one; something that does not belong there"),
}  # fmt: skip


def test_the_scenarios_of_the_source_come_out_number_by_number_with_a_sentence_each(run, tmp_path):
    """Values, sentences and bars of every example, in the order of the source."""
    call = ("evaluate", "answers", "--data", str(SCENARIOS / "predictions.jsonl"),
            "--gold", str(SCENARIOS / "gold.jsonl"), "--profile", "seed")  # fmt: skip
    items = run(*call, "--json").data["systems"][0]["items"]
    assert [item["id"] for item in items] == list(PRINTED)
    for item, wanted in zip(items, PRINTED.values(), strict=True):
        got = [item["metrics"][name] for name in SIX]
        assert got == [None if one is None else pytest.approx(one, abs=5e-4) for one in wanted[:-1]]
    html = tmp_path / "report.html"
    said = run(*call, "--html", str(html)).out
    report = html.read_text("utf-8")
    for text in (said, report):
        places = [text.index(words[-1], text.index(name)) for name, words in PRINTED.items()]
        assert places == sorted(places)
    titles = re.findall(r'aria-label="([^"]*)"', report[report.index("<h2>Figure") : report.index("<h2>Measures")])
    assert titles == [
        "Answer F1 and Answer EM of each item", "Citations of each item", "Distribution of Answer F1",
        "Distribution of Citation F1", "Every item", "Profile of means",
    ]  # fmt: skip
