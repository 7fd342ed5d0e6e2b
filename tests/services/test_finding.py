"""Finding by words in documents and conversations: what is found and marked, and for whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.reading.declining import NOT_ANSWERED
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.found_words import excerpt, has_all, marked, phrases_of, places
from pdfqa_core.services.readings import name_of
from pdfqa_core.types import Answer, Block, BlockKind, Document, Page, Turn
from tests.services.helpers import LITERAL, METERS, asked, built, only, only_id, store_of, stored_of
from tests.serving_fakes import PDF

VISITOR = "visitor-one"


def hits(parts):
    return [text for text, hit in parts if hit]


def whole(parts):
    return "".join(text for text, _ in parts)


# ------------------------------------------------------------ words in texts


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("heat", ["Heat", "heating"]),
        ('"heat"', ["Heat"]),
        ("WARME", ["Wärme"]),
        ("sea-water", ["sea water"]),
        ('"sea water heat', []),
        ("report 2023", ["report", "2023"]),
        ("ea", []),
        ("", []),
    ],
)
def test_words_are_found_where_they_begin(query, found):
    text = "Heat and heating, Wärme from sea water: annual_report_2023.pdf"
    assert [text[a:b] for a, b in places(text, phrases_of(query))] == found


def test_all_words_have_to_be_there():
    assert has_all("Two winters of heat", phrases_of("heat two"))
    assert not has_all("Two winters of heat", phrases_of("heat summer"))
    assert not has_all("Two winters of heat", phrases_of(" - "))


def test_a_piece_of_a_text_is_cut_around_most_of_the_words():
    text = "heat " + "filler word " * 60 + "the pump gives heat to the town " + "more filler " * 60
    parts = excerpt(text, phrases_of("heat pump"))
    assert hits(parts) == ["pump", "heat"]
    assert whole(parts).startswith("… ")
    assert whole(parts).endswith(" …")
    assert len(whole(parts)) < 260
    assert whole(marked("Wärme &\n Licht", phrases_of("licht"))) == "Wärme & Licht"


# ------------------------------------------------------------ documents


def test_pages_are_found_with_their_words_marked(services):
    found = services.finding.find(LOCAL_OWNER, "every 15 minutes")
    (document,) = found.documents
    assert document.id == only(services).id
    assert "15" in hits(document.pages[0].parts)
    page = services.documents.page(LOCAL_OWNER, document.id, "direct", document.pages[0].number)
    assert "every 15 minutes" in " ".join(page.text.split())


def test_a_name_is_found_and_comes_first(services, letter):
    list(services.documents.ingest(LOCAL_OWNER, [letter]))
    found = services.finding.find(LOCAL_OWNER, "HARBOUR")
    assert hits(found.documents[0].title) == ["Harbour"]
    assert hits(found.documents[0].filename) == ["harbour"]
    assert [whole(one.filename) for one in services.finding.find(LOCAL_OWNER, "letter").documents] == ["letter.pdf"]
    assert services.finding.find(LOCAL_OWNER, "granite harbour").documents == ()


def test_a_removed_document_is_found_no_more_and_its_words_are_gone(services, letter):
    list(services.documents.ingest(LOCAL_OWNER, [letter]))
    assert services.finding.find(LOCAL_OWNER, "granite").documents
    removed = only_id(services, "letter.pdf")
    services.documents.remove(LOCAL_OWNER, removed)
    assert not services.finding.find(LOCAL_OWNER, "granite").documents
    assert removed not in {document_id for document_id, *_ in services.finding._texts.known()}


def test_text_that_cannot_be_seen_is_not_found(services):
    page = Page("d" * 64, 1, "1", 595, 842, "seen unseen", (), (Block(0, 4), Block(5, 11, BlockKind.HIDDEN)))
    document = replace(only(services), id="d" * 64, title="Other", filename="other.pdf", page_count=1)
    with store_of(services) as store:
        store.documents.add(document, name_of(LITERAL.extraction), [page])
    assert [one.id for one in services.finding.find(LOCAL_OWNER, "seen").documents][:1] == ["d" * 64]
    assert "d" * 64 not in [one.id for one in services.finding.find(LOCAL_OWNER, "unseen").documents]


# ------------------------------------------------------------ conversations


def test_questions_answers_and_titles_are_found(services):
    built(services)
    stored = stored_of(asked(services, METERS, LITERAL))
    services.conversations.rename(LOCAL_OWNER, stored.conversation_id, "About metering")
    by_question = services.finding.find(LOCAL_OWNER, "how often meters").conversations
    assert [one.turns[0].id for one in by_question] == [stored.turn.id]
    assert hits(by_question[0].turns[0].question) == ["How", "often", "meters"]
    by_answer = services.finding.find(LOCAL_OWNER, '"every 15 minutes"').conversations
    assert hits(by_answer[0].turns[0].answer) == ["every 15 minutes"]
    by_title = services.finding.find(LOCAL_OWNER, "metering").conversations
    assert hits(by_title[0].title) == ["metering"]
    services.conversations.delete(LOCAL_OWNER, stored.conversation_id)
    assert services.finding.find(LOCAL_OWNER, "meters").conversations == ()


def test_a_refusal_is_found_by_the_words_that_are_shown(services):
    built(services)
    stored = stored_of(asked(services, "Zebras on the moon of Neptune?", LITERAL))
    assert stored.turn.answer.refused
    (found,) = services.finding.find(LOCAL_OWNER, "zebras").conversations
    assert whole(found.turns[0].answer) == NOT_ANSWERED
    assert services.finding.find(LOCAL_OWNER, '"insufficient context"').conversations == ()


# ------------------------------------------------------------ owners


def test_nothing_of_another_owner_is_found(services, letter):
    built(services)
    asked(services, METERS, LITERAL)
    assert services.finding.find(VISITOR, "meters") == type(services.finding.find(VISITOR, ""))()
    list(services.documents.ingest(VISITOR, [letter]))
    assert [whole(one.filename) for one in services.finding.find(VISITOR, "the").documents] == ["letter.pdf"]
    assert services.finding.find(LOCAL_OWNER, "granite").documents == ()


def test_two_owners_of_a_document_find_it_each_until_they_remove_it(services):
    list(services.documents.ingest(VISITOR, [PDF]))
    assert services.finding.find(VISITOR, "meters").documents
    services.documents.remove(VISITOR, only(services).id)
    assert not services.finding.find(VISITOR, "meters").documents
    assert services.finding.find(LOCAL_OWNER, "meters").documents


def test_what_nobody_has_any_more_is_cleared_away(services, letter):
    list(services.documents.ingest(VISITOR, [letter]))
    services.finding.find(VISITOR, "granite")
    services.finding.find(LOCAL_OWNER, "heat")
    with store_of(services) as store:
        store.owners.remove(VISITOR)
    services.finding.tidy()
    assert {document_id for document_id, *_ in services.finding._texts.known()} == {only(services).id}


# ------------------------------------------------------------ many


def test_documents_and_answers_beyond_those_shown_are_counted(services):
    added_at = only(services).added_at
    with store_of(services) as store:
        for n in range(12):
            key = f"{n:064x}"
            pages = [Page(key, p, str(p), 595, 842, f"heat of pump {p}") for p in range(1, 8)]
            document = Document(key, f"Report {n}", f"r{n}.pdf", len(pages), added_at, LOCAL_OWNER)
            store.documents.add(document, name_of(LITERAL.extraction), pages)
        conversation = store.conversations.create(LOCAL_OWNER, "Talk")
        for n in range(30):
            turn = Turn(f"t{n}", 0, f"What of pump {n}?", "", Answer("The pump heats."))
            store.conversations.append_turn(LOCAL_OWNER, conversation.id, turn)
    found = services.finding.find(LOCAL_OWNER, "pump heat")
    assert len(found.documents) + found.more_documents == 13
    assert {len(one.pages) + one.more for one in found.documents if one.id.startswith("0000")} == {7}
    (talk,) = [one for one in found.conversations if whole(one.title) == "Talk"]
    assert len(talk.turns) + talk.more == 30
