"""Systems compared, results saved and loaded, files written whole or not at all; ASQA, HotpotQA and entailment."""

import json

import pytest

from tests.cli.test_evaluate_answers import GOLD, PREDICTIONS
from tests.llm.hub import serving

OTHER = [{"answer": "Magazine", "citations": [1]}, *PREDICTIONS[1:4], {"answer": "I do not know."}, *PREDICTIONS[5:]]


@pytest.fixture
def files(write):
    return write("first.json", PREDICTIONS), write("second.json", OTHER), write("gold.json", GOLD)


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
    published = found.data["published"]["mistral-7b (rageval)"]
    assert published == {"str_em": 0.206, "rouge_l": 0.311, "disambig_f1": 0.266, "dr_rouge_l": 0.287}
    assert not any("question answering model" in note for note in found.data["notes"])
    seed = run("evaluate", "asqa", "--data", data, "--profile", "seed", "--json").data
    assert [name for name in seed["measures"] if name in published] == list(published)  # ours under the same names
    assert any(note.startswith("Disambig-F1: entities are found by rule") for note in seed["notes"])
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


def test_a_data_set_of_the_hub_is_fetched_by_its_name_and_split(run, workspace, monkeypatch, tmp_path):
    """Against a hub on this computer, with rows as JSONL and as Parquet: scored, and run."""
    import pyarrow
    import pyarrow.parquet

    row = {
        "ambiguous_question": "Who?", "qa_pairs": [{"question": "Who?", "short_answers": ["Ann Lee"]}],
        "annotations": [{"long_answer": "It was Ann Lee."}], "sample_id": "1", "answers": "Ann Lee did.",
    }  # fmt: skip
    packed = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), packed)
    files = {
        "asqa/gpt_3.5_turbo_instruct.jsonl": (json.dumps(row) + "\n").encode(),
        "asqa/mistral_7b-00000-of-00001.parquet": packed.getvalue().to_pybytes(),
    }
    name, official = "golaxy/rag-bench", "din0s/asqa"
    asked = ("evaluate", "run", "asqa", "--evidence", "search", "--retriever", "bm25", "--reader", "extractive",
             "--json", "--data")  # fmt: skip
    with serving() as hub:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        listed = [{"type": "file", "path": one, "size": len(data), "oid": "0"} for one, data in files.items()]
        hub.files = {f"datasets/{name}/resolve/main/{one}": data for one, data in files.items()}
        hub.files[f"api/datasets/{name}/tree/main"] = json.dumps(listed).encode()
        hub.files[f"api/datasets/{official}/tree/main"] = json.dumps(
            [{**listed[1], "path": "data/dev-0.parquet"}]
        ).encode()
        hub.files[f"datasets/{official}/resolve/main/data/dev-0.parquet"] = files[listed[1]["path"]]
        for split in ("gpt-3.5-turbo-instruct", "mistral_7b"):
            found = run("evaluate", "asqa", "--data", name, "--split", split, "--json")
            assert found.status == 0, found.data
            assert found.data["systems"][0]["metrics"]["str_em"]["mean"] == 1.0
        for call in ((official,), (name, "--split", "gpt-3.5-turbo-instruct"), (name, "--split", "mistral_7b")):
            answered = run(*asked, *call)
            assert answered.status == 0, answered.data
            assert [item["id"] for item in answered.data["systems"][0]["items"]] == ["1"]
        wrong = run("evaluate", "asqa", "--data", name, "--split", "palm", "--json").data["error"]
        assert "has no split called 'palm'" in wrong["what"]
        assert "gpt_3.5_turbo_instruct" in wrong["hint"]
    for call in (("evaluate", "asqa", "--json", "--data"), asked):
        gone = run(*call, "golaxy/other")
        assert gone.status == 2
        assert "golaxy/other is no file here, and the hub did not give it: " in gone.data["error"]["what"]
        assert gone.data["error"]["hint"].startswith("Check the name and the network")
