"""Which requests the server refuses before anything looks at them: foreign names, foreign pages, and too many."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from pdfqa_core.errors import StorageError, UsageError
from pdfqa_core.settings import ServerSettings
from pdfqa_core.ui import TOKEN, _free_port, traffic
from pdfqa_core.ui.gate import Gate, SafeHeaders, is_this_computer
from pdfqa_core.ui.proxies import Believed, Proxies
from pdfqa_core.ui.traffic import HEALTH, Answering, Traffic, Waiting


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


def client(*middleware: Middleware) -> TestClient:
    app = Starlette(
        routes=[Route(path, echo, methods=["GET", "POST"]) for path in ("/", "/gradio_api/upload")],
        middleware=list(middleware),
    )
    return TestClient(app, client=("127.0.0.1", 50_000))


def guarded(listening: str = "127.0.0.1", names: tuple[str, ...] = ()) -> TestClient:
    return client(Middleware(Gate, listening=listening, names=names))


@pytest.mark.parametrize(
    ("host", "listening", "passes"),
    [
        ("127.0.0.1:7860", "127.0.0.1", True),
        ("localhost", "127.0.0.1", True),
        ("LOCALHOST:7860", "127.0.0.1", True),
        ("[::1]:7860", "127.0.0.1", True),
        ("evil.example", "127.0.0.1", False),
        ("evil.example:7860", "0.0.0.0", False),
        ("127.0.0.1.evil.example", "127.0.0.1", False),
        ("localhost@evil.example", "127.0.0.1", False),
        ("127.0.0.1/x", "127.0.0.1", False),
        ("[", "127.0.0.1", False),
        ("", "127.0.0.1", False),
        ("192.168.1.5:7860", "127.0.0.1", False),  # it does not listen there
        ("192.168.1.5:7860", "0.0.0.0", True),  # no attacker's name is an address
        ("[fe80::1]:7860", "::", True),
        ("192.168.1.5", "192.168.1.5", True),
        ("192.168.1.6", "192.168.1.5", False),
        ("my-box", "my-box", True),
        ("docs.example.org", "127.0.0.1", True),
        ("sub.docs.example.org", "127.0.0.1", False),
    ],
)
def test_only_own_names_are_answered(host: str, listening: str, passes: bool):
    answer = guarded(listening, (" Docs.example.org",)).get("/", headers={"Host": host})
    assert (answer.status_code, host[:9] in answer.text) == ((200, False) if passes else (403, True)), answer.text
    if not passes:
        assert "PDFQA_HOSTS" in answer.text


@pytest.mark.parametrize(
    ("headers", "passes"),
    [
        ({}, True),  # no browser
        ({"Origin": "http://127.0.0.1:7860"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "http://127.0.0.1:9999"}, False),  # another program on this computer
        ({"Origin": "http://localhost:7860"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "file://127.0.0.1:7860"}, False),
        ({"Origin": "http://[evil"}, False),
        ({"Origin": "https://docs.example.org"}, True),  # a proxy asks under another name than the browser
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Sec-Fetch-Site": "same-origin"}, True),
    ],
)
def test_only_own_pages_may_send_anything(headers: dict[str, str], passes: bool):
    page = guarded(names=("docs.example.org",))
    answer = page.post("/", headers={"Host": "127.0.0.1:7860", **headers}, files={"files": b"x"})
    assert answer.status_code == (200 if passes else 403), answer.text
    assert passes or "may not use this server" in answer.text


def test_a_link_from_elsewhere_opens_the_page_but_its_scripts_read_nothing():
    page, host = guarded(), {"Host": "127.0.0.1:7860"}
    assert page.get("/", headers={**host, "Sec-Fetch-Site": "cross-site"}).status_code == 200
    assert page.get("/", headers={**host, "Origin": "http://evil.example"}).status_code == 403


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("localhost", True), ("::1", True), ("[::1]", True),
     ("0.0.0.0", False), ("::", False), ("192.168.1.5", False), ("my-box", False)],
)  # fmt: skip
def test_what_only_this_computer_reaches(host: str, here: bool):
    assert is_this_computer(host) is here


def test_a_port_in_use_is_said_in_a_sentence():
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1, port {port}: Address already in use"):
            _free_port("127.0.0.1", port)
    assert _free_port("127.0.0.1", 0) > 0
    assert _free_port("[::1]", 0) > 0
    with pytest.raises(UsageError, match=r"cannot listen on 203\.0\.113\.7"):
        _free_port("203.0.113.7", 0)


# ------------------------------------------------------------ how much


def limited(folder: Path, most: int = 0, per_minute: int = 0, proxied: bool = False) -> TestClient:
    believed = Middleware(Believed, proxies=Proxies(proxied=proxied))
    return client(believed, Middleware(Traffic, waiting=Waiting(folder, most), per_minute=per_minute))


def test_one_address_sends_so_many_requests_and_another_is_not_held_up(tmp_path: Path):
    page = limited(tmp_path, per_minute=5, proxied=True)
    first, second = {"X-Forwarded-For": "198.51.100.1"}, {"X-Forwarded-For": "198.51.100.2"}
    assert [page.post("/", headers=first).status_code for _ in range(6)] == [200] * 5 + [429]
    assert page.post("/", headers=second).status_code == 200
    assert page.get("/", headers=first).status_code == 200
    assert "Wait a minute" in page.post("/", headers=first).text
    page = limited(tmp_path, per_minute=2)  # without a proxy nobody names an address of their own
    answers = [page.post("/", headers={"X-Forwarded-For": f"198.51.100.{n}"}).status_code for n in range(3)]
    assert answers == [200, 200, 429]


def test_uploads_fill_the_disk_only_so_far(tmp_path: Path):
    page = limited(tmp_path / "gradio", most=1000)
    body = b"x" * 600
    assert page.post("/gradio_api/upload", content=body).status_code == 200
    (tmp_path / "gradio" / "kept").mkdir(parents=True)
    (tmp_path / "gradio" / "kept" / "one.pdf").write_bytes(body)
    for path in ("/gradio_api/upload", "/gradio_api/upload/"):
        refused = page.post(path, content=body)
        assert (refused.status_code, "no room for this upload" in refused.text) == (413, True)
    (tmp_path / "gradio" / "kept" / "one.pdf").unlink()
    assert page.post("/gradio_api/upload", content=body).text == "600"  # what was reserved is given back


def test_uploads_that_arrive_at_the_same_time_share_the_room_and_the_disk_is_not_filled(tmp_path: Path):
    waiting = Waiting(tmp_path, 1000)
    assert [waiting.reserve(400) for _ in range(4)] == [True, True, False, False]
    waiting.release(400)
    assert waiting.reserve(600)
    assert not Waiting(tmp_path).reserve(10**18)


def test_a_body_is_no_longer_than_it_says_or_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(traffic, "LARGEST_OTHER", 100)
    page = limited(tmp_path)
    assert page.post("/", content=b"x" * 100).text == "100"
    long = page.post("/", content=(b"x" * 60 for _ in range(2)))
    assert (long.status_code, "100 bytes are allowed" in long.text) == (413, True)
    assert page.post("/gradio_api/upload", content=(b"x" for _ in range(2))).status_code == 411


# ------------------------------------------------------------ what browsers are told


@pytest.mark.parametrize(
    ("names", "framed_by", "elsewhere"),
    [
        ((), "frame-ancestors 'self'", "SAMEORIGIN"),
        (("docs.example.org", "hf.space.example.org"), "frame-ancestors 'self'", "SAMEORIGIN"),
        (("me-it.hf.space",), "frame-ancestors 'self' https://huggingface.co https://*.hf.space", None),
    ],
)
def test_every_answer_says_what_the_page_may_load_and_who_may_frame_it(
    names: tuple[str, ...], framed_by: str, elsewhere: str | None
):
    page = client(Middleware(SafeHeaders, names=names), Middleware(Gate, listening="127.0.0.1"))
    for answer in (page.get("/", headers={"Host": "localhost"}), page.get("/", headers={"Host": "evil.example"})):
        policy = answer.headers["content-security-policy"].split("; ")
        assert {"default-src 'self'", "object-src 'none'", "base-uri 'self'", "form-action 'self'"} <= set(policy)
        assert policy[-1] == framed_by
        assert answer.headers.get("x-frame-options") == elsewhere
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"


# ------------------------------------------------------------ /healthz


def test_health_is_told_without_anything_else():
    state = ["well"]

    def check() -> Response:
        if state != ["well"]:
            raise StorageError("The workspace /home/ann/secret is gone.")
        return JSONResponse({"status": "ok"})

    page = client(Middleware(Answering, path=HEALTH, answer=check))
    assert (page.get("/healthz").status_code, page.get("/healthz").json()) == (200, {"status": "ok"})
    assert page.get("/").status_code == 200
    assert page.post("/healthz").status_code == 404
    state[0] = "ill"
    answer = page.get("/healthz")
    assert (answer.status_code, answer.json()) == (503, {"status": "failing", "what": "StorageError"})


def test_names_come_from_the_environment(tmp_path: Path):
    from pdfqa_core.settings import read_settings

    assert ServerSettings().hosts == ""
    server = read_settings(tmp_path, {"PDFQA_HOSTS": "docs.example.org,docs"}).server
    assert (server.hosts, server.proxied) == ("docs.example.org,docs", False)
    space = read_settings(tmp_path, {"SPACE_ID": "me/it", "SPACE_HOST": "me-it.hf.space"}).server
    assert (space.hosts, space.proxied, space.demo) == ("me-it.hf.space", True, True)


@pytest.mark.parametrize(
    ("word", "taken"),
    [("a" * 43, True), ("a" * 31, False), ("a" * 65, False), ("a" * 42 + "\n", False), ("ä" * 43, False), ("", False)],
)
def test_the_word_of_a_visitor_has_a_length_and_plain_letters(word: str, taken: bool):
    assert bool(TOKEN.fullmatch(word)) is taken
