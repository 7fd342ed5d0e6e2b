"""Runs that go to another workspace, and how they were made, in words."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.methods import methods_text
from pdfqa_core.services import LOCAL_OWNER, Services
from tests.services.helpers import LITERAL
from tests.services.test_runs import QUESTIONS, SQUAD, done, request
from tests.serving_fakes import FakeModels


def test_a_run_goes_to_another_workspace_and_is_scored_there_as_here(services, write, tmp_path, new_database):
    run_id, found = done(services, request("answers", write(SQUAD), evidence=("given",)))
    data = services.run_copies.file(LOCAL_OWNER, run_id)
    assert data == services.run_copies.file(LOCAL_OWNER, run_id)
    with pytest.raises(UsageError, match="here already"):
        services.run_copies.take_in(LOCAL_OWNER, data, "run.zip")
    new_database()
    with Services.open(tmp_path / "other", LITERAL, FakeModels()) as other:
        taken = other.run_copies.take_in(LOCAL_OWNER, data, "run.zip")
        assert (taken.id, taken.results) == (run_id, found)
        assert other.runs.predictions(LOCAL_OWNER, run_id) == services.runs.predictions(LOCAL_OWNER, run_id)
        *_, again = other.runs.go(LOCAL_OWNER, run_id)
        assert again.systems == found.systems
        assert other.runs.begin(LOCAL_OWNER, request("answers", write(SQUAD), evidence=("given",))).id == run_id
    for wrong, message in ((b"PK", "holds no run"), (data[:-40], "holds no run")):
        with pytest.raises(UsageError, match=message):
            services.run_copies.take_in(LOCAL_OWNER, wrong, "x.zip")


def test_the_methods_of_a_run_say_everything(services, write):
    wanted = request(
        "answers",
        write(QUESTIONS),
        seed=4,
        limit=2,
        systems={"one*": LITERAL, "two": LITERAL.changed("retrieval", k=3)},
    )
    run_id, found = done(services, wanted)
    run = services.runs.get(LOCAL_OWNER, run_id)
    said = methods_text(run)
    for words in (
        run.plan.data_hash, "2 questions, drawn at random with seed 4", "one\\*", "windows of 120 words, step 60",
        "k = 3", "retriever: bm25", "Answer F1: 2PR / (P + R)", "Holm", f"pdfqa {run.versions['pdfqa']}",
        "word for word", "pages read by: direct", "bias-corrected",
        run.plan.systems[1].settings_fingerprint,
    ):  # fmt: skip
        assert words in said, words
    assert found.notes[0] in said.replace("\\", "")
