"""A cluster of two workers on this computer: every result once, also where a worker is killed in the middle."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pdfqa_core.cluster import ClusterError, LostError, RayCluster, named_cluster
from pdfqa_core.errors import DocumentError, StoppedError
from pdfqa_core.models import graphs_path
from pdfqa_core.models.cluster_encoder import ClusterEncoder
from pdfqa_core.retrieval import Encoder
from pdfqa_core.services import SAMPLE
from pdfqa_core.services.documents import read_pdf
from pdfqa_core.settings import ExtractionSettings, LLMSettings
from pdfqa_core.types import DocumentState
from tests.cluster.tasks import die, fail, number_in, refuse, sleep, sleep_on, square, square_or_die

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
def test_an_address_where_nobody_listens_is_told_at_once():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but not listening
        began = time.monotonic()
        with pytest.raises(ClusterError, match=r"does not answer.*PDFQA_CLUSTER"):
            RayCluster(f"127.0.0.1:{taken.getsockname()[1]}").describe()
    assert time.monotonic() - began < 10


@needs_ray
def test_each_result_comes_once_and_signals_stay_as_they_were(cluster):
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    assert sorted(cluster.map(square, list(range(50)))) == [(n, n * n) for n in range(50)]
    assert list(cluster.map(square, [])) == []
    assert cluster.describe() == "Ray at 'local': 1 node, 2 CPUs"
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


@needs_ray
def test_what_tasks_share_goes_to_each_worker_once(cluster):
    for _ in range(2):  # the second call shares another list
        seen: dict[int, list[int]] = {}
        for _, (_, process, count) in sorted(cluster.map(number_in, range(30), shared=[])):
            seen.setdefault(process, []).append(count)
        assert all(sorted(counts) == list(range(1, len(counts) + 1)) for counts in seen.values())
        assert sum(map(len, seen.values())) == 30


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
def test_a_task_that_kills_every_worker_is_given_up(cluster):
    with pytest.raises(LostError, match="again and again"):
        list(cluster.map(die, [0]))


SHORT_OF_MEMORY = """
from pdfqa_core.cluster import LostError, RayCluster
from tests.cluster.tasks import sleep

cluster = RayCluster("local", cpus=2, memory=100 * 2**20)
try:
    list(cluster.map(sleep, [600.0]))
except LostError as error:
    print("given up:", error)
cluster.close()
"""


@needs_ray
def test_a_task_that_memory_is_too_short_for_is_given_up():
    """Ray itself would try again for ever."""
    short = {"RAY_memory_usage_threshold": "0.001", "RAY_memory_monitor_refresh_ms": "100"}
    done = subprocess.run(
        [sys.executable, "-c", SHORT_OF_MEMORY], cwd=ROOT, env=os.environ | short, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert "given up: A worker of the cluster ended" in done.stdout
    assert "memory may be short" in done.stdout


@needs_ray
def test_our_errors_come_back_as_they_are_and_others_in_words(cluster):
    with pytest.raises(DocumentError, match=r"It is torn\. Mend it\.") as caught:
        list(cluster.map(refuse, [0]))
    assert caught.value.state is DocumentState.BROKEN
    with pytest.raises(ClusterError, match="by nothing"):
        list(cluster.map(fail, [0]))


@needs_ray
@pytest.mark.parametrize("task", [sleep, sleep_on])
def test_a_stop_ends_the_waiting_and_frees_the_workers(cluster, task):
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    began = time.monotonic()
    with pytest.raises(StoppedError):
        list(cluster.map(task, [900.0] * 4, stop))
    assert dict(cluster.map(square, [3])) == {0: 9}
    assert time.monotonic() - began < 450  # a worker that slept on would have been waited for


@needs_ray
def test_passages_are_encoded_by_the_workers_as_here(cluster):
    graphs = graphs_path(LLMSettings())
    texts = [f"The plan covers item {n} " + "of the list " * (n % 7) for n in range(150)]
    there = ClusterEncoder(cluster, "", graphs=graphs, precision="auto").encode(texts)
    np.testing.assert_allclose(there, Encoder(graphs=graphs).encode(texts), atol=1e-5)


@needs_ray
def test_a_pdf_is_read_by_a_worker_as_here(cluster):
    def read(one):
        path = min(SAMPLE.glob("*.pdf"))
        return read_pdf(path, ExtractionSettings(workers=1), None, lambda _: None, document_id="doc", cluster=one)

    assert read(cluster) == read(None)
