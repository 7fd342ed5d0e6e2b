"""What the page says of the language of documents, and of encoders that know it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from pdfqa_core.models import ModelFiles
from pdfqa_core.models.files import encoder_entry, read_encoders
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.ui.documents import Handlers as DocumentHandlers
from pdfqa_core.ui.encoders import Handlers, cards_html
from pdfqa_core.ui.session import Session
from tests.services.helpers import HYBRID
from tests.services.test_languages import LEASE
from tests.serving_fakes import FakeModels

GERMAN = Session(LOCAL_OWNER, HYBRID)
BGE = encoder_entry("bge-small-en")


def test_a_german_document_shows_its_language_and_an_encoder_that_knows_it_is_offered(services: Services, make_pdf):
    list(services.documents.ingest(LOCAL_OWNER, [make_pdf(*LEASE, name="mietvertrag.pdf", title="Mietvertrag")]))
    table = DocumentHandlers(services).table(GERMAN)
    assert "German" in table
    assert "The encoder knows English only: German is found by its words, hardly by meaning." in table
    assert "Get a multilingual encoder" in table
    known = Session(LOCAL_OWNER, HYBRID.changed("retrieval", embedding_model="multilingual-e5-small"))
    assert "encoder-hint" not in DocumentHandlers(services).table(known)


@pytest.mark.parametrize("demo", [False, True])
def test_encoders_have_cards_and_visitors_of_a_demo_no_buttons(tmp_path: Path, demo: bool):
    files = ModelFiles(tmp_path, tmp_path / "models")
    html = cards_html(SimpleNamespace(models=SimpleNamespace(files=files, demo=demo)), GERMAN)
    assert html.count('data-encoder="') == 1 + len(read_encoders())
    assert ("data-action" in html) is not demo


def test_an_encoder_that_is_here_is_used_and_its_files_are_kept_meanwhile(tmp_path: Path):
    models = FakeModels(files=ModelFiles(tmp_path, tmp_path / "models"))
    folder = models.files.encoders.folder / BGE.name
    for path in (*BGE.files, "config_sentence_transformers.json"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("{}")
    with Services.open(tmp_path / "workspace", HYBRID, models) as services:
        assert f'data-action="use" data-name="{BGE.name}"' in cards_html(services, GERMAN)
        using = Session(LOCAL_OWNER, HYBRID.changed("retrieval", embedding_model=BGE.name))
        assert f'data-action="remove" data-name="{BGE.name}"' not in cards_html(services, using)
        session, said = Handlers(services)._using(GERMAN, BGE.name)
        assert session.settings.retrieval.embedding_model == BGE.name
        assert f"{BGE.title} is used now" in said
