"""The cards of models that were trained here, without a browser: scores, warning, what can be done."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import gradio as gr
import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.models import ModelFiles
from pdfqa_core.models.trained import keep_trained
from pdfqa_core.services.systems import grid, run_grid, with_models
from pdfqa_core.settings import Settings
from pdfqa_core.training import LATE_INTERACTION
from pdfqa_core.ui.encoders import cards_html, known_models
from pdfqa_core.ui.recipe import build_form
from tests.training.test_record import record


def test_trained_models_are_choices_of_the_recipe_and_of_evaluations(tmp_path):
    files = ModelFiles(tmp_path, tmp_path / "models")
    services = SimpleNamespace(models=SimpleNamespace(files=files, demo=False))
    with gr.Blocks():
        form = build_form(Settings(), models=True, known=partial(known_models, services))
    encoder, late = (form.fields["retrieval", name] for name in ("embedding_model", "late_model"))
    assert encoder.choices == [("the bundled all-MiniLM-L6-v2", "")]
    assert (encoder.preprocess("own/model"), late.value) == ("own/model", "")
    for one in (record(), replace(record(), name="late", kind=LATE_INTERACTION)):
        keep_trained(files.encoders.folder, one, lambda folder: None)
    shown = form.some(Settings(), [("retrieval", "embedding_model"), ("retrieval", "late_model")])
    assert [one["choices"][1:] for one in shown] == [
        [("mine, trained here", "mine")], [("late, trained here", "late")]
    ]  # fmt: skip
    services.models.demo = True
    assert known_models(services) == {}
    assert with_models(files.encoders.trained()) == ["late_interaction + late", "dense + mine", "hybrid + mine"]
    asked = {"retrievers": ["bm25", "hybrid", "hybrid + mine", "late_interaction + late"]}
    systems = run_grid(Settings(), asked)
    assert [
        (one.retrieval.retriever, one.retrieval.embedding_model, one.retrieval.late_model) for one in systems.values()
    ] == [("bm25", "", ""), ("hybrid", "", ""), ("hybrid", "mine", ""), ("late_interaction", "", "late")]
    with pytest.raises(UsageError):
        grid(Settings(), [], ["magic + mine"])


def test_trained_models_have_cards(tmp_path):
    files = ModelFiles(tmp_path, tmp_path / "models")
    services = SimpleNamespace(models=SimpleNamespace(files=files, demo=False))
    session = SimpleNamespace(settings=Settings().changed("retrieval", embedding_model="mine"))
    late = replace(record((1, 2, 3), (1, 2, 3)), name="late", kind=LATE_INTERACTION)
    for one in (record(), replace(record(), name="other"), late):
        keep_trained(files.encoders.folder, one, lambda folder: None)
    html = cards_html(services, session)
    assert all(f'data-encoder="{name}"' in html for name in ("late", "mine", "other"))
    assert html.count("HR@5 0.250 before, 1.000 after, on 40 held-out questions") == 2
    assert html.count("Training did not help") == 1
    assert 'data-action="use" data-name="other"' in html
    assert 'data-action="use" data-name="late"' not in html
    assert 'data-action="remove" data-name="mine"' not in html
