"""Conversations as a web page, as a Word file and as Markdown with pictures."""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import replace
from html.parser import HTMLParser

import docx
import pytest

from pdfqa_core.exports.citing import Author, Source
from pdfqa_core.exports.conversations import (
    PagePicture,
    conversations_html,
    conversations_markdown,
    conversations_word,
    markdown_zip,
)
from pdfqa_core.exports.frames import conversation_row
from pdfqa_core.json_codec import decode
from pdfqa_core.reading.outcomes import NOT_ANSWERED
from pdfqa_core.types import Answer, Citation, Conversation, Span
from tests.exports.test_conversation_text import (
    DOCUMENT,
    NAMES,
    PERHAPS,
    TURN,
)
from tests.storage.conftest import NOW, turn

FACTS = ("a_report [2023].pdf, p. 7: “The price is *five* dollars.”", "a_report [2023].pdf, p. 9: “# Free”")


@pytest.fixture(scope="module")
def jpeg():
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (90, 120), "orange").save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.fixture
def pictures(jpeg):
    return {
        "t": (
            PagePicture("a_report [2023].pdf, p. 7", "pages/001.jpg", jpeg),
            PagePicture("a_report [2023].pdf, p. 9", message="The page image needs the password."),
        )
    }


def refusal():
    asked = turn("r", "first", "second", document_id=DOCUMENT)
    near = Citation(2, "p2", Span(DOCUMENT, 2, 0, 6), "Nearly\nthis.", False)
    answer = replace(asked.answer, text="Insufficient context.", refused=True, nearest=near)
    return replace(asked, answer=answer, number=2)


TALK = Conversation("c", "Prices <of> it", NOW, "me", (DOCUMENT,), (TURN, refusal()))


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page.decode())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_the_web_page_is_one_file_with_pictures_and_working_markers(pictures):
    page = Tags(conversations_html([TALK], NAMES, pictures))
    (image,) = [attributes["src"] for tag, attributes in page.tags if tag == "img"]
    assert image.startswith("data:image/jpeg;base64,/9j/")
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    links = {attributes["href"] for tag, attributes in page.tags if tag == "a"}
    assert links
    assert links <= {f"#{one}" for one in ids}
    for fact in FACTS:
        assert fact in page.text
    assert "(the passage says this)" in page.text
    assert "Prices <of> it" in page.text
    assert "The page image needs the password." in page.text
    assert f"Not answered. {NOT_ANSWERED}" in page.text
    assert "Closest: “Nearly this.” (a_report [2023].pdf, p. 2)" in page.text
    assert not re.search(rb"""(?:src|href)=["'](?!data:|#)""", conversations_html([TALK], NAMES, pictures))


def test_the_word_file_opens_and_holds_the_same(pictures):
    opened = docx.Document(io.BytesIO(conversations_word([TALK, TALK], NAMES, pictures)))
    texts = [paragraph.text for paragraph in opened.paragraphs]
    headings = [p.text for p in opened.paragraphs if p.style.name.startswith("Heading")]
    assert headings[:3] == ["Prices <of> it", "1. What does *it* cost?", "2. What is it?"]
    for number, fact in zip((1, 2), FACTS, strict=True):
        assert any(text.startswith(f"[{number}] {fact}") for text in texts)
    assert f"Not answered. {NOT_ANSWERED}" in texts
    assert len(opened.inline_shapes) == 2
    raised = [run.text for p in opened.paragraphs for run in p.runs if run.font.superscript]
    assert raised[:3] == ["[1]", "[1]", "[2]"]
    assert any("needs the password" in text for text in texts)


def test_a_word_file_takes_any_text():
    odd = replace(TURN, question="\x00a\x1b b \ud800 c\ufffe", answer=Answer("", stopped=True))
    opened = docx.Document(io.BytesIO(conversations_word([replace(TALK, title="", turns=(odd,))], {}, {})))
    assert [p.text for p in opened.paragraphs][:1] == ["Conversation"]
    assert "No answer." in [p.text for p in opened.paragraphs]


def test_markdown_names_the_pictures_that_lie_beside_it(pictures, jpeg):
    with zipfile.ZipFile(io.BytesIO(markdown_zip([TALK], NAMES, pictures))) as packed:
        assert packed.testzip() is None
        assert packed.read("pages/001.jpg") == jpeg
        text = packed.read("conversation.md").decode()
    assert "![a\\_report \\[2023\\].pdf, p. 7](pages/001.jpg)" in text
    assert "p. 9: The page image needs the password." in text
    assert f"**Not answered.** {NOT_ANSWERED}" in text
    assert "![" not in conversations_markdown([TALK], NAMES).decode().replace("\\!\\[", "").replace("!\\[", "")


def test_the_documents_that_are_cited_stand_at_the_end(pictures):
    whole = Source("a.pdf", "Granite <b>", (Author("Smith", "Ann"),), (2023, 5))
    sources = (whole, Source("b.pdf", problem="It needs its password."))
    words = ["Ann Smith: Granite <b>. 2023. (a.pdf)", "b.pdf: It needs its password."]
    page = Tags(conversations_html([TALK], NAMES, pictures, sources))
    opened = docx.Document(io.BytesIO(conversations_word([TALK], NAMES, pictures, sources)))
    for line in words:
        assert line in page.text
        assert line in [paragraph.text for paragraph in opened.paragraphs]
    assert "@misc{smith2023granite," in page.text
    assert '"id": "smith2023granite"' in page.text
    with zipfile.ZipFile(io.BytesIO(markdown_zip([TALK], NAMES, pictures, sources))) as packed:
        assert packed.read("references.bib").startswith(b"@misc{smith2023granite,")
        assert len(json.loads(packed.read("references.json"))) == 1
        assert "- Ann Smith: Granite \\<b\\>. 2023. (a.pdf)" in packed.read("conversation.md").decode()
    with zipfile.ZipFile(io.BytesIO(markdown_zip([TALK], NAMES, pictures, sources[1:]))) as packed:
        assert "references.bib" not in packed.namelist()


def test_a_conversation_in_json_lines_says_what_came_of_each_question():
    turns = (TURN, replace(TURN, answer=PERHAPS), refusal())
    row = conversation_row(replace(TALK, turns=turns), NAMES)
    answers = [turn["answer"] for turn in row["turns"]]
    assert [(one["outcome"], one["refused"]) for one in answers] == [
        ("answer", False), ("perhaps", False), ("nothing", True),
    ]  # fmt: skip
    assert [one["quote"] and one["quote"]["page"] for one in answers] == [None, 3, 2]
    assert answers[1]["quote"] == {"filename": NAMES[DOCUMENT], "page": 3, "quote": PERHAPS.nearest.quote}
    assert decode(Conversation, json.dumps(row)).turns == turns
