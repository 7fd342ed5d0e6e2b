"""Passages encoded on a cluster have the vectors that they have here, to the last bit."""

import threading

import numpy as np
import pytest

from pdfqa_core.errors import ModelError, StoppedError, UsageError
from pdfqa_core.models import Encoders, Models, encoders, graphs_path
from pdfqa_core.models.encoders import BATCH, ClusterEncoder, Texts, encode_texts
from pdfqa_core.retrieval import Encoder
from pdfqa_core.settings import LLMSettings, Settings
from tests.cluster.fakes import FakeCluster

TEXTS = [f"The plan covers item {n} " + "of the list " * (n % 13) for n in range(BATCH * 2 + 5)]


@pytest.fixture(autouse=True)
def one_batch_a_task(monkeypatch):
    monkeypatch.setattr(encoders, "PER_TASK", BATCH)


@pytest.fixture(scope="module")
def here():
    return Encoder(graphs=graphs_path(LLMSettings()))


def on(cluster):
    return ClusterEncoder(cluster, "", graphs=graphs_path(LLMSettings()), precision="auto")


def test_the_vectors_are_those_of_this_computer(here):
    cluster, steps = FakeCluster(), []
    there = on(cluster)
    assert (there.name, there.model_hash) == (here.name, here.model_hash)
    found = there.encode(TEXTS, on_progress=lambda step: steps.append((step.done, step.total)))
    np.testing.assert_array_equal(found, here.encode(TEXTS))
    assert cluster.sizes == [3]
    assert steps[-1] == (len(TEXTS), len(TEXTS))


def test_questions_and_few_passages_stay_here(here):
    cluster = FakeCluster(error=AssertionError("asked"))
    np.testing.assert_array_equal(on(cluster).encode(TEXTS[:3]), here.encode(TEXTS[:3]))
    np.testing.assert_array_equal(on(cluster).encode(TEXTS, question=True), here.encode(TEXTS, question=True))


def test_another_model_on_a_worker_is_refused(here):
    with pytest.raises(ModelError, match="another embedding model"):
        encode_texts(Texts("", "0" * 16, "exact", graphs_path(LLMSettings()), ("text",)))


def test_a_stop_is_told_as_it_is_here():
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoppedError, match="Encoding was stopped"):
        on(FakeCluster()).encode(TEXTS, stop=stop)


def test_the_environment_names_the_cluster(monkeypatch, tmp_path):
    monkeypatch.setenv("PDFQA_CLUSTER", "local")
    models = Models.open(tmp_path, Settings())
    assert models.cluster is not None
    assert isinstance(models.encoders.encoder(), ClusterEncoder)
    monkeypatch.delenv("PDFQA_CLUSTER")
    assert Models.open(tmp_path, Settings()).cluster is None
    assert not isinstance(Encoders.with_graphs(tmp_path).encoder(), ClusterEncoder)


def test_a_demo_does_not_start_with_a_cluster(monkeypatch, tmp_path):
    monkeypatch.setenv("PDFQA_CLUSTER", "local")
    with pytest.raises(UsageError, match="A demo cannot use a cluster"):
        Models.open(tmp_path, Settings().changed("server", demo=True))
