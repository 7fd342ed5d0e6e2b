"""Services over a real workspace with real PDFs; only the models are fakes."""

from __future__ import annotations

import os
import shutil
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from pdfqa_core.errors import PdfQAError, StoppedError, UsageError
from pdfqa_core.extraction import extractors
from pdfqa_core.ingest import Source
from pdfqa_core.loaded_models import ModelStatus
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from pdfqa_core.types import Document, DocumentState, Done, Progress, Retrieved, Rewritten, Stored, Token
from tests.conftest import FakeLLM
from tests.extraction.hostile import endless_text
from tests.serving_fakes import PDF, QUESTIONS, FakeModels

BM25 = Settings().changed("retrieval", retriever="bm25").changed("reading", confidence_threshold=0)
LITERAL = BM25.changed("reading", reader="extractive")
METERS = QUESTIONS["q03"]["question"]
SCREEN, FOLLOW_UP = QUESTIONS["q05"]["question"], "Who cleaned it before?"


@pytest.fixture(scope="session")
def read_workspace(tmp_path_factory):
    """A workspace in which the sample report has been read; tests work on copies."""
    folder = tmp_path_factory.mktemp("read") / "workspace"
    with Services(folder, BM25, FakeModels()) as services:
        list(services.ingest(LOCAL_OWNER, [PDF]))
    return folder


@pytest.fixture
def open_services(tmp_path, read_workspace):
    """Open services on a copy of the read workspace, or on an empty one."""
    opened = []

    def build(settings=BM25, llm=None, *, empty=False, **models):
        folder = tmp_path / "workspace"
        if not empty and not folder.exists():
            shutil.copytree(read_workspace, folder)
        opened.append(Services(folder, settings, FakeModels(llm, **models)))
        return opened[-1]

    yield build
    for services in opened:
        services.close()


@pytest.fixture
def services(open_services):
    return open_services()


@pytest.fixture
def letter(make_pdf):
    return make_pdf(
        ["The quarry at Oldham sells granite by the tonne.", "Granite is blasted on Tuesdays."], name="letter.pdf"
    )


def documents(events):
    return [event for event in events if isinstance(event, Document)]


def only(services, owner=LOCAL_OWNER):
    (document,) = services.store.documents.list(owner)
    return document


def built(services, settings=BM25, owner=LOCAL_OWNER):
    return list(services.build_index(owner, settings))


def asked(services, question, settings=None, owner=LOCAL_OWNER, **options):
    """Return all events of an answer."""
    return list(services.answer(owner, question, settings or services.settings, **options))


def stored_of(events):
    assert isinstance(events[-1], Stored)
    return events[-1]


# ------------------------------------------------------------------ documents


def test_ingest_the_sample_and_a_made_pdf(open_services, letter):
    services = open_services(empty=True)
    events = list(services.ingest(LOCAL_OWNER, [PDF, letter]))
    assert [(d.filename, d.state, d.page_count) for d in documents(events)] == [
        ("harbour-heat.pdf", DocumentState.READY, 8), ("letter.pdf", DocumentState.READY, 1),
    ]  # fmt: skip
    steps = [event for event in events if isinstance(event, Progress)]
    assert Progress("Reading harbour-heat.pdf", 8, 8) in steps
    assert [step.phase for step in steps if step.phase.startswith("checking")] == [
        "checking harbour-heat.pdf", "checking letter.pdf",
    ]  # fmt: skip
    assert services.has_sample(LOCAL_OWNER)
    assert "granite by the tonne" in services.page_view(LOCAL_OWNER, documents(events)[1].id, 1).page.text


def test_a_broken_file_between_two_good_ones(services, letter, make_pdf, tmp_path):
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nand nothing more")
    other = make_pdf(["Another page of text."], name="other.pdf")
    found = documents(services.ingest(LOCAL_OWNER, [letter, broken, other]))
    assert [d.state for d in found] == [DocumentState.READY, DocumentState.BROKEN, DocumentState.READY]
    assert "broken.pdf is damaged" in found[1].reason
    assert set(services.passage_counts(LOCAL_OWNER, BM25)) == {only_id(services, n) for n in GOOD}


GOOD = ("harbour-heat.pdf", "letter.pdf", "other.pdf")


def only_id(services, filename):
    (document_id,) = services.document_ids(LOCAL_OWNER, [filename])
    return document_id


def test_an_encrypted_file_is_read_again_with_its_password_under_its_name(open_services, tmp_path):
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    services, path = open_services(empty=True), tmp_path / "locked.pdf"
    canvas = Canvas(str(path), encrypt=StandardEncryption("secret", strength=128))
    canvas.drawString(70, 700, "Behind the lock lies granite.")
    canvas.save()
    locked = documents(services.ingest(LOCAL_OWNER, [path]))[0]
    assert locked.state is DocumentState.ENCRYPTED
    assert services.passage_counts(LOCAL_OWNER, BM25) == {}
    source = services.original(LOCAL_OWNER, locked.id)
    assert (source.filename, source.path.name) == ("locked.pdf", f"{locked.id}.pdf")
    wrong = documents(services.ingest(LOCAL_OWNER, [source], password="guess", again=True))[0]
    assert (wrong.state, "does not open locked.pdf" in wrong.reason) == (DocumentState.ENCRYPTED, True)
    opened = documents(services.ingest(LOCAL_OWNER, [source], password="secret", again=True))[0]
    assert (opened.id, opened.filename, opened.state) == (locked.id, "locked.pdf", DocumentState.READY)
    assert [d.filename for d in services.store.documents.list(LOCAL_OWNER)] == ["locked.pdf"]
    assert services.page_view(LOCAL_OWNER, opened.id, 1).page.text == "Behind the lock lies granite."
    # Pages are kept once for all owners; who has the file but not the password still does not see them.
    documents(services.ingest("stranger", [path]))
    with pytest.raises(UsageError, match=r"locked\.pdf has no pages to show: encrypted"):
        services.page_view("stranger", opened.id, 1)
    assert services.passages("stranger", BM25) == []


def test_stop_within_a_file_keeps_the_files_before(open_services, letter, tmp_path):
    services, long = open_services(empty=True), tmp_path / "long.pdf"
    long.write_bytes(endless_text(3_000_000))
    events = services.ingest(LOCAL_OWNER, [letter, long], run="page")
    while next(events) != Progress("checking long.pdf"):
        pass
    threading.Timer(0.3, services.stop, ["page"]).start()
    with pytest.raises(StoppedError, match=r"Reading long\.pdf was stopped"):
        list(events)
    assert only(services).filename == "letter.pdf"
    assert [path.stem for path in (services.workspace / "pdfs").iterdir()] == [only(services).id]
    documents(services.ingest(LOCAL_OWNER, [letter], run="page"))  # the name is free again


def test_an_abandoned_upload_frees_its_name_and_ends_its_work(services, letter):
    events = services.ingest(LOCAL_OWNER, [letter], run="page")
    next(events)
    with pytest.raises(PdfQAError, match="still busy"):
        next(services.ingest(LOCAL_OWNER, [letter], run="page"))
    events.close()
    assert documents(services.ingest(LOCAL_OWNER, [letter], run="page"))[0].state is DocumentState.READY


def test_reading_again_replaces_what_the_index_held(services, letter):
    document = documents(services.ingest(LOCAL_OWNER, [letter]))[0]
    built(services)
    page = services.store.documents.page(LOCAL_OWNER, document.id, "direct", 1)
    services.store.documents.put_pages(LOCAL_OWNER, document.id, "direct", [])
    assert documents(services.ingest(LOCAL_OWNER, [letter], again=True))[0].state is DocumentState.READY
    assert not services.index_ready(LOCAL_OWNER, BM25)
    assert services.store.documents.page(LOCAL_OWNER, document.id, "direct", 1) == page
    built(services)
    assert services.search(LOCAL_OWNER, "granite", BM25)[0].passage.document_id == document.id


def test_documents_by_name_title_or_id(services, letter):
    services_letter = documents(services.ingest(LOCAL_OWNER, [letter]))[0]
    sample = only_id(services, "harbour-heat.pdf")
    title = services.store.documents.get(LOCAL_OWNER, sample).title
    assert services.document_ids(LOCAL_OWNER, [title, "letter.pdf", sample]) == (sample, services_letter.id)
    with pytest.raises(UsageError, match=r"no document 'other\.pdf'.*harbour-heat\.pdf, letter\.pdf"):
        services.document_ids(LOCAL_OWNER, ["other.pdf"])


def test_suggestions_stand_by_the_sample_alone(services, letter):
    shown = services.suggestions(LOCAL_OWNER)
    assert len(shown) == 3
    assert shown[0] == QUESTIONS["q01"]["question"]
    assert shown[2] == QUESTIONS["q11"]["question"]
    documents(services.ingest(LOCAL_OWNER, [letter]))
    assert services.suggestions(LOCAL_OWNER) == ()
    assert services.suggestions("somebody") == ()


def test_add_sample(open_services):
    services = open_services(empty=True)
    assert not services.has_sample(LOCAL_OWNER)
    assert documents(services.add_sample(LOCAL_OWNER))[0].filename == PDF.name
    assert services.has_sample(LOCAL_OWNER)


def test_pages_and_thumbnails_are_images(services):
    document = only(services)
    view = services.page_view(LOCAL_OWNER, document.id, 3, width=300)
    small = services.thumbnail(LOCAL_OWNER, document.id, 3)
    assert (view.page.number, view.document, view.message) == (3, document, "")
    assert view.mime.startswith("image/")
    assert 0 < len(small.data) < len(view.image)
    with pytest.raises(UsageError, match="Page 9 was not read"):
        services.page_view(LOCAL_OWNER, document.id, 9)


def test_a_page_without_its_file_still_shows_its_text(services):
    document = only(services)
    services.store.pdf_path(document.id).unlink()
    view = services.page_view(LOCAL_OWNER, document.id, 1)
    assert (view.image, view.page.number) == (b"", 1)
    assert view.message
    assert services.thumbnail(LOCAL_OWNER, document.id, 1).data == b""


def test_opening_clears_files_that_an_upload_left(open_services):
    folder = open_services(empty=True).workspace / "pdfs"
    folder.mkdir()
    old, new = folder / f"{'a' * 64}.pdf", folder / f"{'b' * 64}.pdf"
    for path in (old, new):
        path.write_bytes(b"%PDF")
    os.utime(old, (time.time() - 100_000,) * 2)
    open_services(empty=True)
    assert (old.exists(), new.exists()) == (False, True)


def test_an_unknown_strategy_is_told_before_anything_is_made(tmp_path):
    with pytest.raises(UsageError, match="no retriever called 'magic'"):
        Services(tmp_path / "workspace", BM25.changed("retrieval", retriever="magic"), FakeModels())
    assert not (tmp_path / "workspace").exists()


# ------------------------------------------------------------------ passages


@pytest.mark.parametrize(
    "chunking",
    [
        {"chunker": "paragraphs"}, {"chunker": "snippets"}, {"chunker": "snippets", "min_length": 40, "max_length": 90},
        {"chunker": "windows"}, {"chunker": "windows", "unit": "tokens", "size": 60, "step": 30},
    ],
)  # fmt: skip
def test_every_chunker_makes_passages_that_are_the_text_of_their_spans(services, chunking):
    settings = BM25.changed("chunking", **chunking)
    document = only(services)
    passages = services.passages(LOCAL_OWNER, settings)
    pages = {p.number: p for p in services.store.documents.pages(LOCAL_OWNER, document.id, "direct")}
    assert len(passages) > 10
    assert len({passage.id for passage in passages}) == len(passages)
    assert services.passage_counts(LOCAL_OWNER, settings) == {document.id: len(passages)}
    assert services.passages(LOCAL_OWNER, settings, [document.id]) == passages
    assert services.passages(LOCAL_OWNER, settings, ["other"]) == []
    for passage in passages:
        for span in passage.spans:
            assert pages[span.page].text[span.start : span.end] in passage.text
    assert all(passage.heading for passage in passages)


def test_without_headings(services):
    passages = services.passages(LOCAL_OWNER, BM25.changed("chunking", headings=False))
    assert {passage.heading for passage in passages} == {""}


@pytest.mark.parametrize(
    ("chunking", "name"),
    [
        ({}, "bm25 over windows of 120 words, step 60, with headings"),
        ({"headings": False}, "bm25 over windows of 120 words, step 60"),
        ({"chunker": "snippets", "length": 80}, "bm25 over snippets of 80 words, with headings"),
        (
            {"chunker": "snippets", "min_length": 40, "max_length": 90, "unit": "tokens"},
            "bm25 over snippets of 40 to 90 tokens, with headings",
        ),
        ({"chunker": "paragraphs"}, "bm25 over paragraphs, with headings"),
    ],
)
def test_the_name_of_a_recipe(chunking, name):
    assert Services.recipe_name(BM25.changed("chunking", **chunking)) == name


# ------------------------------------------------------------------ indexes


def test_search_before_the_index_is_built_is_told(services):
    assert not services.index_ready(LOCAL_OWNER, BM25)
    assert services.index_stats(LOCAL_OWNER, BM25) is None
    with pytest.raises(PdfQAError, match="not built yet") as raised:
        services.search(LOCAL_OWNER, METERS, BM25)
    assert raised.value.hint == "Build it first."


def test_building_makes_the_index_ready_and_search_finds_the_gold_page(services):
    steps = built(services)
    assert steps[-1].phase
    assert services.index_ready(LOCAL_OWNER, BM25)
    assert services.index_stats(LOCAL_OWNER, BM25).passages == len(services.passages(LOCAL_OWNER, BM25))
    hits = services.search(LOCAL_OWNER, METERS, BM25)
    assert [hit.rank for hit in hits] == [1, 2, 3, 4, 5]
    assert set(QUESTIONS["q03"]["pages"]) & set(hits[0].passage.pages)
    assert len(services.search(LOCAL_OWNER, METERS, BM25, k=2)) == 2
    assert built(services) == []


def test_an_empty_question_is_a_usage_error(services):
    built(services)
    with pytest.raises(UsageError, match="question is empty"):
        services.search(LOCAL_OWNER, " ", BM25)


@pytest.mark.parametrize("retriever", ["dense", "hybrid", "rrf"])
def test_the_retrievers_that_use_embeddings(services, retriever):
    settings = BM25.changed("retrieval", retriever=retriever)
    assert services.index_seconds(LOCAL_OWNER, settings) > 0
    steps = built(services, settings)
    assert services.index_seconds(LOCAL_OWNER, settings) == 0
    assert Progress("Embedding passages", 41, 41) in steps
    assert set(QUESTIONS["q03"]["pages"]) & {
        p for h in services.search(LOCAL_OWNER, METERS, settings) for p in h.passage.pages
    }


HYBRID = BM25.changed("retrieval", retriever="hybrid")


def encoded(services):
    """Return how many passages were embedded since the last call."""
    texts = services.models.encoder().encoded
    count = len(texts)
    texts.clear()
    return count


def test_adding_a_document_embeds_that_document_only(services, letter):
    built(services, HYBRID)
    assert encoded(services) == 41
    document = documents(services.ingest(LOCAL_OWNER, [letter]))[0]
    assert not services.index_ready(LOCAL_OWNER, HYBRID)
    built(services, HYBRID)
    assert encoded(services) == len(services.passages(LOCAL_OWNER, HYBRID, [document.id])) == 1
    assert services.search(LOCAL_OWNER, "granite", HYBRID)[0].passage.document_id == document.id


def test_an_index_is_found_again_by_the_next_program(open_services):
    first = open_services()
    built(first, HYBRID)
    hits = first.search(LOCAL_OWNER, METERS, HYBRID)
    first.close()
    second = open_services()
    assert not second.index_ready(LOCAL_OWNER, HYBRID)
    built(second, HYBRID)
    assert encoded(second) == 0
    assert second.search(LOCAL_OWNER, METERS, HYBRID) == hits


def test_a_removed_document_leaves_nothing_behind(services, letter):
    document = documents(services.ingest(LOCAL_OWNER, [letter]))[0]
    both = HYBRID, BM25
    for settings in both:
        built(services, settings)
    files = set((services.workspace / "indexes").rglob("*.np[yz]"))
    services.remove_document(LOCAL_OWNER, document.id)
    assert len(files - set((services.workspace / "indexes").rglob("*.np[yz]"))) == 3
    assert not services.store.pdf_path(document.id).exists()
    for settings in both:
        assert not services.index_ready(LOCAL_OWNER, settings)
        built(services, settings)
        assert document.id not in {
            h.passage.document_id for h in services.search(LOCAL_OWNER, "granite heat", settings)
        }
    encoded(services)
    documents(services.ingest(LOCAL_OWNER, [letter]))
    built(services, HYBRID)
    assert encoded(services) == 1


def test_another_chunker_makes_another_index(services):
    other = BM25.changed("chunking", chunker="paragraphs")
    built(services)
    assert not services.index_ready(LOCAL_OWNER, other)
    built(services, other)
    assert services.index_ready(LOCAL_OWNER, BM25)
    assert services.index_ready(LOCAL_OWNER, other)
    assert services.index_stats(LOCAL_OWNER, BM25).passages != services.index_stats(LOCAL_OWNER, other).passages
    assert len(list((services.workspace / "indexes").iterdir())) == 2


def test_settings_of_other_chunkers_and_of_search_keep_the_index(services):
    built(services)
    for same in (
        BM25.changed("chunking", length=99),
        BM25.changed("retrieval", k=9, k1=2),
        BM25.changed("llm", seed=9),
    ):
        assert services.index_ready(LOCAL_OWNER, same)
    assert not services.index_ready(LOCAL_OWNER, BM25.changed("chunking", step=40))


def test_tokens_of_another_encoder_make_other_passages(services):
    settings = BM25.changed("chunking", unit="tokens")
    built(services, settings)
    assert not services.index_ready(LOCAL_OWNER, settings.changed("retrieval", embedding_model="other"))


def test_a_scope_limits_the_hits(services, letter):
    document = documents(services.ingest(LOCAL_OWNER, [letter]))[0]
    built(services)
    hits = services.search(LOCAL_OWNER, "granite heat meters", BM25, document_ids=[document.id])
    assert {hit.passage.document_id for hit in hits} == {document.id}


def test_stopping_the_build_keeps_what_is_finished(services):
    steps = services.build_index(LOCAL_OWNER, HYBRID, run="page")
    next(steps)
    services.stop("page")
    with pytest.raises(StoppedError):
        list(steps)
    assert not services.index_ready(LOCAL_OWNER, HYBRID)
    built(services, HYBRID)
    assert services.index_ready(LOCAL_OWNER, HYBRID)


def test_only_so_many_indexes_stay_open(services):
    for step in range(50, 60):
        built(services, BM25.changed("chunking", step=step))
    ready = [services.index_ready(LOCAL_OWNER, BM25.changed("chunking", step=step)) for step in range(50, 60)]
    assert ready == [False] * 2 + [True] * 8


# ------------------------------------------------------------------ answers


def test_an_answer_is_told_and_stored(open_services, fake_llm):
    services = open_services(llm=fake_llm)
    fake_llm.enqueue(["All meters are read every 15 minutes."])
    events = asked(services, f" {METERS} ")
    assert Rewritten(METERS) in events
    retrieved = next(event for event in events if isinstance(event, Retrieved))
    assert "".join(event.text for event in events if isinstance(event, Token)).strip().endswith("15 minutes.")
    done, stored = events[-2:]
    assert isinstance(done, Done)
    assert done.answer == stored.turn.answer
    answer = stored.turn.answer
    assert (answer.text, answer.model, answer.reader, answer.stopped) == (
        "All meters are read every 15 minutes.", "fake", "generative", False,
    )  # fmt: skip
    assert (answer.hits, answer.settings_fingerprint) == (retrieved.hits, BM25.fingerprint())
    assert answer.citations[0].span.page == 4
    conversation = services.store.conversations.get(LOCAL_OWNER, stored.conversation_id)
    assert (conversation.title, conversation.turns) == (METERS, (stored.turn,))
    assert stored.turn.number == 1
    assert "15 minutes" in fake_llm.history[0][-1].content


def test_a_follow_up_is_rewritten_from_the_history(open_services):
    services = open_services(LITERAL)
    first = stored_of(asked(services, SCREEN))
    second = stored_of(asked(services, FOLLOW_UP, conversation_id=first.conversation_id))
    assert second.conversation_id == first.conversation_id
    assert second.turn.number == 2
    assert second.turn.question == FOLLOW_UP
    assert "drum screen" in second.turn.standalone_question
    assert stored_of(asked(services, FOLLOW_UP)).turn.standalone_question == FOLLOW_UP
    alone = LITERAL.changed("conversation", turns=0)
    third = stored_of(asked(services, FOLLOW_UP, alone, conversation_id=first.conversation_id))
    assert third.turn.standalone_question == FOLLOW_UP


def test_the_rewriter_that_asks_the_model(open_services, fake_llm):
    services = open_services(LITERAL.changed("conversation", rewriter="llm"), fake_llm)
    first = stored_of(asked(services, SCREEN))
    fake_llm.enqueue(["How often was the self-cleaning drum screen emptied?"])
    second = stored_of(asked(services, "How often was it emptied?", conversation_id=first.conversation_id))
    assert second.turn.standalone_question == "How often was the self-cleaning drum screen emptied?"
    assert SCREEN in fake_llm.history[0][-1].content


def test_the_last_turn_can_be_replaced_and_only_the_last(open_services):
    services = open_services(LITERAL)
    first = stored_of(asked(services, SCREEN))
    chat = first.conversation_id
    second = stored_of(asked(services, METERS, conversation_id=chat))
    with pytest.raises(UsageError, match="Only the last question"):
        asked(services, METERS, conversation_id=chat, replace_turn=first.turn.id)
    with pytest.raises(UsageError, match="Only the last question"):
        asked(services, METERS, replace_turn=second.turn.id)
    third = stored_of(asked(services, FOLLOW_UP, conversation_id=chat, replace_turn=second.turn.id))
    turns = services.store.conversations.get(LOCAL_OWNER, chat).turns
    assert [turn.id for turn in turns] == [first.turn.id, third.turn.id]
    assert third.turn.number == 2
    assert "drum screen" in third.turn.standalone_question


class StoppingLLM(FakeLLM):
    """Calls `act` after so many words."""

    def __init__(self, act, after=3):
        super().__init__()
        self.act, self.after, self.closed = act, after, False

    def complete(self, messages, **options):
        try:
            for number, word in enumerate(super().complete(messages, **options)):
                if number == self.after:
                    self.act()
                yield word
        finally:
            self.closed = True


WORDS = "All meters are read every 15 minutes and never at night."


def test_a_stopped_answer_is_kept_as_far_as_it_was_written(open_services):
    llm = StoppingLLM(lambda: services.stop("page"))
    llm.enqueue([WORDS])
    services = open_services(llm=llm)
    stored = stored_of(asked(services, METERS, run="page"))
    assert stored.turn.answer.stopped
    assert WORDS.startswith(stored.turn.answer.text)
    assert 0 < len(stored.turn.answer.text) < len(WORDS)
    assert services.store.conversations.get(LOCAL_OWNER, stored.conversation_id).turns == (stored.turn,)


def test_stop_of_another_run_does_not_matter(open_services):
    llm = StoppingLLM(lambda: services.stop("another page"))
    llm.enqueue([WORDS])
    services = open_services(llm=llm)
    assert stored_of(asked(services, METERS, run="page")).turn.answer.text == WORDS


def test_an_abandoned_answer_is_kept_and_frees_model_and_name(open_services):
    llm = StoppingLLM(lambda: None)
    llm.enqueue([WORDS, WORDS])
    services = open_services(llm=llm)
    events = services.answer(LOCAL_OWNER, METERS, BM25, run="page")
    while not isinstance(event := next(events), Token):
        pass
    with pytest.raises(PdfQAError, match="still busy"):
        next(services.answer(LOCAL_OWNER, METERS, BM25, run="page"))
    events.close()
    assert llm.closed
    (summary,) = services.store.conversations.list(LOCAL_OWNER)
    (turn,) = services.store.conversations.get(LOCAL_OWNER, summary.id).turns
    assert (turn.answer.text, turn.answer.stopped) == (event.text.strip(), True)
    assert (turn.answer.reader, turn.answer.model) == ("generative", "fake")
    assert turn.answer.hits
    assert stored_of(asked(services, METERS, run="page")).turn.answer.text == WORDS


def test_an_answer_abandoned_before_its_first_word_leaves_nothing(open_services):
    services = open_services(LITERAL)
    events = services.answer(LOCAL_OWNER, METERS, LITERAL, run="page")
    while not isinstance(next(events), Retrieved):
        pass
    events.close()
    assert services.store.conversations.list(LOCAL_OWNER) == ()


def test_stop_while_the_index_is_built_ends_the_answer(open_services):
    services = open_services(LITERAL.changed("retrieval", retriever="hybrid"))
    found = []
    for event in services.answer(LOCAL_OWNER, METERS, services.settings, run="page"):
        found.append(event)
        services.stop("page")
    assert found[-1].turn.answer.stopped
    assert found[-1].turn.answer.hits == ()
    assert not services.index_ready(LOCAL_OWNER, services.settings)


def test_stop_while_the_model_is_loaded_keeps_the_evidence(open_services):
    class Loading(FakeLLM):
        def prepare(self, stop):
            yield Progress("loading")
            services.stop()
            raise StoppedError("Loading was stopped.")

    services = open_services(llm=Loading())
    stored = stored_of(asked(services, METERS))
    assert (stored.turn.answer.stopped, stored.turn.answer.text, len(stored.turn.answer.hits)) == (True, "", 5)


def test_what_was_written_before_a_failure_is_kept(open_services):
    def fail():
        raise PdfQAError("The server went away.")

    llm = StoppingLLM(fail)
    llm.enqueue([WORDS])
    services = open_services(llm=llm)
    with pytest.raises(PdfQAError, match="went away"):
        asked(services, METERS, run="page")
    (summary,) = services.store.conversations.list(LOCAL_OWNER)
    answer = services.store.conversations.get(LOCAL_OWNER, summary.id).turns[0].answer
    assert answer.stopped
    assert WORDS.startswith(answer.text)


def test_a_conversation_keeps_to_its_documents_unless_told_otherwise(services, letter):
    document = documents(services.ingest(LOCAL_OWNER, [letter]))[0]
    first = stored_of(asked(services, "Where is granite sold?", LITERAL, document_ids=[document.id]))
    chat = first.conversation_id
    assert services.store.conversations.get(LOCAL_OWNER, chat).document_ids == (document.id,)
    alone = LITERAL.changed("conversation", rewriter="none")
    second = stored_of(asked(services, METERS, alone, conversation_id=chat))
    assert {hit.passage.document_id for hit in second.turn.answer.hits} <= {document.id}
    third = stored_of(asked(services, METERS, alone, conversation_id=chat, document_ids=()))
    assert third.turn.answer.hits[0].passage.document_id != document.id


def test_a_refusal_is_stored_with_its_evidence(open_services):
    services = open_services(LITERAL.changed("reading", confidence_threshold=1))
    answer = stored_of(asked(services, QUESTIONS["q14"]["question"])).turn.answer
    assert answer.refused
    assert answer.hits
    assert answer.confidence < 1


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_is_not_asked(services, question):
    with pytest.raises(UsageError, match="question is empty"):
        asked(services, question)


def test_without_documents_there_is_nothing_to_ask(open_services):
    services = open_services(empty=True)
    with pytest.raises(PdfQAError, match="no documents to ask about"):
        asked(services, METERS)
    asked_twice = services.answer(LOCAL_OWNER, METERS, BM25, run="page")
    with pytest.raises(PdfQAError, match="no documents to ask about"):
        list(asked_twice)


def test_without_a_model_the_answer_is_literal_and_says_so(services):
    answer = stored_of(asked(services, METERS)).turn.answer
    assert answer.reader == "extractive"
    assert "every 15 minutes" in answer.text
    assert len(answer.notes) == 1
    assert "there is no language model: There is no language model. Install one." in answer.notes[0]


def test_a_model_that_did_not_load_is_not_asked(open_services, fake_llm):
    status = ModelStatus("missing", "no language model", "The file is damaged.")
    settings = LITERAL.changed("conversation", rewriter="llm")
    services = open_services(settings, fake_llm, status=status)
    assert stored_of(asked(services, METERS, BM25)).turn.answer.notes[0].endswith("The file is damaged.")
    first = stored_of(asked(services, SCREEN))
    assert first.turn.answer.notes == ()
    second = stored_of(asked(services, FOLLOW_UP, conversation_id=first.conversation_id))
    assert "drum screen" in second.turn.standalone_question
    assert "Completed with words" in second.turn.answer.notes[0]
    assert fake_llm.history == []


def test_the_study_of_a_turn_is_made_once(open_services):
    services = open_services(LITERAL)
    first = stored_of(asked(services, METERS))
    second = stored_of(asked(services, SCREEN, conversation_id=first.conversation_id))
    study = services.study_of(LOCAL_OWNER, first.conversation_id, first.turn.id)
    assert (study.name, study.turn_ids) == (METERS, (first.turn.id, second.turn.id))
    assert services.study_of(LOCAL_OWNER, first.conversation_id, second.turn.id) == study
    other = stored_of(asked(services, METERS))
    assert services.study_of(LOCAL_OWNER, other.conversation_id, other.turn.id).name == f"{METERS} (2)"


def test_a_long_question_makes_a_short_title(open_services):
    services = open_services(LITERAL)
    stored = stored_of(asked(services, "meters " * 40))
    title = services.store.conversations.get(LOCAL_OWNER, stored.conversation_id).title
    assert len(title) < 60
    assert title.endswith("…")


# ------------------------------------------------------------------ owners and the demo


def test_owners_do_not_see_each_other(open_services, letter):
    services = open_services(LITERAL)
    documents(services.ingest("visitor-a", [letter]))
    sample, theirs = only(services), only(services, "visitor-a")
    built(services, LITERAL)
    built(services, LITERAL, "visitor-a")
    mine = stored_of(asked(services, METERS))
    for call in (services.original, services.remove_document):
        with pytest.raises(UsageError, match="no document"):
            call("visitor-a", sample.id)
    for call in (services.page_view, services.thumbnail):
        with pytest.raises(UsageError, match="no document"):
            call("visitor-a", sample.id, 1)
    with pytest.raises(UsageError, match="no such conversation"):
        asked(services, METERS, owner="visitor-a", conversation_id=mine.conversation_id)
    assert {p.document_id for p in services.passages("visitor-a", LITERAL)} == {theirs.id}
    hits = services.search("visitor-a", METERS + " granite", LITERAL, document_ids=[sample.id, theirs.id])
    assert {hit.passage.document_id for hit in hits} == {theirs.id}
    assert services.search("visitor-a", METERS, LITERAL, document_ids=[sample.id]) == []
    with pytest.raises(UsageError, match=r"no document 'harbour-heat\.pdf'"):
        services.document_ids("visitor-a", ["harbour-heat.pdf"])
    roots = [path for path in services.workspace.rglob("indexes") if path.is_dir()]
    assert len(roots) == 2
    services.remove_document("visitor-a", theirs.id)
    assert services.index_ready(LOCAL_OWNER, LITERAL)


def test_visitors_may_keep_so_much(open_services, letter, tmp_path):
    services = open_services(BM25.changed("server", demo=True, visitor_mb=1), empty=True)
    document = documents(services.ingest("visitor-a", [letter]))[0]
    big = tmp_path / "big.pdf"
    big.write_bytes(b"%PDF" + b"x" * (1_000_000 - letter.stat().st_size))
    with pytest.raises(PdfQAError, match="may keep 1 MB") as raised:
        list(services.ingest("visitor-a", [big]))
    assert raised.value.hint
    assert [d.filename for d in services.store.documents.list("visitor-a")] == ["letter.pdf"]
    smaller = tmp_path / "smaller.pdf"
    smaller.write_bytes(big.read_bytes()[:-5])
    assert len(documents(services.ingest("visitor-a", [smaller]))) == 1
    # What is there already takes no more room.
    again = services.original("visitor-a", document.id)
    assert documents(services.ingest("visitor-a", [again, letter], again=True))[0].filename == "letter.pdf"


def test_the_owner_of_the_computer_has_no_such_limit(open_services, tmp_path):
    services = open_services(BM25.changed("server", visitor_mb=1), empty=True)
    big = tmp_path / "big.pdf"
    big.write_bytes(b"%PDF" + b"x" * 1_500_000)
    assert documents(services.ingest(LOCAL_OWNER, [big]))[0].state is DocumentState.BROKEN


def test_idle_visitors_are_removed_with_everything(open_services, letter):
    services = open_services(LITERAL.changed("server", demo=True, visitor_hours=1))
    documents(services.ingest("visitor-new", [letter]))
    old = datetime.now(UTC) - timedelta(hours=2)
    sample = only(services)
    for owner in ("visitor-old", LOCAL_OWNER):
        services.store.documents.add(Document(sample.id, "t", "harbour-heat.pdf", 8, old, owner))
    for owner in ("visitor-old", "visitor-new"):
        built(services, LITERAL, owner)
    assert len(list((services.workspace / "visitors").iterdir())) == 2
    assert services.purge_visitors() == ("visitor-old",)
    assert services.store.documents.list("visitor-old") == ()
    assert not services.index_ready("visitor-old", LITERAL)
    assert len(list((services.workspace / "visitors").iterdir())) == 1
    assert services.index_ready("visitor-new", LITERAL)
    assert services.store.pdf_path(sample.id).exists()
    assert [d.filename for d in services.store.documents.list(LOCAL_OWNER)] == ["harbour-heat.pdf"]


def test_nobody_is_removed_outside_a_demo(open_services):
    services = open_services(LITERAL.changed("server", visitor_hours=1))
    old = datetime.now(UTC) - timedelta(days=9)
    services.store.documents.add(Document("a" * 64, "t", "t.pdf", 1, old, "visitor-old"))
    assert services.purge_visitors() == ()
    assert len(services.store.documents.list("visitor-old")) == 1


def test_closing_stops_what_runs_and_frees_the_models(open_services):
    llm = StoppingLLM(lambda: None, after=0)
    llm.enqueue([WORDS])
    services = open_services(llm=llm)
    events = services.answer(LOCAL_OWNER, METERS, BM25)
    while not isinstance(next(events), Token):
        pass
    services.stop()
    assert stored_of(list(events)).turn.answer.stopped
    services.close()
    assert services.models.closed


def test_a_strategy_is_registered_under_every_name_that_is_offered():
    assert Services.names("extractor") == extractors.names()


def test_a_source_brings_its_own_name(open_services, letter):
    services = open_services(empty=True)
    found = documents(services.ingest(LOCAL_OWNER, [Source(letter, "Upload of Ann.pdf")]))
    assert found[0].filename == "Upload of Ann.pdf"
