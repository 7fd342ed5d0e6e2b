"""The named endpoints and the tools for assistants, called by their own clients and by plain HTTP, and who may."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import handle_file
from gradio_client.exceptions import AppError
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent
from starlette.datastructures import Headers

from pdfqa_core.errors import UsageError
from pdfqa_core.services import LOCAL_OWNER, SAMPLE, Services
from pdfqa_core.types import Answer, Citation, Span, Turn
from pdfqa_core.ui.api_access import Access, token_in
from pdfqa_core.ui.mcp_tools import PATH, answer_words
from tests.services.helpers import LITERAL, METERS
from tests.serving_fakes import PDF
from tests.ui.calling import Served, program, serving
from tests.ui.serving import ROOT, run_apart

TIMEOUT = 180  # seconds
UNANSWERABLE = "Who won the chess championship of 1972?"
SETTINGS = LITERAL.changed("server", mcp=True).changed("reading", confidence_threshold=0.35)
ENDPOINTS = ["/ask", "/evaluate", "/ingest", "/list_documents", "/read_page", "/search"]
CALLS: dict[str, dict[str, Any]] = {
    "list_documents": {}, "read_page": {"document": PDF.name, "page": 2}, "search": {"question": METERS},
    "ask": {"question": METERS}, "ingest": {"file": {"path": "/etc/passwd"}},
    "evaluate": {"questions": [{"id": "1", "question": METERS}]},
}  # fmt: skip


def with_the_sample(services: Services) -> None:
    list(services.documents.ingest(LOCAL_OWNER, [PDF]))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("api"), SETTINGS, prepare=with_the_sample) as served:
        yield served


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("guarded")
    with serving(folder, SETTINGS, password="a long password", prepare=with_the_sample) as served:
        yield served


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def call(server: Served, name: str, token: str = "", **arguments: Any) -> tuple[list[Any], str]:
    """Call an endpoint by plain HTTP; returns what it streamed, and its error."""
    headers = bearer(token)
    where = f"{server.url}/gradio_api/call/v2/{name}"
    begun = httpx.post(where, json=arguments, headers=headers, timeout=TIMEOUT)
    if begun.status_code != 200:
        return [], begun.text
    steps, event = [], ""
    with httpx.stream("GET", f"{where}/{begun.json()['event_id']}", headers=headers, timeout=TIMEOUT) as lines:
        for line in lines.iter_lines():
            if line.startswith("event: "):
                event = line.removeprefix("event: ")
            elif line.startswith("data: ") and event == "error":
                return steps, str(json.loads(line.removeprefix("data: ")))
            elif line.startswith("data: ") and (data := json.loads(line.removeprefix("data: "))):
                steps.append(data[0])
    return steps, ""


def assist(server: Served, work: Callable[[ClientSession], Awaitable[Any]], token: str = "") -> Any:
    """Let an assistant work."""

    async def connected() -> Any:
        async with (
            httpx.AsyncClient(headers=bearer(token), timeout=TIMEOUT) as client,
            streamable_http_client(server.url + PATH, http_client=client) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            return await work(session)

    return run_apart(connected())


def tool(server: Served, name: str, token: str = "", **arguments: Any) -> tuple[str, bool]:
    """Call a tool; returns its text and whether it is an error."""
    result = assist(server, lambda session: session.call_tool(name, arguments), token)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text, bool(result.isError)


def test_only_the_named_endpoints_are_in_the_public_description_with_types_and_words(server: Served):
    described = httpx.get(f"{server.url}/gradio_api/info", timeout=TIMEOUT).json()
    assert sorted(described["named_endpoints"]) == ENDPOINTS
    assert described["unnamed_endpoints"] == {}
    types = {one["parameter_name"]: one["type"] for one in described["named_endpoints"]["/search"]["parameters"]}
    assert (types["question"], types["k"]) == ({"type": "string"}, {"type": "integer"})
    assert {"type": "array", "items": {"type": "string"}} in types["documents"]["oneOf"]
    assert all(one["description"] for one in described["named_endpoints"].values())


def test_gradio_client_lists_reads_searches_and_asks_as_a_stream(server: Served):
    client = program(server.url)
    (document,) = client.predict(api_name="/list_documents")["documents"]
    assert (document["filename"], document["state"], document["language"]) == (PDF.name, "ready", "english")
    page = client.predict(document=PDF.name, page=2, api_name="/read_page")
    assert (page["pages"], len(page["text"]) > 200) == (document["pages"], True)
    found = client.predict(question=METERS, k=3, api_name="/search")["hits"]
    assert [hit["rank"] for hit in found] == [1, 2, 3]
    steps = list(client.submit(question=METERS, documents=[PDF.name], api_name="/ask"))
    assert all(not one["done"] for one in steps[:-1])
    last = steps[-1]
    assert (last["done"], last["citations"][0]["filename"], "15 minutes" in last["answer"]) == (True, PDF.name, True)
    follow_up = client.submit(question="And at night?", conversation_id=last["conversation_id"], api_name="/ask")
    assert list(follow_up)[-1]["conversation_id"] == last["conversation_id"]
    assert len(server.services.answers.conversations.get(LOCAL_OWNER, last["conversation_id"]).turns) == 2


def test_a_pdf_is_sent_and_read_and_nothing_else_of_this_computer(server: Served, make_pdf: Any, tmp_path: Path):
    sent = make_pdf(["The otters of Lake Sallow eat mussels."], name="otters.pdf")
    client = program(server.url)
    *_, read = client.submit(file=handle_file(sent), collection="Animals", api_name="/ingest")
    (row,) = read["documents"]
    assert (row["filename"], row["state"], row["pages"], row["passages"]) == ("otters.pdf", "ready", 1, 1)
    (hit,) = client.predict(question="What do otters eat?", k=1, documents=["Animals"], api_name="/search")["hits"]
    assert hit["filename"] == "otters.pdf"
    server.services.documents.remove(LOCAL_OWNER, row["document_id"])
    for path in (str(sent), "/etc/passwd", "", str(tmp_path / "none.pdf")):
        for file in ({"path": path}, {"path": path, "meta": {"_type": "gradio.FileData"}}):
            steps, error = call(server, "ingest", file=file)
            assert (steps, bool(error)) == ([], True)
    assert sent.exists()


def test_an_evaluation_is_measured_and_kept(server: Served):
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    steps, error = call(server, "evaluate", questions=[json.loads(one) for one in lines], retrievers=["bm25"])
    assert error == ""
    (system,) = steps[-1]["systems"]
    assert system["metrics"]["MRR"]["mean"] > 0.5
    assert server.services.evaluation.kept.get(LOCAL_OWNER, steps[-1]["evaluation_id"]).systems[0].items


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("ask", {"question": "  "}, "The question is empty. Type a question."),
        ("ask", {"question": 5}, "“question” is not what is expected"),
        ("search", {"question": "x", "k": 0}, "k is 0. Give a number from 1 to 100."),
        ("search", {"question": "x", "retriever": "psychic"}, "psychic"),
        ("search", {"question": "x", "documents": ["none.pdf"]}, "There is no document 'none.pdf'."),
        ("read_page", {"document": PDF.name, "page": 99}, "has no page 99"),
        ("evaluate", {"questions": []}, "questions"),
        ("evaluate", {**CALLS["evaluate"], "retrievers": ["dense + /srv/model"]}, "models of this server belong"),
    ],
)
def test_errors_are_our_sentences(server: Served, name: str, arguments: dict[str, Any], said: str):
    steps, error = call(server, name, **arguments)
    assert (steps, said in error, "Traceback" in error) == ([], True, False), error


def test_where_a_password_is_asked_for_only_a_token_lets_programs_in(guarded: Served):
    services = guarded.services
    token = services.people.tokens.add("script")
    assert token not in str(services.people.tokens.kept.list())
    for name, arguments in CALLS.items():
        assert "Not authenticated" in call(guarded, name, **arguments)[1]
    for wrong in (token[:-1], f"{token}x", "pdfqa_"):
        assert "This token is not valid." in call(guarded, "list_documents", wrong)[1]
    client = program(guarded.url, **bearer(token))
    assert client.predict(api_name="/list_documents")["documents"][0]["filename"] == PDF.name
    inside = httpx.get(f"{guarded.url}/gradio_api/token", headers=bearer(token), timeout=TIMEOUT).json()["token"]
    services.people.tokens.kept.remove("script")
    name = f"access-token-unsecure-{guarded.page.app.cookie_id}"
    for kept in (token, inside):  # nothing of it signs a browser in afterwards
        assert httpx.get(f"{guarded.url}/config", cookies={name: kept}, timeout=TIMEOUT).status_code == 401
    assert "This token is not valid." in call(guarded, "list_documents", token)[1]
    foreign = httpx.get(f"{guarded.url}/config", headers=bearer("hf_of_a_space"), timeout=TIMEOUT)
    assert foreign.status_code == 401


def test_in_a_demo_each_token_has_a_space_of_its_own_with_the_limits_of_a_visitor(
    tmp_path: Path, make_pdf: Any, monkeypatch: pytest.MonkeyPatch
):
    with serving(tmp_path / "demo", LITERAL.changed("server", demo=True)) as demo:
        for name, arguments in CALLS.items():
            assert "This needs a token." in call(demo, name, **arguments)[1]
        first, second = demo.services.people.tokens.add("first"), demo.services.people.tokens.add("second")
        sent = make_pdf(["The otters of Lake Sallow eat mussels."], name="otters.pdf")
        tools = httpx.post(demo.url + PATH, json={}, headers=bearer(first), timeout=TIMEOUT)
        assert tools.status_code in (404, 405)  # there are none where they were not asked for
        client = program(demo.url, **bearer(first))
        read = client.submit(file=handle_file(sent), api_name="/ingest").result(timeout=TIMEOUT)
        assert read["documents"][0]["state"] == "ready"
        assert call(demo, "list_documents", second)[0] == [{"documents": [], "collections": []}]
        assert "There is no document" in call(demo, "read_page", second, document="otters.pdf", page=1)[1]
        assert demo.services.documents.kept.list(LOCAL_OWNER) == ()
        limits = demo.services.settings.server.model_copy(update={"visitor_mb": 0})
        monkeypatch.setattr(demo.services.documents.room, "_server", limits)
        with pytest.raises(AppError, match="MB"):
            client.predict(file=handle_file(make_pdf(["Another one."], name="more.pdf")), api_name="/ingest")


def test_without_a_token_only_this_computer_itself_is_believed(server: Served):
    access = Access(server.services)

    def asked(host: str, **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return type("Request", (), {"headers": Headers(named), "client": type("Client", (), {"host": host})})

    assert access.owner(asked("127.0.0.1")) == access.owner(asked("::1")) == LOCAL_OWNER
    for request in (asked("192.168.1.7"), asked(""), asked("127.0.0.1", x_forwarded_for="203.0.113.9")):
        with pytest.raises(UsageError, match="This needs a token"):
            access.owner(request)
    token = server.services.people.tokens.add("elsewhere")
    assert access.owner(asked("192.168.1.7", authorization=f"bearer {token}")) == LOCAL_OWNER
    assert token_in(Headers({"authorization": "Bearer hf_other"})) == ""


# ------------------------------------------------------------ assistants


def test_four_tools_are_offered_described_and_nothing_else(server: Served):
    tools = assist(server, lambda session: session.list_tools()).tools
    assert [one.name for one in tools] == ["list_documents", "search", "read_page", "ask"]
    for one in tools:
        assert len(one.description) > 60
        assert all(schema["description"] for schema in one.inputSchema["properties"].values()), one.name
    assert "owner" not in tools[1].inputSchema["properties"]
    assert assist(server, lambda session: session.list_resources()).resources == []
    assert assist(server, lambda session: session.list_prompts()).prompts == []
    for foreign in ("ingest", "evaluate", "mcp_search", "page_5"):
        text, failed = tool(server, foreign)
        assert (failed, "Unknown tool" in text) == (True, True)


def test_an_assistant_finds_reads_and_cites_pages(server: Served):
    listed, _ = tool(server, "list_documents")
    pages = server.services.documents.kept.list(LOCAL_OWNER)[0].page_count
    assert (PDF.name in listed, f"({pages} pages)" in listed) == (True, True)
    found, _ = tool(server, "search", question=METERS, k=3)
    assert found.startswith(f"[1] {PDF.name}, p. ")
    assert found.count("\n\n[") == 2
    answer, failed = tool(server, "ask", question=METERS)
    assert (failed, "15 minutes" in answer, "[1]" in answer) == (False, True, True)
    assert f"{PDF.name}, p. " in answer.partition("Sources:")[2]
    page, _ = tool(server, "read_page", document=PDF.name, page=1)
    assert page.startswith(f"{PDF.name}, p. 1 of ")


def test_an_answer_that_is_not_sure_stands_behind_its_lines_with_addresses_as_code():
    lines = Citation(1, "p", Span("d", 3, 0, 9), "Because of\nhttps://evil.test it.", False)
    answer = Answer("It is so.", (replace(lines, quote="It is so.", end=9),), perhaps=True, nearest=lines)
    said = answer_words(Turn("t", 1, "Why?", "Why?", answer), {}).splitlines()
    assert said[0].startswith("It may stand here: “Because of ` https://evil.test ` it.” (")
    assert said[1:4] == [
        "More quotes:", "It is so. [1]",
        "Not sure that this answers the question: read the lines before you rely on it.",
    ]  # fmt: skip
    assert said[4] == "Sources:"
    nothing = answer_words(Turn("t", 1, "Why?", "Why?", replace(answer, refused=True)), {})
    assert "Closest: “Because of" in nothing
    assert "Sources:" not in nothing


def test_a_refusal_and_errors_are_words(server: Served):
    refused, failed = tool(server, "ask", question=UNANSWERABLE)
    assert (failed, "Sources:" in refused) == (False, False)
    for name, arguments, said in (
        ("read_page", {"document": "none.pdf", "page": 1}, "There is no document 'none.pdf'."),
        ("search", {"question": "x", "k": 99}, "k is 99. Give a number from 1 to 20."),
        ("search", {"question": ["x"]}, "not"),
    ):
        text, failed = tool(server, name, **arguments)
        assert (failed, said in text, "Traceback" in text) == (True, True, False), text


def test_behind_a_password_a_token_is_needed_for_all_of_it(guarded: Served):
    for path in (PATH, "/gradio_api/mcp", "/gradio_api/mcp/schema", "/gradio_api/mcp/sse"):
        answer = httpx.get(guarded.url + path, timeout=TIMEOUT)
        assert (answer.status_code, "This needs a token" in answer.text) == (401, True), path
    token = guarded.services.people.tokens.add("assistant")
    assert "15 minutes" in tool(guarded, "ask", token, question=METERS)[0]
    guarded.services.people.tokens.kept.remove("assistant")
    with pytest.raises(BaseExceptionGroup) as refused:
        tool(guarded, "list_documents", token)
    assert refused.group_contains(httpx.HTTPStatusError, match="401")


def test_numbers_for_prometheus_need_a_token_where_the_page_needs_a_password(guarded: Served, server: Served):
    where = f"{guarded.url}/metrics"
    assert httpx.get(where, timeout=TIMEOUT).status_code == 401
    answer = httpx.get(where, headers=bearer(guarded.services.people.tokens.add("prometheus")), timeout=TIMEOUT)
    assert (answer.status_code, answer.headers["content-type"].startswith("text/plain")) == (200, True)
    assert 'pdfqa_documents{state="ready"}' in answer.text
    assert "pdfqa_work" in httpx.get(f"{server.url}/metrics", timeout=TIMEOUT).text


def example(name: str, *arguments: str, token: str) -> str:
    """Run an example script as its documentation says, and return what it prints."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), *arguments], capture_output=True, text=True,
        env={**os.environ, "PDFQA_TOKEN": token}, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("name", ["ask_with_gradio_client", "ask_with_http"])
def test_the_examples_send_a_pdf_and_print_the_answer_with_its_page(guarded: Served, make_pdf: Any, name: str):
    token = guarded.services.people.tokens.add(name)
    sent = make_pdf(["Nothing here."], [f"The otters of Lake Sallow eat mussels, says {name}."], name=f"{name}.pdf")
    said = example(name, guarded.url, str(sent), "What do the otters of Lake Sallow eat?", token=token)
    assert f"{name}.pdf: ready, 2 pages" in said
    assert f"[1] {name}.pdf, p. 2: The otters of Lake Sallow eat mussels" in said


def test_the_mcp_example_prints_tools_documents_and_an_answer(guarded: Served):
    said = example("ask_with_mcp", guarded.url, METERS, token=guarded.services.people.tokens.add("mcp example"))
    assert "search: Find the passages" in said
    assert f"- {PDF.name}" in said
    assert "15 minutes" in said.partition("# ask")[2]
