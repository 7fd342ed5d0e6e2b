"""An address that only a PDF names is text with its source wherever an answer is shown, and never a link."""

from __future__ import annotations

import html
import io
import re
from typing import Any

import docx
import pytest
from markdown_it import MarkdownIt

from pdfqa_core.exports.conversations import (
    conversations_html,
    conversations_markdown,
    conversations_word,
    turn_markdown,
)
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.ui.chat_view import transcript
from pdfqa_core.ui.mcp_tools import Tools
from tests.conftest import FakeLLM
from tests.services.helpers import BM25, asked, stored_of
from tests.serving_fakes import FakeModels

QUESTION = "Where are lamps mended?"
ADDRESS = "https://lamps.test/?q=a"
SAID = f"Lamps are mended `at ![x]({ADDRESS}) on Mondays."
SOURCE = f"“{ADDRESS}” comes from lamps.pdf, p. 2; where it leads was not checked."


@pytest.fixture
def services(tmp_path, make_pdf):
    llm = FakeLLM()
    llm.enqueue([SAID])
    with Services.open(tmp_path / "workspace", BM25, FakeModels(llm, BM25.llm)) as opened:
        list(opened.documents.ingest(LOCAL_OWNER, [make_pdf(["Nothing here."], [SAID], name="lamps.pdf")]))
        yield opened


def rendered(markdown: str) -> str:
    """Return a text as an assistant or an editor shows it."""
    return MarkdownIt("commonmark").render(markdown)


def links(page: str) -> list[Any]:
    """Return what a page would open or fetch, but for places in itself."""
    return [one for one in re.findall(r"""<(?:a|img)\b[^>]*?(?:href|src)=["']?([^"'> ]*)""", page) if one[:1] != "#"]


def test_in_chat_and_exports(services):
    turn = stored_of(asked(services, QUESTION)).turn
    assert (turn.answer.text, turn.answer.notes[-1]) == (SAID, SOURCE)
    names = services.documents.filenames(LOCAL_OWNER)
    (talk,) = (
        services.answers.conversations.get(LOCAL_OWNER, one.id)
        for one in services.answers.conversations.list(LOCAL_OWNER)
    )
    word = docx.Document(io.BytesIO(conversations_word([talk], names, {})))
    pages = [
        transcript([turn], names, "", 1),
        conversations_html([talk], names, {}).decode(),
        rendered(conversations_markdown([talk], names).decode()),
    ]
    for shown in (*pages, "\n".join(one.text for one in word.paragraphs)):
        assert SOURCE in html.unescape(shown)
    assert [links(page) for page in (*pages, rendered(turn_markdown(turn, names)))] == [[]] * 4
    assert "telephone=no, email=no" in pages[1]  # phones make links of numbers
    assert not any("lamps" in one.target_ref for one in word.part.rels.values())


def test_for_assistants(services):
    tools = Tools(services)
    told = tools.ask(LOCAL_OWNER, QUESTION)
    for text in (tools.search(LOCAL_OWNER, QUESTION), tools.read_page(LOCAL_OWNER, "lamps.pdf", 2), told):
        assert ADDRESS in text
        assert links(rendered(text)) == []
        assert f"<code>{ADDRESS}</code>" in rendered(text)
    assert SOURCE in re.sub("` | `", "", told)


def test_an_address_of_the_question_is_left_as_it_was_typed(services):
    tools = Tools(services)
    assert f"]({ADDRESS})" in tools.ask(LOCAL_OWNER, f"{QUESTION} At {ADDRESS}?")
