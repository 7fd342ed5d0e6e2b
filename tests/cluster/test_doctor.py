"""`pdfqa doctor` on the cluster: none, or why it is not reached."""

import socket

import pytest

from pdfqa_core.cli import doctor
from pdfqa_core.cluster import ClusterError
from tests.cluster.test_ray import needs_ray


@needs_ray
def test_a_cluster_that_does_not_answer_is_told_with_its_address(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("PDFQA_CLUSTER", address)
        with pytest.raises(ClusterError, match=f"{address}.*does not answer"):
            doctor._cluster()
