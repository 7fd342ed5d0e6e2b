"""What stands under *More* on the Train tab, without a browser: it goes into the training; triples as a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest

from pdfqa_core.services import LOCAL_OWNER, Outcome
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.services.training import Prepared, TrainJob, Work
from pdfqa_core.synthesis import RULES
from pdfqa_core.training import DPR, NOTHING_HELD_OUT, Estimate, TrainingSettings
from pdfqa_core.ui.session import Session
from pdfqa_core.ui.train import Compare, Tab
from pdfqa_core.ui.train_parts import Parts, TrainState
from pdfqa_core.ui.train_view import curves_html
from tests.services.helpers import BM25
from tests.training.test_record import record

SPLIT = BM25.changed("chunking", size=60, step=30)
SESSION = Session(LOCAL_OWNER, SPLIT)


@pytest.fixture
def tab(services):
    with gr.Blocks():
        return Tab(services, Parts(), gr.State(SESSION))


def values(tab, **changed):
    """Return what the fields of the training hold, by their elements; the changed ones by the end of their names."""
    fields = {one.elem_id.removeprefix("train-"): one.value for one in tab.parts.training}
    assert changed.keys() <= fields.keys()
    return (fields | changed).values()


@pytest.mark.parametrize(
    ("chosen", "similarity", "keep", "held_out"),
    [
        ({}, "cosine", "best", 0.2),
        ({"similarity": "dot", "keep": "last"}, "dot", "last", 0.2),
        ({"held-out": 0.0}, "cosine", "last", 0),
        ({"model-kind": DPR}, "dot", "best", 0.2),
        ({"model-kind": "late-interaction", "similarity": "dot"}, "cosine", "best", 0.2),  # out of sight by then
    ],
)
def test_what_is_chosen_goes_into_the_training(tab, chosen, similarity, keep, held_out):
    plan = tab._training_plan(SESSION, *values(tab, **chosen)).carried_out
    assert (plan.settings.similarity, plan.settings.keep, plan.held_out) == (similarity, keep, held_out)


def test_triples_are_a_file_or_an_error(tab, services):
    asking = SimpleNamespace(session_hash="page")
    *_, (path, message, stop) = tab.triples(SESSION, asking, *values(tab))
    assert (path, stop.visible) == (gr.skip(), False)
    assert "no accepted question" in message
    list(services.training.synthesis.make(LOCAL_OWNER, SynthesisPlan(kind=RULES, per_document=0), SPLIT))
    for one in services.training.synthesis.kept.list(LOCAL_OWNER, [Outcome.NEW]):
        services.training.synthesis.kept.decide(LOCAL_OWNER, one.id, Outcome.ACCEPTED)
    working, *_, (path, message, stop) = tab.triples(SESSION, asking, *values(tab))
    assert (working[0], working[2].visible, message, stop.visible) == (gr.skip(), True, "", False)
    lines = Path(path).read_text("utf-8").splitlines()
    assert len(lines) > 10
    assert all(line.count("\t") == 2 for line in lines)


def test_with_nothing_held_out_the_page_says_so_and_shows_no_figure_of_it(tab, monkeypatch):
    model = SimpleNamespace(name="mine", path="/models/mine", size=1, record=replace(record(), compared={}, held_out=0))
    monkeypatch.setattr(Compare, "_models", lambda self: (model,))
    html = tab.compare.shown(SimpleNamespace(), TrainState(), SESSION)[tab.parts.compared]
    assert NOTHING_HELD_OUT in html
    assert "Held-out questions" not in html
    job = TrainJob(LOCAL_OWNER, Work.TRAINING, losses=((1, 1, 0.5),), settings=TrainingSettings())
    prepared = Prepared("mine", 9, 0, 9, 9, Estimate(1.0, 1, 1))
    assert "held-out" in curves_html(job, 3, 5)
    assert "eld-out" not in curves_html(replace(job, prepared=prepared), 3, 5)
