"""A local cluster of two workers for all tests here: most of the time goes by until one is there."""

import pytest

from pdfqa_core.cluster import RayCluster


@pytest.fixture(scope="package")
def cluster():
    one = RayCluster("local", cpus=2, memory=100 * 2**20)
    try:
        yield one
    finally:
        one.close()
