"""Finding by words in documents and conversations: what is found and marked, and for whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.finding import phrases_of, places
from pdfqa_core.services.readings import name_of
from pdfqa_core.types import Block, BlockKind, Page
from tests.services.helpers import LITERAL, METERS, asked, built, only, store_of, stored_of

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


# ------------------------------------------------------------ documents


def test_pages_are_found_with_their_words_marked(services):
    found = services.index.finding.find(LOCAL_OWNER, "every 15 minutes")
    (document,) = found.documents
    assert document.id == only(services).id
    assert "15" in hits(document.pages[0].parts)
    page = services.documents.kept.page(LOCAL_OWNER, document.id, "direct", document.pages[0].number)
    assert "every 15 minutes" in " ".join(page.text.split())


def test_text_that_cannot_be_seen_is_not_found(services):
    page = Page("d" * 64, 1, "1", 595, 842, "seen unseen", (), (Block(0, 4), Block(5, 11, BlockKind.HIDDEN)))
    document = replace(only(services), id="d" * 64, title="Other", filename="other.pdf", page_count=1)
    with store_of(services) as store:
        store.documents.add(document, name_of(LITERAL.extraction), [page])
    assert [one.id for one in services.index.finding.find(LOCAL_OWNER, "seen").documents][:1] == ["d" * 64]
    assert "d" * 64 not in [one.id for one in services.index.finding.find(LOCAL_OWNER, "unseen").documents]


# ------------------------------------------------------------ conversations


def test_questions_answers_and_titles_are_found(services):
    built(services)
    stored = stored_of(asked(services, METERS, LITERAL))
    services.answers.conversations.rename(LOCAL_OWNER, stored.conversation_id, "About metering")
    by_question = services.index.finding.find(LOCAL_OWNER, "how often meters").conversations
    assert [one.turns[0].id for one in by_question] == [stored.turn.id]
    assert hits(by_question[0].turns[0].question) == ["How", "often", "meters"]
    by_answer = services.index.finding.find(LOCAL_OWNER, '"every 15 minutes"').conversations
    assert hits(by_answer[0].turns[0].answer) == ["every 15 minutes"]
    by_title = services.index.finding.find(LOCAL_OWNER, "metering").conversations
    assert hits(by_title[0].title) == ["metering"]
    services.answers.conversations.delete(LOCAL_OWNER, stored.conversation_id)
    assert services.index.finding.find(LOCAL_OWNER, "meters").conversations == ()


# ------------------------------------------------------------ owners


def test_nothing_of_another_owner_is_found(services, letter):
    built(services)
    asked(services, METERS, LITERAL)
    assert services.index.finding.find(VISITOR, "meters") == type(services.index.finding.find(VISITOR, ""))()
    list(services.documents.ingest(VISITOR, [letter]))
    assert [whole(one.filename) for one in services.index.finding.find(VISITOR, "the").documents] == ["letter.pdf"]
    assert services.index.finding.find(LOCAL_OWNER, "granite").documents == ()


# ------------------------------------------------------------ many
