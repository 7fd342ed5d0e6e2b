"""The named endpoints, called by gradio_client and by plain HTTP, and who may call them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError
from starlette.datastructures import Headers

from pdfqa_core.errors import UsageError
from pdfqa_core.services import LOCAL_OWNER, SAMPLE, Services
from pdfqa_core.ui import build_page, launch, temporary
from pdfqa_core.ui.api_access import Access, token_in
from tests.services.helpers import LITERAL, METERS
from tests.serving_fakes import PDF, FakeModels

TIMEOUT = 60  # seconds
ENDPOINTS = ["/ask", "/evaluate", "/ingest", "/list_documents", "/read_page", "/search"]
CALLS: dict[str, dict[str, Any]] = {
    "list_documents": {}, "read_page": {"document": PDF.name, "page": 2}, "search": {"question": METERS},
    "ask": {"question": METERS}, "ingest": {"file": {"path": "/etc/passwd"}},
    "evaluate": {"questions": [{"id": "1", "question": METERS}]},
}  # fmt: skip


@dataclass
class Server:
    url: str
    services: Services
    page: Any

    def call(self, name: str, token: str = "", **arguments: Any) -> tuple[list[Any], str]:
        """Call an endpoint by plain HTTP; returns what it streamed, and its error."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        where = f"{self.url}/gradio_api/call/v2/{name}"
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


def serving(folder: Path, *, demo: bool = False, password: str = "") -> Iterator[Server]:
    settings = LITERAL.changed("server", demo=demo)
    with pytest.MonkeyPatch.context() as environment, Services.open(folder, settings, FakeModels()) as services:
        if not demo:
            list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        environment.setenv("GRADIO_TEMP_DIR", str(temporary.uploads()))
        page = build_page(services)
        url = launch(page, services, port=0, password=password).rstrip("/")
        try:
            yield Server(url, services, page)
        finally:
            page.close(verbose=False)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from serving(tmp_path_factory.mktemp("api"))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from serving(tmp_path_factory.mktemp("guarded"), password="a long password")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from serving(tmp_path_factory.mktemp("demo"), demo=True)


def test_only_the_named_endpoints_are_in_the_public_description_with_types_and_words(server: Server):
    described = httpx.get(f"{server.url}/gradio_api/info", timeout=TIMEOUT).json()
    assert sorted(described["named_endpoints"]) == ENDPOINTS
    assert described["unnamed_endpoints"] == {}
    search = described["named_endpoints"]["/search"]
    types = {one["parameter_name"]: one["type"] for one in search["parameters"]}
    assert types["question"] == {"type": "string"}
    assert types["k"] == {"type": "integer"}
    assert {"type": "array", "items": {"type": "string"}} in types["documents"]["oneOf"]
    assert all(one["description"] for one in described["named_endpoints"].values())


def test_gradio_client_lists_reads_searches_and_asks_as_a_stream(server: Server):
    client = Client(server.url, verbose=False)
    (document,) = client.predict(api_name="/list_documents")["documents"]
    assert (document["filename"], document["state"], document["language"]) == (PDF.name, "ready", "english")
    page = client.predict(document=PDF.name, page=2, api_name="/read_page")
    assert page["pages"] == document["pages"]
    assert len(page["text"]) > 200
    found = client.predict(question=METERS, k=3, api_name="/search")["hits"]
    assert [hit["rank"] for hit in found] == [1, 2, 3]
    steps = list(client.submit(question=METERS, documents=[PDF.name], api_name="/ask"))
    assert all(not one["done"] for one in steps[:-1])
    last = steps[-1]
    assert last["done"]
    assert last["citations"][0]["filename"] == PDF.name
    assert "15 minutes" in last["answer"]
    follow_up = client.submit(question="And at night?", conversation_id=last["conversation_id"], api_name="/ask")
    assert list(follow_up)[-1]["conversation_id"] == last["conversation_id"]
    assert len(server.services.conversations.get(LOCAL_OWNER, last["conversation_id"]).turns) == 2


def test_a_pdf_is_sent_and_read_and_nothing_else_of_this_computer(server: Server, make_pdf: Any, tmp_path: Path):
    sent = make_pdf(["The otters of Lake Sallow eat mussels."], name="otters.pdf")
    client = Client(server.url, verbose=False)
    *_, read = client.submit(file=handle_file(sent), collection="Animals", api_name="/ingest")
    (row,) = read["documents"]
    assert (row["filename"], row["state"], row["pages"], row["passages"]) == ("otters.pdf", "ready", 1, 1)
    (hit,) = client.predict(question="What do otters eat?", k=1, documents=["Animals"], api_name="/search")["hits"]
    assert hit["filename"] == "otters.pdf"
    server.services.documents.remove(LOCAL_OWNER, row["document_id"])
    for path in (str(sent), "/etc/passwd", "", str(tmp_path / "none.pdf")):
        for file in ({"path": path}, {"path": path, "meta": {"_type": "gradio.FileData"}}):
            steps, error = server.call("ingest", file=file)
            assert (steps, bool(error)) == ([], True)
    assert sent.exists()


def test_an_evaluation_is_measured_and_kept(server: Server):
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    steps, error = server.call("evaluate", questions=[json.loads(one) for one in lines], retrievers=["bm25"])
    assert error == ""
    (system,) = steps[-1]["systems"]
    assert system["metrics"]["MRR"]["mean"] > 0.5
    assert server.services.evaluation.get(LOCAL_OWNER, steps[-1]["evaluation_id"]).systems[0].items


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
def test_errors_are_our_sentences(server: Server, name: str, arguments: dict[str, Any], said: str):
    steps, error = server.call(name, **arguments)
    assert steps == []
    assert said in error
    assert "Traceback" not in error


def test_where_a_password_is_asked_for_only_a_token_lets_programs_in(guarded: Server):
    services = guarded.services
    token = services.tokens.add("script")
    assert token not in str(services.tokens.list())
    for name, arguments in CALLS.items():
        assert "Not authenticated" in guarded.call(name, **arguments)[1]
    for wrong, (name, arguments) in zip((token[:-1], f"{token}x", "pdfqa_"), CALLS.items(), strict=False):
        assert "This token is not valid." in guarded.call(name, wrong, **arguments)[1]
    client = Client(guarded.url, headers={"Authorization": f"Bearer {token}"}, verbose=False)
    assert client.predict(api_name="/list_documents")["documents"][0]["filename"] == PDF.name
    assert services.tokens.list()[0].used_at is not None
    asked = {"Authorization": f"Bearer {token}"}
    inside = httpx.get(f"{guarded.url}/gradio_api/token", headers=asked, timeout=TIMEOUT).json()["token"]
    services.tokens.remove("script")
    name = f"access-token-unsecure-{guarded.page.app.cookie_id}"
    for kept in (token, inside):  # nothing of it signs a browser in afterwards
        assert httpx.get(f"{guarded.url}/config", cookies={name: kept}, timeout=TIMEOUT).status_code == 401
    assert "This token is not valid." in guarded.call("list_documents", token)[1]
    foreign = {"Authorization": "Bearer hf_of_a_space"}
    assert httpx.get(f"{guarded.url}/config", headers=foreign, timeout=TIMEOUT).status_code == 401


def test_in_a_demo_each_token_has_a_space_of_its_own_with_the_limits_of_a_visitor(
    demo: Server, make_pdf: Any, monkeypatch: pytest.MonkeyPatch
):
    for name, arguments in CALLS.items():
        assert "This needs a token." in demo.call(name, **arguments)[1]
    first, second = demo.services.tokens.add("first"), demo.services.tokens.add("second")
    sent = make_pdf(["The otters of Lake Sallow eat mussels."], name="otters.pdf")
    client = Client(demo.url, headers={"Authorization": f"Bearer {first}"}, verbose=False)
    reading = client.submit(file=handle_file(sent), api_name="/ingest")
    read = reading.result(timeout=TIMEOUT)
    assert read["documents"][0]["state"] == "ready"
    assert demo.call("list_documents", second)[0] == [{"documents": [], "collections": []}]
    assert "There is no document" in demo.call("read_page", second, document="otters.pdf", page=1)[1]
    assert demo.services.documents.list(LOCAL_OWNER) == ()
    monkeypatch.setattr(demo.services.documents.room, "_server", replace_limit(demo, visitor_mb=0))
    with pytest.raises(AppError, match="MB"):
        client.predict(file=handle_file(make_pdf(["Another one."], name="more.pdf")), api_name="/ingest")


def replace_limit(server: Server, **limits: int) -> Any:
    return server.services.settings.server.model_copy(update=limits)


def test_without_a_token_only_this_computer_itself_is_believed(server: Server):
    access = Access(server.services)

    def asked(host: str, **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return type("Request", (), {"headers": Headers(named), "client": type("Client", (), {"host": host})})

    assert access.owner(asked("127.0.0.1")) == access.owner(asked("::1")) == LOCAL_OWNER
    for request in (asked("192.168.1.7"), asked(""), asked("127.0.0.1", x_forwarded_for="203.0.113.9")):
        with pytest.raises(UsageError, match="This needs a token"):
            access.owner(request)
    token = server.services.tokens.add("elsewhere")
    assert access.owner(asked("192.168.1.7", authorization=f"bearer {token}")) == LOCAL_OWNER
    assert token_in(Headers({"authorization": "Bearer hf_other"})) == ""
