"""The tools for assistants, used by the protocol's own client library as an assistant would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.types import Answer, Citation, Span, Turn
from pdfqa_core.ui import build_page, launch, temporary
from pdfqa_core.ui.mcp_tools import PATH, answer_words
from tests.services.helpers import LITERAL, METERS
from tests.serving_fakes import PDF, FakeModels
from tests.ui.serving import run_apart

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 60  # seconds
UNANSWERABLE = "Who won the chess championship of 1972?"


class Serving:
    def __init__(self, url: str, services: Services) -> None:
        self.url, self.services = url, services

    def use(self, work: Callable[[ClientSession], Awaitable[Any]], token: str = "") -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else None

        async def connected() -> Any:
            async with (
                httpx.AsyncClient(headers=headers, timeout=TIMEOUT) as client,
                streamable_http_client(self.url + PATH, http_client=client) as (read, write, _),
                ClientSession(read, write) as session,
            ):
                await session.initialize()
                return await work(session)

        return run_apart(connected())

    def call(self, name: str, token: str = "", **arguments: Any) -> tuple[str, bool]:
        """Call a tool; returns its text and whether it is an error."""
        result = self.use(lambda session: session.call_tool(name, arguments), token)
        (content,) = result.content
        assert isinstance(content, TextContent)
        return content.text, bool(result.isError)


def serving(folder: Path, password: str = "") -> Iterator[Serving]:
    settings = LITERAL.changed("server", mcp=True).changed("reading", confidence_threshold=0.35)
    with pytest.MonkeyPatch.context() as environment, Services.open(folder, settings, FakeModels()) as services:
        environment.setenv("GRADIO_TEMP_DIR", str(temporary.uploads()))
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        page = build_page(services)
        url = launch(page, services, port=0, password=password).rstrip("/")
        try:
            yield Serving(url, services)
        finally:
            page.close(verbose=False)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    yield from serving(tmp_path_factory.mktemp("mcp"))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    yield from serving(tmp_path_factory.mktemp("guarded"), "a long password")


def test_four_tools_are_offered_described_and_nothing_else(server: Serving):
    tools = server.use(lambda session: session.list_tools()).tools
    assert [tool.name for tool in tools] == ["list_documents", "search", "read_page", "ask"]
    for tool in tools:
        assert tool.description
        assert len(tool.description) > 60
        for name, schema in tool.inputSchema["properties"].items():
            assert schema["description"], f"{tool.name}: {name}"
    search = tools[1].inputSchema["properties"]
    assert search["question"]["type"] == "string"
    assert "owner" not in search
    assert server.use(lambda session: session.list_resources()).resources == []
    assert server.use(lambda session: session.list_prompts()).prompts == []
    for foreign in ("ingest", "evaluate", "mcp_search", "send", "page_5"):
        text, failed = server.call(foreign)
        assert (failed, "Unknown tool" in text) == (True, True)
    listed = httpx.get(f"{server.url}/gradio_api/info", timeout=TIMEOUT).json()["named_endpoints"]
    assert not any(name.startswith("/mcp") for name in listed)


def test_an_assistant_finds_reads_and_cites_pages(server: Serving):
    listed, _ = server.call("list_documents")
    assert PDF.name in listed
    assert f"({server.services.documents.list(LOCAL_OWNER)[0].page_count} pages)" in listed
    found, _ = server.call("search", question=METERS, k=3)
    assert found.startswith(f"[1] {PDF.name}, p. ")
    assert found.count("\n\n[") == 2
    answer, failed = server.call("ask", question=METERS)
    assert not failed
    assert "15 minutes" in answer
    assert "[1]" in answer
    assert f"{PDF.name}, p. " in answer.partition("Sources:")[2]
    page, _ = server.call("read_page", document=PDF.name, page=1)
    assert page.startswith(f"{PDF.name}, p. 1 of ")


def test_an_answer_that_is_not_sure_stands_behind_its_lines_with_addresses_as_code():
    lines = Citation(1, "p", Span("d", 3, 0, 9), "Because of\nhttps://evil.test it.", False)
    answer = Answer("It is so.", (replace(lines, quote="It is so.", end=9),), perhaps=True, nearest=lines)
    said = answer_words(Turn("t", 1, "Why?", "Why?", answer), {}).splitlines()
    assert said[0].startswith("It may stand here: “Because of ` https://evil.test ` it.” (")
    assert said[1:4] == [
        "In the model's words:", "It is so. [1]",
        "Not sure that this answers the question: read the lines before you rely on it.",
    ]  # fmt: skip
    assert said[4] == "Sources:"
    nothing = answer_words(Turn("t", 1, "Why?", "Why?", replace(answer, refused=True)), {})
    assert "Closest: “Because of" in nothing
    assert "Sources:" not in nothing


def test_a_refusal_and_errors_are_words(server: Serving):
    refused, failed = server.call("ask", question=UNANSWERABLE)
    assert not failed
    assert "Sources:" not in refused
    for name, arguments, said in (
        ("read_page", {"document": "none.pdf", "page": 1}, "There is no document 'none.pdf'."),
        ("search", {"question": "x", "k": 99}, "k is 99. Give a number from 1 to 20."),
        ("search", {"question": ["x"]}, "not"),
    ):
        text, failed = server.call(name, **arguments)
        assert failed
        assert said in text
        assert "Traceback" not in text


def test_behind_a_password_a_token_is_needed_for_all_of_it(guarded: Serving):
    for path in (PATH, "/gradio_api/mcp", "/gradio_api/mcp/schema", "/gradio_api/mcp/sse"):
        answer = httpx.get(guarded.url + path, timeout=TIMEOUT)
        assert (answer.status_code, "This needs a token" in answer.text) == (401, True), path
    token = guarded.services.tokens.add("assistant")
    assert "15 minutes" in guarded.call("ask", token, question=METERS)[0]
    guarded.services.tokens.remove("assistant")
    with pytest.raises(BaseExceptionGroup) as refused:
        guarded.call("list_documents", token)
    assert refused.group_contains(httpx.HTTPStatusError, match="401")


def test_numbers_for_prometheus_need_a_token_where_the_page_needs_a_password(guarded: Serving, server: Serving):
    assert httpx.get(f"{guarded.url}/metrics", timeout=TIMEOUT).status_code == 401
    headers = {"Authorization": f"Bearer {guarded.services.tokens.add('prometheus')}"}
    answer = httpx.get(f"{guarded.url}/metrics", headers=headers, timeout=TIMEOUT)
    assert (answer.status_code, answer.headers["content-type"].startswith("text/plain")) == (200, True)
    assert 'pdfqa_documents{state="ready"} 1.0' in answer.text
    assert httpx.post(f"{guarded.url}/metrics", headers=headers, timeout=TIMEOUT).status_code in (404, 405)
    assert "pdfqa_work" in httpx.get(f"{server.url}/metrics", timeout=TIMEOUT).text


def test_without_the_setting_there_is_nothing(tmp_path: Path):
    with Services.open(tmp_path, LITERAL, FakeModels()) as services:
        page = build_page(services)
        url = launch(page, services, port=0).rstrip("/")
        try:
            assert httpx.post(url + PATH, json={}, timeout=TIMEOUT).status_code in (404, 405)
        finally:
            page.close(verbose=False)


def example(name: str, *arguments: str, token: str) -> str:
    """Run an example script as its documentation says, and return what it prints."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), *arguments], capture_output=True, text=True,
        env={**os.environ, "PDFQA_TOKEN": token}, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("name", ["ask_with_gradio_client", "ask_with_http"])
def test_the_examples_send_a_pdf_and_print_the_answer_with_its_page(guarded: Serving, make_pdf: Any, name: str):
    token = guarded.services.tokens.add(name)
    sent = make_pdf(["Nothing here."], [f"The otters of Lake Sallow eat mussels, says {name}."], name=f"{name}.pdf")
    said = example(name, guarded.url, str(sent), "What do the otters of Lake Sallow eat?", token=token)
    assert f"{name}.pdf: ready, 2 pages" in said
    assert f"[1] {name}.pdf, p. 2: The otters of Lake Sallow eat mussels" in said


def test_the_mcp_example_prints_tools_documents_and_an_answer(guarded: Serving):
    said = example("ask_with_mcp", guarded.url, METERS, token=guarded.services.tokens.add("mcp example"))
    assert "search: Find the passages" in said
    assert f"- {PDF.name}" in said
    assert "15 minutes" in said.partition("# ask")[2]
