"""What can be asked about: twins are told apart, and what was removed is chosen no more."""

from __future__ import annotations

from pathlib import Path

from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.ui.session import Session, scope_choice
from tests.services.helpers import BM25
from tests.serving_fakes import PDF
from tests.ui.test_states import pdf


def test_what_can_be_asked_about_is_told_apart_and_follows_what_is_removed(services: Services, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("first.pdf", "second.pdf")]
    for pages, file in enumerate(files, start=1):
        file.write_bytes(pdf(title="Tide tables", pages=pages))
    list(services.documents.ingest(LOCAL_OWNER, files))
    ids = {one.filename: one.id for one in services.documents.kept.list(LOCAL_OWNER)}
    lights = services.documents.collections.make(LOCAL_OWNER, "Lights", [ids["first.pdf"]])
    session = Session(LOCAL_OWNER, BM25, scope=(lights.id, ids["second.pdf"], "gone"))

    def offered() -> dict[str, str]:
        return {str(value): str(label) for label, value in scope_choice(services, session.owner, session.scope).choices}

    assert offered()[lights.id] == "Lights · collection, 1 document"
    assert offered()[ids["first.pdf"]] == "Tide tables · first.pdf"
    assert offered()[ids["second.pdf"]] == "Tide tables · second.pdf"
    assert scope_choice(services, session.owner, session.scope).value == [lights.id, ids["second.pdf"]]
    for name in ("first.pdf", "second.pdf"):
        services.documents.remove(LOCAL_OWNER, ids[name])
    assert offered()[lights.id] == "Lights · collection, empty"
    assert set(offered()) == {lights.id, ids[PDF.name]}
    assert scope_choice(services, session.owner, session.scope).value == [lights.id]
