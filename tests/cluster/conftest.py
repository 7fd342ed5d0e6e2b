"""A local cluster of two workers, for the tests of a file."""

import pytest

from pdfqa_core.cluster import RayCluster


@pytest.fixture(scope="module")
def cluster():
    one = RayCluster("local", cpus=2, memory=100 * 2**20)
    try:
        yield one
    finally:
        one.close()
