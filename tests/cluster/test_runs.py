"""A run on a local cluster of two workers: the predictions of one process, each stored once."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.services import LOCAL_OWNER, RunRequest
from tests.cluster.test_ray import needs_ray
from tests.services.answering_server import answering, opened_with, without_seconds
from tests.serving_fakes import PDF

pytestmark = [needs_ray, pytest.mark.linux]
ASKED = (
    "When are the meters read?", "Who cleaned the intake screen?", "What did the diver find?",
    "How long is the pipe?", "Where is the harbour?", "Who reads the meters?",
)  # fmt: skip
ROWS = [
    *({"id": f"{n}", "question": question, "answer": "x", "document": PDF.name, "page": 2} for n, question in
      enumerate(ASKED)),
    {"id": "f1", "question": "And before?", "answer": "y", "follow_up_of": "1", "document": PDF.name, "page": 3},
    {"id": "f2", "question": "And then?", "answer": "y", "follow_up_of": "f1", "document": PDF.name, "page": 3},
]  # fmt: skip


class Counted:
    """The storage of runs, which counts what is put into it."""

    def __init__(self, store):
        self._store, self.puts = store, Counter()

    def __getattr__(self, name):
        return getattr(self._store, name)

    def put(self, run_id, system, prediction):
        self.puts[prediction.item_id] += 1
        self._store.put(run_id, system, prediction)


@pytest.fixture
def made(tmp_path):
    """Make the predictions of the rows with a server, and, where it is given, a cluster."""
    data = tmp_path / "questions.json"
    data.write_text(json.dumps(ROWS), encoding="utf-8")

    def run(server, cluster=None):
        settings = server.settings.changed("retrieval", retriever="bm25")
        with opened_with(tmp_path / f"{cluster is None}", settings, cluster) as services:
            list(services.documents.ingest(LOCAL_OWNER, [PDF]))
            store = services.evaluation.runs = Counted(services.evaluation.runs)
            wanted = RunRequest(
                "conversations", data, {"served": settings}, ("search",), ("predicted",), options={"bertscore": "no"}
            )
            run_id = services.evaluation.begin(LOCAL_OWNER, wanted).id
            *_, found = services.evaluation.go(LOCAL_OWNER, run_id)
            assert isinstance(found, Evaluation)
            return without_seconds(services.evaluation.runs.predictions(LOCAL_OWNER, run_id)), store.puts

    return run


def test_predictions_are_those_of_one_process(cluster, made):
    with answering() as server:
        here, _ = made(server)
        asked = sorted(server.prompts)
        there, puts = made(server, cluster)
    assert there == here
    assert set(puts.values()) == {1}
    assert sorted(server.prompts) == sorted(asked * 2)
