"""A second try of what needs a browser: the whole file of a test that failed, from a fresh app."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import _keep_failed


def items(*names: str) -> list[Any]:
    return [SimpleNamespace(nodeid=name) for name in names]


def test_the_files_of_failed_tests_are_run_whole_and_no_others():
    gone: list[Any] = []
    cached = {"cache/lastfailed": {"ui/test_a.py::test_two": True}}

    def deselected(items: list[Any]) -> None:
        gone.extend(items)

    config: Any = SimpleNamespace(
        cache=SimpleNamespace(get=cached.get),
        hook=SimpleNamespace(pytest_deselected=deselected),
    )
    chosen = items("ui/test_a.py::test_one", "ui/test_a.py::test_two", "ui/test_ab.py::test_two")
    _keep_failed(config, chosen)
    assert [one.nodeid for one in chosen] == ["ui/test_a.py::test_one", "ui/test_a.py::test_two"]
    assert [one.nodeid for one in gone] == ["ui/test_ab.py::test_two"]


def test_without_a_record_of_the_run_before_it_says_so():
    with pytest.raises(pytest.UsageError, match="cache of the run before"):
        _keep_failed(SimpleNamespace(cache=None), items("a.py::test"))  # type: ignore[arg-type]
