"""Questions of runs on a cluster: the same predictions, stored one by one; what fails is counted as here."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from pdfqa_core.cluster import LostError
from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.evaluation_types import Evaluation, RunState
from pdfqa_core.services import LOCAL_OWNER, RunRequest
from pdfqa_core.services.run_asking import _benches
from pdfqa_core.storage.document_copies import CopiedDocuments
from tests.cluster.fakes import FakeCluster
from tests.services.answering_server import answering, without_seconds
from tests.services.helpers import store_of
from tests.services.test_runs import QUESTIONS, SQUAD

MORE = [*QUESTIONS, {"id": "d", "question": "What did the diver find?", "answer": "Weed.", "page": 3,
                     "document": "harbour-heat.pdf"}]  # fmt: skip


@pytest.fixture
def server():
    with answering() as one:
        yield one


@pytest.fixture(autouse=True)
def closed_benches():
    """Close what the tasks of a fake cluster opened in this process."""
    yield
    while _benches:
        _benches.pop()[1].close()


def run_of(services, data, protocol="answers", **more):
    wanted = RunRequest(
        protocol, data, {"served": services.settings}, options={"bertscore": "no"}, **more
    )  # fmt: skip
    return services.evaluation.begin(LOCAL_OWNER, wanted).id


def go(services, run_id, **how):
    """Run to the end; return what was predicted and how it was scored."""
    *_, last = services.evaluation.go(LOCAL_OWNER, run_id, **how)
    assert isinstance(last, Evaluation)
    return services.evaluation.runs.predictions(LOCAL_OWNER, run_id), last


def scores(evaluation):
    return [[(item.id, item.metrics, item.texts) for item in one.items] for one in evaluation.systems]


@pytest.mark.parametrize(
    ("protocol", "rows", "more"),
    [
        ("answers", SQUAD, {"evidence": ("search", "given")}),
        ("conversations", MORE, {"evidence": ("search",), "histories": ("gold", "predicted")}),
    ],
)
def test_predictions_and_scores_are_those_of_this_computer(opened, server, write, protocol, rows, more):
    cluster, data = FakeCluster(), write(rows)
    here, there = opened(server.settings), opened(server.settings, cluster)
    mine, my_scores = go(here, run_of(here, data, protocol, **more))
    asked = len(server.prompts)
    theirs, their_scores = go(there, run_of(there, data, protocol, **more))
    assert cluster.sizes
    assert without_seconds(theirs) == without_seconds(mine)
    assert set(theirs) == set(mine)
    assert scores(their_scores) == scores(my_scores)
    assert len(server.prompts) == 2 * asked
    assert {key: one.seconds is None for key, one in theirs.items()} == {
        key: one.seconds is None for key, one in mine.items()
    }


def test_what_fails_alone_is_stored_and_three_failures_in_a_row_end_the_run(opened, server, write):
    services = opened(server.settings, FakeCluster())
    rows = [{"id": str(n), "question": f"What is number {n}?", "answer": "x"} for n in range(5)]
    run_id = run_of(services, write(rows), evidence=("none",))
    server.refused = "number"
    with pytest.raises(ModelError, match="not for you"):
        go(services, run_id)
    assert services.evaluation.runs.get(LOCAL_OWNER, run_id).state is RunState.FAILED
    assert services.evaluation.runs.predictions(LOCAL_OWNER, run_id) == {}
    server.refused = "number 2"
    predictions, found = go(services, run_id)
    assert [item for (_, item), one in predictions.items() if one.failed] == ["2"]
    assert any("1 of 5 answers failed" in note for note in found.notes)
    server.refused = ""
    predictions, _ = go(services, run_id, retry=True)
    assert not any(one.failed for one in predictions.values())
    assert len(server.prompts) == 5


def test_a_stop_and_a_lost_worker_keep_what_is_done(opened, server, write):
    cluster = FakeCluster()
    services = opened(server.settings, cluster)
    rows = [{"id": str(n), "question": f"What is number {n}?", "answer": "x"} for n in range(5)]
    run_id = run_of(services, write(rows), evidence=("none",))
    events = services.evaluation.go(LOCAL_OWNER, run_id)
    for event in events:
        if (event.phase, event.done) == ("served: questions on the cluster", 2):
            services.evaluation.stop(run_id)
            break
    with pytest.raises(StoppedError, match="Stopped after 2 of 5 answers"):
        list(events)
    cluster._error = LostError("A worker ended.", "Look into its logs.")
    with pytest.raises(LostError):
        go(services, run_id)
    run = services.evaluation.runs.get(LOCAL_OWNER, run_id)
    assert (run.state, run.error) == (RunState.FAILED, "A worker ended. Look into its logs.")
    cluster._error = None
    predictions, _ = go(services, run_id)
    assert len(predictions) == len(server.prompts) == 5
    assert cluster.sizes == [5, 3, 3]


def test_a_model_of_this_computer_and_recorded_answers_stay_here(opened, server, write):
    cluster = FakeCluster()
    literal = server.settings.changed("llm", engine="llama_cpp", url="", model="smollm2-135m")
    services = opened(literal.changed("reading", reader="extractive"), cluster)
    go(services, run_of(services, write(MORE)))
    assert cluster.sizes == []


def test_what_is_sent_holds_no_secret_that_is_shown_and_nobody_elses_documents(opened, server, write, monkeypatch):
    monkeypatch.setenv("PDFQA_LLM_API_KEY", "sk-very-secret")
    sent = []

    class Watched(FakeCluster):
        def map(self, function, items, stop=None, shared=None):
            sent.append(shared)
            yield from super().map(function, items, stop, shared)

    services = opened(server.settings, Watched())
    with store_of(services) as store:
        store.documents.add(replace(services.documents.kept.list(LOCAL_OWNER)[0], owner="visitor"))
    go(services, run_of(services, write(MORE), evidence=("search",)))
    (material,) = sent
    assert material.key == "sk-very-secret"
    assert "secret" not in repr(material)
    with closing(CopiedDocuments(material.documents)) as copy:
        assert copy.store.documents.list("visitor") == copy.store.runs.list(LOCAL_OWNER) == ()
        (document,) = copy.store.documents.list(LOCAL_OWNER)
        assert copy.store.documents.readings(LOCAL_OWNER) == services.documents.kept.readings(LOCAL_OWNER)
        assert copy.store.documents.pages(LOCAL_OWNER, document.id, "direct") == services.documents.text(
            LOCAL_OWNER, document.id, services.settings
        )
