"""What the server must not give away, asked over HTTP past the page and by a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import psutil
import pytest
from playwright.sync_api import Browser

from pdfqa_core.cli import main
from pdfqa_core.ui import TABS
from tests.services.helpers import LITERAL, until
from tests.ui.calling import Call, Caller, Served, handlers, serving
from tests.ui.serving import ROOT, SAMPLE, Record, open_page, open_tab

TIMEOUT = 180  # seconds
ROUTES = ("/gradio_api/file=", "/file=", "/gradio_api/file/", "/file/", "/static/", "/assets/")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The app on one's own computer."""
    with serving(tmp_path_factory.mktemp("here"), LITERAL) as served:
        yield served


def test_no_file_of_this_computer_is_served(here: Served, tmp_path: Path):
    kept = tmp_path / "kept.pdf"
    kept.write_bytes(SAMPLE.read_bytes())
    secrets = (here.services.workspace / "pdfqa.sqlite", kept, ROOT / "README.md", SAMPLE, Path("/etc/passwd"))
    up = "../" * 12
    with httpx.Client(base_url=here.url, timeout=TIMEOUT) as browser:
        for secret, route in product(secrets, ROUTES):
            paths = (str(secret), f"{up}{str(secret)[1:]}")
            for form in (*paths, *(quote(path, safe="") for path in paths), f".{secret}"):
                answer = browser.get(f"{route}{form}")
                assert 400 <= answer.status_code < 500, f"{route}{form} gave {answer.status_code}"
                assert secret.read_bytes()[:16] not in answer.content


def test_a_handler_reads_and_deletes_no_file_that_was_not_uploaded(here: Served, tmp_path: Path):
    private = tmp_path / "private.pdf"
    private.write_bytes(SAMPLE.read_bytes())
    forger = Caller(here.url, "forger")
    known = handlers(forger.http.get("/config").json())
    forger.arrive(known)
    (add,) = [one for one in known if ("documents-upload", "upload") in one.causes and "documents-table" in one.fills]
    file = {"path": str(private), "meta": {"_type": "gradio.FileData"}}
    ((_, answer),) = forger.answers([Call(add, ([file], "", None, "direct", True, "auto", None))])
    assert answer.status == 500
    assert private.exists()
    assert here.services.documents.kept.list("local") == ()


def test_the_page_loads_nothing_from_elsewhere_and_reports_to_nobody(here: Served):
    page = httpx.get(here.url, timeout=TIMEOUT)
    tags = re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*", page.text)
    assert len(tags) > 3
    assert [tag for tag in tags if re.search(r"(?:src|href|srcset)\s*=\s*[\"']?(?:https?:)?//", tag)] == []
    config = httpx.get(f"{here.url}/config", timeout=TIMEOUT).json()
    assert (config["analytics_enabled"], config["run_history"]) == (False, False)
    styles = "".join(re.findall(r"<style\b[^>]*>(.*?)</style>", page.text, re.DOTALL)) + config["css"]
    assert re.findall(r"url\([^)]*//[^)]*\)|@import", styles) == []
    assert "content-encoding" not in page.headers  # it is not far
    assert '"/ask"' in page.text  # of its 300 handlers only what other programs may call is described
    assert "/page_" not in page.text.partition("window.gradio_api_info")[2]


def test_it_listens_on_this_computer_only(here: Served):
    port = urlsplit(here.url).port
    listening = [one.laddr for one in psutil.Process().net_connections(kind="tcp") if one.status == psutil.CONN_LISTEN]
    assert {address.ip for address in listening if address.port == port} == {"127.0.0.1"}


def test_what_no_page_sends_is_one_line_in_the_log(
    here: Served, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
):
    caller = Caller(here.url, "m")
    known = [replace(one, queued=False) for one in handlers(caller.http.get("/config").json())]
    list(caller.answers([Call(one, ({"path": 5},) * len(one.inputs)) for one in known]))
    assert "a request was not understood" in caplog.text
    assert "Traceback" not in caplog.text + capfd.readouterr().err
    caplog.clear()
    answer = caller.http.post("/gradio_api/call/v2/nothing", json={})
    assert (answer.status_code, answer.text) == (400, "This request was not understood.\n")
    foreign = caller.http.get("/", headers={"Host": "rebound.example"})
    assert (foreign.status_code, "does not answer to the name 'rebound.example'" in foreign.text) == (403, True)
    sent = caller.http.post("/gradio_api/upload", files={"files": b"%PDF"}, headers={"Origin": "http://evil.example"})
    assert (sent.status_code, "may not use this server" in sent.text) == (403, True)
    for path in ("queue/data?session_hash=nobody", "call/ask/nothing"):  # streams that nobody has begun
        assert caller.http.get(f"/gradio_api/{path}").status_code == 200
    until(lambda: caplog.text.count("a request was not understood") == 3)


# ------------------------------------------------------------ open to others


@pytest.mark.parametrize(
    ("environment", "options", "said"),
    [
        ({"GRADIO_SHARE": "1"}, (), "GRADIO_SHARE is set, but documents must not leave this computer."),
        ({"GRADIO_SHARE": "true"}, (), "GRADIO_SHARE is set, but documents must not leave this computer."),
        ({}, ("--host", "0.0.0.0"), "Without a password the app is open to this computer only"),
        ({"PDFQA_PASSWORD": "short"}, ("--host", "0.0.0.0"), "Take 8 characters or more"),
    ],
)
def test_without_a_password_it_opens_to_this_computer_only(
    tmp_path: Path, environment: dict[str, str], options: tuple[str, ...], said: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
):  # fmt: skip
    monkeypatch.setattr("pdfqa_core.services.tasks.share_pools", lambda: True)  # for a process of its own
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(["serve", "--workspace", str(tmp_path / "workspace"), "--port", "0", *options]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "workspace").exists()


# ------------------------------------------------------------ in the browser


BLOCKED = """
(address) => new Promise((done) => {
  document.addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective));
  Object.assign(new Image(), { src: address, onerror: () => setTimeout(done, 5000, "nothing") });
})
"""


@pytest.mark.browser
def test_all_tabs_keep_to_the_policy_of_the_page_and_nothing_comes_from_elsewhere(here: Served, browser: Browser):
    with open_page(browser, here.url) as page:  # at its end there is no violation in the console
        for name in TABS:
            open_tab(page, name)
    record, context = Record(), browser.new_context()
    record.watch(context)
    page = context.new_page()
    page.goto(here.url)
    assert page.evaluate(BLOCKED, "http://127.0.0.1:9/elsewhere.png") == "img-src"
    assert any("Content Security Policy" in error for error in record.errors)
    context.close()
