"""What a run is scored with: models are asked for where the options need them, and not where they do not."""

from __future__ import annotations

import threading

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.evaluation_types import RunPlan
from pdfqa_core.services import run_asking
from pdfqa_core.services.run_asking import tools_of
from tests.conftest import FakeLLM


def tools(options, llm, needs=frozenset(), profile=""):
    plan = RunPlan("answers", "data", ("data.json",), "", (), 0, 0, profile, options)
    return tools_of(plan, llm, lambda: pytest.fail("no embedder is needed"), needs, threading.Event())


def absent():
    raise ModelError("The language model is not available.")


@pytest.fixture(autouse=True)
def models(monkeypatch):
    monkeypatch.setattr(run_asking, "nli_tagger", lambda name: f"tagger {name}")
    monkeypatch.setattr(run_asking, "span_reader", lambda name: f"reader {name}")


@pytest.mark.parametrize(
    ("options", "needs"),
    [({"judge": "yes"}, set()), ({"disambig": "qa"}, set()), ({}, {"llm"}), ({"nli": "m", "judge": "yes"}, {"llm"})],
)
def test_what_takes_a_language_model_asks_for_it(options, needs):
    llm = FakeLLM()
    assert tools(options, lambda: llm, frozenset(needs)).llm is llm
    with pytest.raises(ModelError, match="not available"):
        tools(options, absent, frozenset(needs))


def test_a_reading_model_needs_no_language_model():
    found = tools({"disambig": "qa", "qa_model": "m"}, absent)
    assert (found.read, found.llm) == ("reader m", None)


def test_as_in_the_sources_a_reading_model_that_is_named_reads():
    assert tools({"qa_model": "m"}, absent).read is None
    assert tools({"qa_model": "m"}, absent, profile="seed").read == "reader m"


def test_an_nli_model_goes_without_a_language_model_and_takes_one_that_is_there():
    llm, needs = FakeLLM(), frozenset({"llm"})
    assert (tools({"nli": "m"}, absent, needs).tagger, tools({"nli": "m"}, absent, needs).llm) == ("tagger m", None)
    assert tools({"nli": "m"}, lambda: llm, needs).llm is llm
