"""The cards of models that were trained here, without a browser: scores, warning, what can be done."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from pdfqa_core.models import ModelFiles
from pdfqa_core.models.trained import keep_trained
from pdfqa_core.settings import Settings
from pdfqa_core.training import LATE_INTERACTION
from pdfqa_core.ui.encoders import cards_html
from tests.training.test_record import record


def test_trained_models_have_cards(tmp_path):
    files = ModelFiles(tmp_path, tmp_path / "models")
    services = SimpleNamespace(models=SimpleNamespace(files=files, demo=False))
    session = SimpleNamespace(settings=Settings().changed("retrieval", embedding_model="mine"))
    assert "Trained here" not in cards_html(services, session)
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
    assert "Your own, named on the Retrieval tab" not in html
