"""Systems compared, results saved and loaded, files written whole or not at all; ASQA, HotpotQA and entailment."""

import subprocess
import sys
from pathlib import Path

import pytest

from pdfqa_core.csv_format import read_csv
from tests.cli.test_evaluate_answers import GOLD, PREDICTIONS

OTHER = [{"answer": "Magazine", "citations": [1]}, *PREDICTIONS[1:4], {"answer": "I do not know."}, *PREDICTIONS[5:]]


@pytest.fixture
def files(write):
    return write("first.json", PREDICTIONS), write("second.json", OTHER), write("gold.json", GOLD)


def test_two_systems_are_compared_on_the_same_items(run, files, tmp_path):
    first, second, gold = files
    found = run(
        "evaluate", "answers", "--data", first, "--data", second, "--gold", gold, "--table", tmp_path / "t.csv",
        "--json",
    )  # fmt: skip
    (compared,) = found.data["comparisons"]
    assert (compared["system"], compared["baseline"]) == ("second", "first")
    one, two = (system["metrics"]["answer_f1"]["mean"] for system in found.data["systems"])
    difference = compared["differences"]["answer_f1"]
    assert difference["mean"] == pytest.approx(two - one)
    assert difference["low"] <= difference["mean"] <= difference["high"]
    assert difference["p"] == 0.5  # two items differ, in the same direction: 2 of 4 sign patterns are as extreme
    assert {row.cells[0] for row in read_csv((tmp_path / "t.csv").read_bytes()).rows} == {"first", "second"}
    other = run(
        "evaluate", "answers", "--data", first, "--data", second, "--gold", gold, "--baseline", "second", "--json"
    )
    assert other.data["comparisons"][0]["differences"]["answer_f1"]["mean"] == pytest.approx(one - two)


def test_saved_results_are_compared_later_with_the_same_numbers(run, files, tmp_path):
    first, second, gold = files
    saved = tmp_path / "out" / "first.results.json"
    assert run("evaluate", "answers", "--data", first, "--gold", gold, "--save", saved).status == 0
    both = run("evaluate", "answers", "--data", first, "--data", second, "--gold", gold, "--json").data
    later = run(
        "evaluate", "answers", "--data", second, "--gold", gold, "--load", saved, "--baseline", "first", "--json"
    )
    assert {s["name"]: s["metrics"] for s in later.data["systems"]} == {
        s["name"]: s["metrics"] for s in both["systems"]
    }
    assert later.data["comparisons"] == both["comparisons"]
    alone = run("evaluate", "answers", "--load", saved, "--html", tmp_path / "r.html", "--json")
    assert alone.data["systems"][0]["metrics"] == both["systems"][0]["metrics"]
    assert b"Arthur&#39;s Magazine" in (tmp_path / "r.html").read_bytes()
    wrong = run("evaluate", "hotpotqa", "--load", saved, "--load", saved, "--json")
    assert "Two systems are called 'first'" in wrong.data["error"]["what"]


def test_nothing_is_written_where_something_is_wrong(run, files, tmp_path):
    first, _, gold = files
    folder = tmp_path / "out"
    for options, message in (
        (("--figure", folder / "f.gif"), "figures end in .png, .svg, .pdf"),
        (("--baseline", "other"), "no system called 'other'"),
        (("--load", tmp_path / "absent.json"), "cannot be read"),
    ):
        failed = run(
            "evaluate", "answers", "--data", first, "--gold", gold, "--html", folder / "r.html", *options, "--json"
        )
        assert failed.status == 2
        assert message in failed.data["error"]["what"]
        assert not folder.exists()
    (folder / "r.html").mkdir(parents=True)
    failed = run("evaluate", "answers", "--data", first, "--gold", gold, "--html", folder / "r.html", "--json")
    assert (failed.status, [path.name for path in folder.iterdir()]) == (2, ["r.html"])
    assert run("evaluate", "answers", "--data", first, "--json").data["error"]["what"] == "There are no gold answers."
    assert "nothing to evaluate" in run("evaluate", "answers", "--json").data["error"]["what"]


def test_variants_of_measures_and_refusals_by_phrase(run, write):
    gold = write("gold.json", [{"answer": "respiratory droplets and aerosols"}, {"answer": "x", "answerable": False}])
    data = write("data.json", [{"answer": "respiratory droplets"}, {"answer": "The passages do not mention it."}])
    found = run(
        "evaluate", "answers", "--data", data, "--gold", gold, "--beta", "2", "--brevity-penalty", "--refusals",
        "phrases", "--measures", "rouge_l,bleu_1,rouge_l_sum", "--json",
    )  # fmt: skip
    first, second = (item["metrics"] for item in found.data["systems"][0]["items"])
    assert first["rouge_l"] == pytest.approx(5 * 0.5 * 1 / (0.5 + 4 * 1))
    assert first["bleu_1"] == pytest.approx(0.3679, abs=1e-4)
    assert (first["refusal_recall"], first["refusal_precision"]) == (None, None)
    assert (second["refusal_recall"], second["refusal_precision"]) == (1.0, 1.0)
    assert found.data["settings"]["BLEU-1"] == "with brevity penalty"
    assert run("evaluate", "answers", "--data", data, "--gold", gold, "--beta", "0", "--json").status == 2
    wrong = write("wrong.json", [{"answer": "x", "human": "perhaps"}])
    said = run("evaluate", "answers", "--data", wrong, "--gold", gold, "--json").data["error"]["what"]
    assert said == "wrong.json, row 1: human is 'perhaps'."


def test_hotpotqa_from_the_command_line(run, write):
    gold = write("gold.json", [{"_id": "a", "question": "?", "answer": "yes", "supporting_facts": [["A", 0]]}])
    good = write("good.json", {"answer": {"a": "yes"}, "sp": {"a": [["A", 0]]}})
    found = run("evaluate", "hotpotqa", "--data", good, "--gold", gold, "--json")
    assert found.status == 0
    assert {values["mean"] for values in found.data["systems"][0]["metrics"].values()} == {1.0}
    shown = run("evaluate", "hotpotqa", "--data", good, "--gold", gold).out
    assert "Joint F1" in shown
    assert "n = 1, 0 unscored" in shown
    missing = write("missing.json", {"answer": {"b": "yes"}})
    failed = run("evaluate", "hotpotqa", "--data", missing, "--gold", gold, "--json")
    assert (failed.status, "'b'" in failed.data["error"]["what"]) == (2, True)


def test_asqa_from_the_command_line_stands_beside_published_results(run, write):
    row = {
        "ambiguous_question": "Who?", "qa_pairs": [{"question": "Who?", "short_answers": ["Ann Lee"]}],
        "annotations": [{"long_answer": "It was Ann Lee."}], "sample_id": 1, "answers": ["Ann Lee did."],
    }  # fmt: skip
    data = write("rows.json", [row])
    found = run("evaluate", "asqa", "--data", data, "--json")
    values = {name: one["mean"] for name, one in found.data["systems"][0]["metrics"].items()}
    assert values["str_em"] == values["disambig_f1"] == 1.0
    assert values["dr"] == pytest.approx(values["rouge_l_sum"] ** 0.5)
    assert found.data["published"]["mistral-7b (rageval)"]["str_em"] == 0.206
    assert "Published, in percent" in run("evaluate", "asqa", "--data", data).out
    bare = write("bare.json", [{key: value for key, value in row.items() if key != "answers"}])
    assert "carries no answer" in run("evaluate", "asqa", "--data", bare, "--json").data["error"]["what"]


def test_wrong_entailment_files_are_told_before_a_model_is_loaded(run, write, empty):
    data = write("rows.json", [{"question": "?", "context": "x", "ground_truth": "y", "answer": "z"}])
    wrong = write("wrong.json", [{"question": "?"}])
    failed = run("evaluate", "entailment", "--data", wrong, "--json")
    assert (failed.status, "row 1: there is no context" in failed.data["error"]["what"]) == (2, True)
    failed = run("evaluate", "entailment", "--data", data, "--nli", "/nowhere/model", "--json")
    assert (failed.status, "model" in failed.data["error"]["what"]) == (1, True)


@pytest.mark.slow
def test_a_file_of_100_mb_takes_neither_the_memory_nor_minutes(tmp_path):
    gold, data = tmp_path / "gold.jsonl", tmp_path / "data.jsonl"
    words = " ".join(f"word{number}" for number in range(20))
    number = 0
    with gold.open("w") as one, data.open("w") as other:
        while other.tell() < 100_000_000:
            for _ in range(1_000):
                one.write(f'{{"id": "q{number}", "answer": "{words}", "citations": [1]}}\n')
                other.write(f'{{"id": "q{number}", "answer": "{words} {number}", "citations": [1, 2]}}\n')
                number += 1
    script = (
        "import resource, sys; from pdfqa_core.cli import main; status = main(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "evaluate", "answers", "--data", data, "--gold", gold, "--html",
         tmp_path / "r.html"], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"n = {number}, 0 unscored" in done.stdout
    megabytes = int(done.stderr.split()[-1])
    assert megabytes < 4_000
