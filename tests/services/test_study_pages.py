"""A document that is removed under a rated turn: its pages stay with the item."""

from __future__ import annotations

import io
import json
from dataclasses import replace

from PIL import Image

from pdfqa_core.protocols.study_items import Source
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.study_files import GOLD
from pdfqa_core.settings import Settings
from pdfqa_core.types import Span
from tests.services.helpers import only
from tests.serving_fakes import FakeModels
from tests.storage.conftest import turn


def test_pages_of_items_are_kept_when_their_document_is_removed(services, tmp_path):
    document = only(services)
    text = services.documents.kept.page(LOCAL_OWNER, document.id, document.extractor, 2).text[:80]
    talk = services.answers.conversations.create(LOCAL_OWNER, "Talk")
    asked = turn("t1", text)
    (hit,) = asked.answer.hits
    passage = replace(hit.passage, spans=(Span(document.id, 2, 0, 80),))
    answer = replace(asked.answer, hits=(replace(hit, passage=passage),))
    services.answers.conversations.append_turn(LOCAL_OWNER, talk.id, replace(asked, answer=answer))
    study = services.studies.of_conversations(LOCAL_OWNER, "Turns", [talk.id])
    gold, answers = tmp_path / "gold.json", tmp_path / "answers.json"
    gold.write_text(json.dumps([{"id": 1, "question": "Q?", "answer": "A", "file": document.filename, "page": 3}]))
    answers.write_text(json.dumps([{"id": 1, "answer": "B"}]))
    beside = services.studies.of_files(LOCAL_OWNER, "Gold", Source((answers,), gold))
    (found,) = services.studies.items(LOCAL_OWNER, beside.id)[0].details.gold
    assert (found.document_id, found.page) == (document.id, 3)
    assert found.text  # of the page, for the file has no passage of its own
    assert services.studies.pages.picture(study.id, document.id, passage.id) is None

    services.documents.remove(LOCAL_OWNER, document.id)
    kept = services.studies.pages.picture(study.id, document.id, passage.id)
    beside_kept = services.studies.pages.picture(beside.id, document.id, "")
    assert kept is not None
    assert beside_kept is not None
    assert (kept.page, kept.mime, beside_kept.page, beside_kept.passage_id) == (2, "image/jpeg", 3, GOLD)
    assert Image.open(io.BytesIO(kept.image)).width == 1000
    assert services.studies.item(LOCAL_OWNER, study.id, "Ada", "t1").item.turn.answer.hits[0].passage.text == text

    packed = services.studies.files.file(LOCAL_OWNER, study.id, None)
    with Services.open(tmp_path / "elsewhere", Settings(), FakeModels()) as other:
        other.studies.files.take_in(LOCAL_OWNER, packed.data, packed.name)
        assert other.studies.pages.picture(study.id, document.id, passage.id) == kept
        assert other.studies.files.file(LOCAL_OWNER, study.id, None).data == packed.data
