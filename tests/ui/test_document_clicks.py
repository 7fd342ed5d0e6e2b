"""What a click in the table of documents does to the page beside it."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from pdfqa_core.errors import PdfQAError, StorageError, UsageError
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.ui import documents, overview
from pdfqa_core.ui.documents import Handlers, Told
from pdfqa_core.ui.session import Session
from tests.extraction.hostile import with_attached
from tests.services.helpers import BM25
from tests.serving_fakes import PDF, FakeModels
from tests.ui.test_states import pdf

SESSION = Session(LOCAL_OWNER, BM25)
SAID, STOP, TABLE, PAGE, LOCKED, WRONG, CHOSEN, FILES, PASSWORD = range(9)  # places in what a click gives back


@pytest.fixture
def services(tmp_path: Path):
    (tmp_path / "tern.pdf").write_bytes(pdf(title="Tern Rock", pages=2))
    with Services.open(tmp_path / "workspace", BM25, FakeModels()) as opened:
        list(opened.documents.ingest(LOCAL_OWNER, [PDF, tmp_path / "tern.pdf"]))
        yield opened


def click(services: Services, chosen: str, **data: str) -> tuple[Any, ...]:
    *_, shown = Handlers(services).table_clicked(chosen, SESSION, SimpleNamespace(_data=data))
    return shown


def test_the_open_page_stays_when_another_document_is_removed(services: Services) -> None:
    known = {one.filename: one.id for one in services.documents.kept.list(LOCAL_OWNER)}
    heat, tern = known["harbour-heat.pdf"], known["tern.pdf"]
    assert f"{heat}/1" in click(services, "", action="open", document=heat)[PAGE]
    shown = click(services, heat, action="remove", document=tern)
    assert shown[PAGE] == shown[LOCKED] == gr.skip()
    assert "<s>Tern Rock</s>" in shown[TABLE]
    assert shown[CHOSEN] == heat
    shown = click(services, heat, action="remove", document=heat)
    assert shown[CHOSEN] == ""
    assert "Choose a document" in shown[PAGE]


@pytest.mark.parametrize("opened", [False, True])
def test_a_wrong_password_is_said_beside_its_field(services: Services, tmp_path: Path, opened: bool) -> None:
    (tmp_path / "locked.pdf").write_bytes(pdf(password="high water"))
    form = (services.settings.extraction.extractor, True, "auto")
    known = "high water" if opened else None
    *_, one = services.documents.ingest(LOCAL_OWNER, [tmp_path / "locked.pdf"], password=known)
    services.documents.passwords.forget(LOCAL_OWNER, one.id)
    assert click(services, "", action="open", document=one.id)[WRONG] == ""
    *_, shown = Handlers(services).unlock("low water", one.id, SESSION, *form)
    assert (shown[SAID], shown[LOCKED].visible) == ("", True)
    assert "The password does not open locked.pdf. Check it and enter it again." in re.sub("<[^>]*>", "", shown[WRONG])
    assert "does not open" not in shown[PAGE]
    *_, shown = Handlers(services).unlock("high water", one.id, SESSION, *form)
    assert (shown[WRONG], shown[LOCKED].visible) == ("", False)


def test_attached_pdfs_are_added_from_the_open_document(services: Services, tmp_path: Path) -> None:
    path = tmp_path / "portfolio.pdf"
    path.write_bytes(with_attached("BT /F 12 Tf 72 700 Td (See the files) Tj ET", ("annex.pdf", pdf(title="Annex"))))
    *_, cover = services.documents.ingest(LOCAL_OWNER, [path])
    known = {one.filename: one.id for one in services.documents.kept.list(LOCAL_OWNER)}
    for name, offered in (("tern.pdf", False), ("portfolio.pdf", True)):
        assert ("add them" in click(services, "", action="open", document=known[name])[TABLE]) is offered
    shown = click(services, cover.id, action="attached", document=cover.id)
    assert "Annex" in shown[TABLE]
    assert services.documents.kept.get(LOCAL_OWNER, shown[CHOSEN]).filename == "annex.pdf"
    with pytest.raises(PdfQAError, match="No PDF is attached"):
        click(services, "", action="attached", document=known["tern.pdf"])


def test_what_is_removed_can_be_kept_for_a_moment(services: Services, tmp_path: Path) -> None:
    known = {one.filename: one.id for one in services.documents.kept.list(LOCAL_OWNER)}
    heat, tern = known["harbour-heat.pdf"], known["tern.pdf"]
    click(services, "", action="remove", documents=f"{heat} {tern}")
    kept = click(services, "", action="undo", document=heat)[TABLE]
    assert re.findall("<s>(.*?)</s>", kept) == ["Tern Rock"]
    list(services.documents.ingest(LOCAL_OWNER, [tmp_path / "tern.pdf"]))  # who adds it again wants it too
    assert services.documents.leaving.of(LOCAL_OWNER) == frozenset()
    *_, before, _ = Handlers(services).tick(SESSION, "", Told())
    click(services, "", action="remove", document=tern)
    services.documents.leaving.close()  # as a moment later, and at the end of the program
    assert list(services.documents.filenames(LOCAL_OWNER)) == [heat]
    *_, table, _, _ = Handlers(services).tick(SESSION, "", before)  # none came while it was about to go
    assert "Tern Rock" not in table
    assert "harbour-heat.pdf" in table


def test_files_of_the_index_that_could_not_be_deleted_are_told_once(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(place, document_id):
        raise StorageError("It refuses.", "Ask its owner.")

    known = {one.filename: one.id for one in services.documents.kept.list(LOCAL_OWNER)}
    assert click(services, "", action="open", document=known["tern.pdf"])[SAID] == ""
    monkeypatch.setattr("pdfqa_core.services.indexes.forget_document", refused)
    click(services, "", action="remove", document=known["tern.pdf"])
    services.documents.leaving.close()
    said, *_ = Handlers(services).tick(SESSION, "", Told(leaving=frozenset({known["tern.pdf"]})))
    assert "files of the index that hold it could not be deleted" in said
    assert "refuses" not in said  # where it lies is for the log, not for visitors
    assert click(services, "", action="open", document=known["harbour-heat.pdf"])[SAID] == ""


@pytest.mark.parametrize("turned", [False, True])
def test_a_document_that_is_opened_or_turned_while_files_are_read_stays_open(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turned: bool
) -> None:
    monkeypatch.setattr(documents, "asking_page", lambda: "page")
    known = {one.filename: one.id for one in services.documents.kept.list(LOCAL_OWNER)}
    heat, tern = known["harbour-heat.pdf"], known["tern.pdf"]
    handlers = Handlers(services)
    handlers.bar = SimpleNamespace(note_folder=lambda *one: None)
    handlers.show(SESSION, tern if turned else heat)
    files = [tmp_path / f"{number}.pdf" for number in range(3)]
    for file in files:
        file.write_bytes(pdf(title=file.stem, pages=1))
    form = (services.settings.extraction.extractor, True, "auto")
    reading = handlers.add([str(file) for file in files], "", SESSION, *form)
    first = next(reading)
    assert (first[FILES], first[PASSWORD]) == (None, "")
    if turned:
        data = {"document": tern, "number": "2"}
        assert f"{tern}/2" in handlers.page_clicked(SESSION, SimpleNamespace(_data=data))[1]
    else:
        *_, shown = handlers.table_clicked(heat, SESSION, SimpleNamespace(_data={"action": "open", "document": tern}))
        assert f"{tern}/1" in shown[PAGE]
    *_, last = reading
    assert [last[place] for place in (PAGE, LOCKED, CHOSEN, FILES, PASSWORD)] == [gr.skip()] * 5
    assert f'class="chosen" data-row="{tern}"' in last[TABLE] or f'data-row="{tern}" class="chosen"' in last[TABLE]
    assert len(services.documents.kept.list(LOCAL_OWNER)) == 5


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_page_read_by_ocr_is_shown_where_its_document_is_still_open(
    services: Services, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    monkeypatch.setattr(overview, "asking_page", lambda: "page")
    monkeypatch.setattr(services.documents.pages, "read_by_ocr", lambda owner, document_id, numbers: iter(()))
    one, other = services.documents.kept.list(LOCAL_OWNER)
    handlers = overview.Handlers(services)
    handlers.below.put("page", other.id if elsewhere else one.id)
    read = SimpleNamespace(_data={"action": "read", "document": one.id, "numbers": "1"})
    *_, last = handlers.about_clicked(SESSION, one.id, read)
    assert (last[1:4] == (gr.skip(),) * 3) == elsewhere


def test_who_may_not_write_removes_nothing_later_either(services):
    (one,) = services.documents.kept.list(LOCAL_OWNER)[:1]

    def refused() -> None:
        raise UsageError("Only looking on.")

    services.documents.leaving.begin(LOCAL_OWNER, [one.id])
    services.ask_before_writing(refused)
    for act in (services.documents.leaving.undo, services.documents.leaving.begin):
        with pytest.raises(UsageError, match="looking on"):
            act(LOCAL_OWNER, [one.id])
    assert services.documents.leaving.of(LOCAL_OWNER) == {one.id}
    services.ask_before_writing(lambda: None)
    services.documents.leaving.undo(LOCAL_OWNER, [one.id])
    with pytest.raises(UsageError, match="no such document here"):
        services.documents.leaving.begin(LOCAL_OWNER, [one.id, "0" * 64])
    assert services.documents.leaving.of(LOCAL_OWNER) == frozenset()
