"""A local cluster of two workers for all tests here: most of the time goes by until one is there."""

import pytest

from pdfqa_core.cluster import RayCluster


@pytest.fixture(scope="package")
def cluster():
    one = RayCluster("local", cpus=2, memory=100 * 2**20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_memory_monitor_refresh_ms", "0")  # what memory other programs take is no matter here
        try:
            yield one
        finally:
            one.close()
