"""A cluster of two workers on this computer: every result once, also where a worker is killed in the middle."""

import importlib.util
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pdfqa_core.cluster import ClusterError, named_cluster
from pdfqa_core.errors import DocumentError, StoppedError
from pdfqa_core.models import graphs_path
from pdfqa_core.models.encoders import ClusterEncoder
from pdfqa_core.retrieval import Encoder
from pdfqa_core.settings import LLMSettings
from pdfqa_core.types import DocumentState
from tests.cluster.tasks import fail, refuse, sleep, square, square_or_die

ROOT = Path(__file__).resolve().parent.parent.parent
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None and not os.environ.get("CI"), reason="needs ray (requirements-cluster.txt)"
)


def test_without_an_address_there_is_no_cluster(monkeypatch):
    monkeypatch.setenv("PDFQA_CLUSTER", " ")
    assert named_cluster() is None
    monkeypatch.setenv("PDFQA_CLUSTER", " local ")
    found = named_cluster()
    assert found is not None
    assert found.address == "local"


@needs_ray
def test_a_worker_killed_in_the_middle_loses_nothing_and_doubles_nothing(cluster, tmp_path):
    victim = tmp_path / "victim"

    def kill():
        while not (victim.exists() and victim.read_text()):
            time.sleep(0.05)
        os.kill(int(victim.read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    found = list(cluster.map(square_or_die, [(str(tmp_path), n) for n in range(20)]))
    killer.join(1)
    assert not killer.is_alive()
    assert sorted(found) == [(n, (n, n * n)) for n in range(20)]


@needs_ray
def test_our_errors_come_back_as_they_are_and_others_in_words(cluster):
    with pytest.raises(DocumentError, match=r"It is torn\. Mend it\.") as caught:
        list(cluster.map(refuse, [0]))
    assert caught.value.state is DocumentState.BROKEN
    with pytest.raises(ClusterError, match="by nothing"):
        list(cluster.map(fail, [0]))


@needs_ray
def test_a_stop_ends_the_waiting_and_frees_the_workers(cluster):
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    began = time.monotonic()
    with pytest.raises(StoppedError):
        list(cluster.map(sleep, [900.0] * 4, stop))
    assert dict(cluster.map(square, [3])) == {0: 9}
    assert time.monotonic() - began < 450  # a worker that slept on would have been waited for


@needs_ray
def test_passages_are_encoded_by_the_workers_as_here(cluster):
    graphs = graphs_path(LLMSettings())
    texts = [f"The plan covers item {n} " + "of the list " * (n % 7) for n in range(150)]
    there = ClusterEncoder(cluster, "", graphs=graphs, precision="auto").encode(texts)
    np.testing.assert_allclose(there, Encoder(graphs=graphs).encode(texts), atol=1e-5)
