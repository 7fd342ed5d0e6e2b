from __future__ import annotations

import os
from pathlib import Path

import pytest

from pdfqa_core.llm import catalogue
from tests.llm.gguf_files import header
from tests.llm.hub import offering

SMALL = "smollm2-360m"
BODY = header() + bytes(600_000)


@pytest.fixture
def hub(monkeypatch):
    with offering(monkeypatch, SMALL, BODY) as server:
        yield server


def models(run, *arguments):
    return run("models", *arguments, "--json")


def test_the_list_tells_what_fits_and_what_is_here(run, empty):
    found = models(run, "list")
    assert found.status == 0
    assert found.data["machine"]["memory"] > found.data["machine"]["free"] > 0
    first, *others = found.data["models"]
    assert (first["name"], first["active"], first["bundled"]) == ("smollm2-135m", True, True)
    assert {one["here"] for one in others} == {False}
    assert {one["fit"] for one in found.data["models"]} <= {"fits", "tight", "too large"}
    assert not empty.exists()
    plain = run("models", "list")
    assert plain.status == 0
    assert "* smollm2-135m" in plain.out
    assert len(plain.out.splitlines()) == len(found.data["models"])


def test_a_model_is_downloaded_once(run, empty, hub):
    found = models(run, "download", SMALL)
    path = Path(os.environ["PDFQA_MODELS"]) / catalogue.entry(SMALL).file
    assert (found.status, found.data["path"], found.data["bytes"]) == (0, str(path), len(BODY))
    assert path.read_bytes() == BODY
    assert models(run, "download", SMALL).data["path"] == str(path)
    assert hub.ranges() == [""]
    assert next(one for one in models(run, "list").data["models"] if one["name"] == SMALL)["here"]
    gone = models(run, "remove", SMALL)
    assert (gone.status, gone.data) == (0, {"name": SMALL, "removed": True, "deleted": True})
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("download", "gigantic"), 2, "no model called 'gigantic'"),
        (("remove", "gigantic"), 2, "no model called 'gigantic'"),
        (("remove", SMALL), 2, "is not on this computer"),
        (("remove", "smollm2-135m"), 2, "is the model that the settings name"),
        (("add", "/no/such.gguf"), 1, "cannot be read"),
        (("add",), 2, "required"),
        ((), 2, "required"),
    ],
)
def test_wrong_calls_are_told(run, empty, arguments, status, words):
    found = models(run, *arguments)
    assert found.status == status
    assert words in found.data["error"]["what"]
