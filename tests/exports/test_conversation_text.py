"""Conversations for people to read: nothing of a PDF or a model becomes markup, and every marker has its page."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.exports.conversations import (
    conversations_markdown,
    escape,
    footnotes,
    summary,
    support_counts,
    turn_text,
    unfound_numbers,
    written_by,
)
from pdfqa_core.reading.outcomes import NOT_ANSWERED
from pdfqa_core.types import Answer, CheckedSentence, Citation, Conversation, Hit, Passage, Span, Support, Turn
from tests.storage.conftest import NOW, turn

DOCUMENT = "d" * 64
NAMES = {DOCUMENT: "a_report [2023].pdf"}
TEXT = "It costs $5. It <b>is</b> ![free](http://evil.test/x.png)."
ANSWER = Answer(
    TEXT,
    citations=(
        Citation(1, "p1", Span(DOCUMENT, 7, 0, 9), "The price\nis *five* dollars.", True, 0, 12),
        Citation(2, "p2", Span(DOCUMENT, 9, 0, 9), "# Free", False, 13, len(TEXT)),
        Citation(1, "p1", Span(DOCUMENT, 7, 0, 9), "The price\nis *five* dollars.", True, 13, len(TEXT)),
    ),
    sentences=(
        CheckedSentence(0, 12, Support.SUPPORTED),
        CheckedSentence(13, len(TEXT), Support.NOT_FOUND, numbers=((14, 15),)),
    ),
    reader="generative",
    model="fake_7B",
)
TURN = Turn("t", 1, "What does *it* cost?", "What does the *pump* cost?", ANSWER)


def rendered(markdown: str) -> str:
    """Return the text that a reader sees, with all tags left out."""
    markdown_it = pytest.importorskip("markdown_it")
    reader = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return html.unescape(re.sub(r"</?p>", "", reader.render(markdown)))


def test_a_copied_answer_has_its_references():
    text = TURN.answer.text
    assert turn_text(TURN, NAMES).splitlines() == [
        f"{text[:12]} [1]{text[12:]} [2] [1]".replace(" [2] [1]", " [1] [2]"),
        "",
        "[1] a_report [2023].pdf, p. 7: “The price is *five* dollars.”",
        "[2] a_report [2023].pdf, p. 9: “# Free”",
    ]


def test_a_copied_refusal_names_the_nearest_passages():
    refused = turn("t", "first", "second")
    refused = replace(refused, answer=replace(refused.answer, text="Insufficient context.", refused=True))
    assert turn_text(refused, {}).splitlines() == [
        NOT_ANSWERED, "", "The nearest passages:", "", "[1] a document that was removed, p. 1",
        "[2] a document that was removed, p. 2",
    ]  # fmt: skip
    near = Citation(1, "p1", Span(DOCUMENT, 3, 0, 9), "Nearly\nthis.", False)
    closest = replace(refused, answer=replace(refused.answer, nearest=near))
    assert turn_text(closest, NAMES).splitlines()[2] == "Closest: “Nearly this.” (a_report [2023].pdf, p. 3)"


LINES = Citation(2, "p2", Span(DOCUMENT, 3, 0, 9), "Nearly\n*this*.", False)
PERHAPS = replace(ANSWER, perhaps=True, nearest=LINES)
STANDS = "It may stand here: “Nearly *this*.” (a_report [2023].pdf, p. 3)"
CAUTION = "Not sure that this answers the question: read the lines before you rely on it."


def test_an_answer_that_is_not_sure_is_copied_behind_its_lines():
    lines = turn_text(replace(TURN, answer=PERHAPS), NAMES).split("\n\n")
    assert lines[:2] == [STANDS, "In the model's words:"]
    assert lines[2].startswith("It costs $5. [1]")
    assert lines[3] == CAUTION
    assert lines[4].startswith("[1] a_report [2023].pdf, p. 7")
    alone = replace(PERHAPS, text="Nearly *this*.", sentences=())
    assert turn_text(replace(TURN, answer=alone), NAMES) == f"{STANDS}\n\n{CAUTION}"


@pytest.mark.parametrize(
    ("reader", "model", "words"),
    [
        ("extractive", "", "quoted from the pages, not written by a model"),
        ("generative", "tiny", "written by tiny"),
        ("generative", "", "written by a model"),
        ("", "tiny", "written by tiny"),
        ("", "", ""),
    ],
)
def test_who_wrote_an_answer_is_said_in_words(reader: str, model: str, words: str):
    answer = Answer("Five.", reader=reader, model=model)
    assert written_by(answer) == words
    assert summary(answer).casefold().rstrip(".") == words


def test_markdown_shows_the_words_and_renders_nothing_of_them():
    data = conversations_markdown([Conversation("c", "Prices\n# of it", NOW, "me", (DOCUMENT,), (TURN,))], NAMES)
    shown = rendered(data.decode())
    for words in (
        "<h1>Prices # of it</h1>",
        "about a_report [2023].pdf",
        "<h2>1. What does *it* cost?</h2>",
        "Searched for: “What does the *pump* cost?”",
        "![free](http://evil.test/x.png)",
        "<li>[1] a_report [2023].pdf, p. 7: “The price is *five* dollars.” (the passage says this)</li>",
        "2 sentences: the passages say 1, 1 not found in the passages; 1 number not found in the cited passages",
        "; written by fake_7B.",
    ):
        assert words in shown.replace("<em>", "").replace("</em>", "")
    assert "<img" not in rendered(data.decode())
    assert "\\<b\\>" in data.decode()


@pytest.mark.parametrize(
    "text",
    [
        "# heading", "a\n===", "a\n---", "- item", "1. item", "12) item", "    code", "```\ncode", "> quote", "![a](b)",
        "[a](b)", "[a]: b", "<script>alert(1)</script>", "&lt;", "*a* _b_ ~~c~~ `d`", "\\*", "| a |\n| --- |", "a\n\tb",
        "https://evil.test", "<https://evil.test>",
    ],
)  # fmt: skip
def test_what_could_be_markup_stays_words(text: str):
    assert re.sub(r"\s+", " ", rendered(escape(text))).strip() == re.sub(r"\s+", " ", text).strip()
    assert rendered(escape(text)).count("<") == text.count("<")


def test_bare_addresses_do_not_become_links_on_github():
    assert escape("see https://a.test or www.a.test") == "see https\\://a.test or www\\.a.test"


@given(st.text(st.sampled_from("ab1 \n\t#*_-+=.:)>`[]()!<&;|\\~x/"), max_size=40))
def test_any_text_stays_as_it_is(text: str):
    assert re.sub(r"\s+", "", rendered(escape(text))) == re.sub(r"\s+", "", text)


def test_words_on_how_much_is_supported():
    assert support_counts(ANSWER) == "2 sentences: the passages say 1, 1 not found in the passages"
    assert support_counts(replace(ANSWER, sentences=ANSWER.sentences[:1])) == "1 sentence: the passage says this"
    assert (support_counts(Answer("A.")), unfound_numbers(Answer("A."))) == ("", "")
    several = CheckedSentence(0, 1, Support.PARTLY, numbers=((0, 1), (2, 3)))
    assert support_counts(Answer("A.", sentences=(several,))) == ""
    assert support_counts(Answer("A.", sentences=(several, ANSWER.sentences[0]))) == "2 sentences: the passages say 1"
    assert support_counts(replace(ANSWER, reader="extractive")) == support_counts(PERHAPS) == ""
    assert unfound_numbers(Answer("A.", sentences=(several,))) == "2 numbers not found in the cited passages"


TABLE = "Fees\n\n| | Monthly fee | Deductible |\n| --- | --- | --- |\n| Basic | $ 10 | $ 100 |\n| Plus | | $ 300 |"
NAMED = "under “| Monthly fee | Deductible”"


def of_rows(*quotes: str) -> Answer:
    """Return an answer that quotes lines of the table, each behind a letter."""
    text = "".join("ABCDEF"[: len(quotes)])
    hit = Hit(Passage("p", (Span(DOCUMENT, 2, 0, len(TABLE)),), TABLE), 1.0, 1, "bm25")
    places = enumerate(quotes, start=1)
    return Answer(text, tuple(Citation(1, "p", Span(DOCUMENT, 2, 0, 9), one, True, 0, n) for n, one in places), (hit,))


def test_rows_of_a_table_stand_with_the_names_of_their_columns():
    lines = TABLE.splitlines()
    answer = of_rows(lines[-2], lines[-1], "Fees", "\n".join(lines[2:5]), "| Gone | $ 1 | $ 2 |")
    assert [one.source() for one in footnotes(answer, NAMES)] == [
        f"a_report [2023].pdf, p. 2: {said}"
        for said in (
            f"“Basic | $ 10 | $ 100” {NAMED}", f"“Plus | | $ 300” {NAMED}", "“Fees”",
            "“Monthly fee | Deductible Basic | $ 10 | $ 100”", "“Gone | $ 1 | $ 2”",
        )
    ]  # fmt: skip
    asked = Turn("t", 1, "Which fees?", "Which fees?", answer)
    shown = rendered(conversations_markdown([Conversation("c", "Fees", NOW, "me", (), (asked,))], NAMES).decode())
    assert f"“Basic | $ 10 | $ 100” {NAMED}" in shown
    refused = replace(answer, text="", refused=True, nearest=answer.citations[0])
    assert f"Closest: “Basic | $ 10 | $ 100” {NAMED} (a_report [2023].pdf, p. 2)" in turn_text(
        replace(asked, answer=refused), NAMES
    )
