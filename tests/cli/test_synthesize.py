"""`pdfqa synthesize` by rules, which need no model, and the files it writes, read by `pdfqa evaluate`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pdfqa_core.cli import parser
from pdfqa_core.cli.options import settings_of
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.storage import Outcome, Store
from pdfqa_core.synthesis import CONVERSATIONS

RULES = ("synthesize", "--kind", "rules", "--retriever", "bm25", "--passages", 0, "--questions", 2)


@pytest.fixture
def made(workspace, run):
    found = run(*RULES, "--json")
    assert found.status == 0, found.err
    return found.data


def test_questions_are_made_and_told_with_what_was_dropped(made, workspace, run):
    living = [one for one in made["questions"] if one["outcome"] == "new"]
    assert len(living) == made["outcomes"]["new"] >= 5
    assert {(one["kind"], one["model"]) for one in made["questions"]} == {("rules", "")}
    assert all(one["filename"] == "harbour-heat.pdf" and one["pages"] for one in living)
    again = run(*RULES)
    assert again.status == 0
    assert f"{made['passages']} passages" in again.out
    assert "had been done before" in again.out


@pytest.mark.parametrize("form", ["jsonl", "beir"])
def test_an_evaluation_reads_what_was_written(made, workspace, tmp_path, run, form):
    target = tmp_path / "questions.jsonl" if form == "jsonl" else tmp_path / "beir"
    written = run(*RULES, "--output", target, "--format", form, "--json")
    assert written.status == 0, written.err
    assert written.data["written"] == made["outcomes"]["new"]
    scored = run("evaluate", "retrieval", "--data", target, "--retriever", "bm25", "--json")
    assert scored.status == 0, scored.err
    (system,) = scored.data["systems"]
    found = system["metrics"]["HR@5"]
    assert found["n"] == made["outcomes"]["new"]
    assert found["unscored"] == 0
    assert found["mean"] == 1  # a question stays only if a search of the first five finds its passage
    answered = run("evaluate", "run", "answers", "--data", target, "--reader", "extractive", "--retriever", "bm25",
                   "--no-bertscore", "--json")  # fmt: skip
    assert answered.status == 0, answered.err
    gold = sum(bool(one["answer"]) for one in made["questions"] if one["outcome"] == "new")
    measures = answered.data["systems"][0]["metrics"]
    assert measures["answer_f1"]["n"] == measures["rouge_l"]["n"] == gold >= 2


def test_of_an_exact_match_only_the_passage_counts_that_a_question_was_made_of(made, workspace, tmp_path, run):
    run(*RULES, "--output", tmp_path / "q.jsonl")
    unmerged = ("--retriever", "bm25", "--no-merge-overlaps")
    call = ("evaluate", "retrieval", "--data", tmp_path / "q.jsonl", *unmerged, "--gold-match")
    first, others = (run(*call, match, "--json").data["systems"][0] for match in ("exact", "overlap"))
    ranks = []
    with Services.open(workspace, settings_of(parser().parse_args(["search", "x", *unmerged]))) as services:
        list(services.index.build(LOCAL_OWNER, services.settings))
        for one in services.training.synthesis.kept.list(LOCAL_OWNER, [Outcome.NEW]):
            hits = services.index.search(LOCAL_OWNER, one.text, services.settings, k=100)
            ranks.append([hit.passage.id for hit in hits].index(one.passage_id) + 1)
    assert sorted(item["rank"] for item in first["items"]) == sorted(ranks)
    assert first["metrics"]["MRR"]["mean"] < others["metrics"]["MRR"]["mean"]  # neighbouring windows count there too


def test_only_accepted_ones_are_written_and_used_as_examples(made, workspace, tmp_path, run):
    nothing = run("synthesize", "--accepted", "--output", tmp_path / "q.jsonl")
    assert nothing.status == 1
    assert "no questions that are accepted" in nothing.err
    with Store.open(workspace) as store:
        one = store.synthetic_questions.list(LOCAL_OWNER, [Outcome.NEW])[0]
        store.synthetic_questions.decide(LOCAL_OWNER, one.id, Outcome.ACCEPTED, "What is asked here instead?")
    accepted = run("synthesize", "--accepted", "--output", tmp_path / "q.jsonl", "--json")
    assert accepted.data == {"questions": [], "written": 1}
    (row,) = map(json.loads, (tmp_path / "q.jsonl").read_text(encoding="utf-8").splitlines())
    assert (row["question"], row["edited"], row["made_by"]) == ("What is asked here instead?", True, "rules")


def test_questions_are_looked_over_by_a_letter_each(made, workspace, run, monkeypatch, capsys):
    typed = iter(["x", "a", "b", "r", "e", "", "", "e", "  What stands here instead? ", " 84 flats ", "s", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed))
    found = run("synthesize", "--review")
    assert found.status == 0
    living = [one for one in made["questions"] if one["outcome"] == "new"]
    assert f"1 of {len(living)} · harbour-heat.pdf, p. " in found.out
    assert found.out.endswith(f"1 accepted, 1 rejected, {len(living) - 2} left\n")
    with Store.open(workspace) as store:
        (accepted,) = store.synthetic_questions.list(LOCAL_OWNER, [Outcome.ACCEPTED])
        (rejected,) = store.synthetic_questions.list(LOCAL_OWNER, [Outcome.REJECTED])
    assert (accepted.text, accepted.made) == ("What stands here instead?", living[1]["question"])
    assert (accepted.answer, accepted.made_answer) == ("84 flats", living[1]["answer"])
    assert rejected.text == living[0]["question"]
    assert run("synthesize", "--review", "--json").status == 2


def test_a_conversation_is_looked_over_as_a_whole_and_run_as_one(made, workspace, tmp_path, run, monkeypatch):
    with Store.open(workspace) as store:
        kept = store.synthetic_questions
        found = [one for one in kept.list(LOCAL_OWNER, [Outcome.NEW]) if one.answer][:1] * 3
        kept.remove(LOCAL_OWNER, list(Outcome))
        turns = [
            replace(one, id=f"t{n}", kind=CONVERSATIONS, conversation="c", turn=n) for n, one in enumerate(found, 1)
        ]
        kept.add(LOCAL_OWNER, turns)
    typed = iter(["e", "2", "And then?", "", "a"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed))
    found = run("synthesize", "--review")
    assert "1 of 1 · harbour-heat.pdf" in found.out
    assert "2. And then?" in found.out
    assert found.out.count("  answer: ") == 6  # it is shown again after a change
    assert found.out.endswith("1 accepted, 0 rejected, 0 left\n")
    file = tmp_path / "talks.jsonl"
    assert run("synthesize", "--accepted", "--output", file, "--json").data["written"] == 3
    done = run("evaluate", "run", "conversations", "--data", file, "--reader", "extractive", "--retriever", "bm25",
               "--no-bertscore", "--json")  # fmt: skip
    assert done.status == 0, done.err
    (system,) = done.data["systems"]
    assert system["metrics"]["answer_f1"]["n"] == 3
    said = run("evaluate", "run", "conversations", "--data", file, "--reader", "extractive", "--retriever", "bm25",
               "--no-bertscore", "--beta", 2, "--html", tmp_path / "report.html").out  # fmt: skip
    assert said.index("by turn\n") < said.index("  ROUGE-L")
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert report.index("by turn</h2>") < report.index("<h2>Results")
    assert run("evaluate", "run", "conversations", "--data", file, "--beta", 0).status == 2
