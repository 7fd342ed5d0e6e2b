"""What the server must not give away, asked over HTTP past the page and as a second visitor."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import psutil
import pytest
from playwright.sync_api import Browser, Page, expect

from pdfqa_core.ui import TABS
from tests.ui.serving import ROOT, SAMPLE, App, Record, clean_environment, open_page, open_tab, serve_command

TIMEOUT = 60  # seconds
OPEN_DOCUMENTS = "documents-table"
SHOW_PAGE = "documents-page"


# ------------------------------------------------------------ files and addresses


@pytest.mark.parametrize(
    "route", ["/gradio_api/file=", "/file=", "/gradio_api/file/", "/file/", "/static/", "/assets/"]
)
def test_no_file_of_this_computer_is_served(app: App, route: str):
    kept = app.workspace / "pdfs" / "kept.pdf"
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(SAMPLE.read_bytes())
    secrets = (app.workspace / "pdfqa.sqlite", kept, ROOT / "README.md", SAMPLE, Path("/etc/passwd"))
    up = "../" * 12
    for secret in secrets:
        assert secret.exists()
        path = str(secret)
        for form in (path, quote(path, safe=""), f"{up}{path[1:]}", quote(f"{up}{path[1:]}", safe=""), f".{path}"):
            answer = httpx.get(f"{app.url}{route}{form}", timeout=TIMEOUT)
            assert 400 <= answer.status_code < 500, f"{route}{form} gave {answer.status_code}"
            assert secret.read_bytes()[:16] not in answer.content
    kept.unlink()


def test_the_page_loads_nothing_from_elsewhere_and_reports_to_nobody(app: App):
    html = httpx.get(app.url, timeout=TIMEOUT).text
    tags = re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*", html)
    assert len(tags) > 3
    loaded = [tag for tag in tags if re.search(r"(?:src|href|srcset)\s*=\s*[\"']?(?:https?:)?//", tag)]
    assert loaded == []
    styles = "".join(re.findall(r"<style\b[^>]*>(.*?)</style>", html, re.DOTALL))
    assert re.findall(r"url\([^)]*//[^)]*\)|@import", styles) == []
    config = httpx.get(f"{app.url}/config", timeout=TIMEOUT).json()
    assert config["analytics_enabled"] is False
    assert config["run_history"] is False
    assert re.findall(r"url\([^)]*//[^)]*\)|@import", config["css"]) == []


BLOCKED = """
(address) => new Promise((done) => {
  document.addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective));
  Object.assign(new Image(), { src: address, onerror: () => setTimeout(done, 5000, "nothing") });
})
"""


@pytest.mark.browser
def test_all_tabs_keep_to_the_policy_of_the_page_and_nothing_comes_from_elsewhere(app: App, browser: Browser):
    with open_page(browser, app.url) as page:  # at its end there is no violation in the console
        for name in TABS:
            open_tab(page, name)
    record, context = Record(), browser.new_context()
    record.watch(context)
    page = context.new_page()
    page.goto(app.url)
    assert page.evaluate(BLOCKED, "http://127.0.0.1:9/elsewhere.png") == "img-src"
    assert any("Content Security Policy" in error for error in record.errors)
    context.close()


def test_it_listens_on_this_computer_only(app: App):
    listening = [
        connection.laddr
        for connection in psutil.Process(app.process.pid).net_connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert {address.ip for address in listening} == {"127.0.0.1"}
    assert urlsplit(app.url).port in {address.port for address in listening}


@pytest.mark.parametrize("value", ["1", "true"])
def test_a_public_tunnel_is_refused(tmp_path: Path, value: str):
    done = subprocess.run(
        serve_command(tmp_path / "workspace"), cwd=ROOT, env=clean_environment(GRADIO_SHARE=value),
        capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "GRADIO_SHARE is set, but documents must not leave this computer." in done.stderr
    assert not (tmp_path / "workspace").exists()


# ------------------------------------------------------------ handlers called past the page


def call(app: App, element: str, event: str, data: list[Any], session: str, **event_data: Any) -> str:
    """Call the handler of an element's event as the page would, and return everything that comes back.

    Inputs that are not given are empty, as those are that the server keeps itself.
    """
    config = httpx.get(f"{app.url}/config", timeout=TIMEOUT).json()
    ids = {one["props"].get("elem_id"): one["id"] for one in config["components"]}
    handler = next(one for one in config["dependencies"] if [ids[element], event] in one["targets"])
    data = [*data, *[None] * (len(handler["inputs"]) - len(data))]
    body = {"data": data, "event_data": event_data, "fn_index": handler["id"], "session_hash": session}
    if not handler["queue"]:
        return httpx.post(f"{app.url}/gradio_api/run/predict", json=body, timeout=TIMEOUT).text
    joined = httpx.post(f"{app.url}/gradio_api/queue/join", json=body, timeout=TIMEOUT)
    assert joined.status_code == 200, joined.text
    received = []
    stream = httpx.stream("GET", f"{app.url}/gradio_api/queue/data", params={"session_hash": session}, timeout=TIMEOUT)
    with stream as lines:
        for line in lines.iter_lines():
            received.append(line)
            if "process_completed" in line or "close_stream" in line:
                break
    return "\n".join(received)


def uploaded(app: App) -> dict[str, Any]:
    """Upload the sample to the server without saying whose it is, and return what refers to it."""
    answer = httpx.post(f"{app.url}/gradio_api/upload", files={"files": SAMPLE.open("rb")}, timeout=TIMEOUT)
    return {"path": answer.json()[0], "meta": {"_type": "gradio.FileData"}}


def upload(app: App, file: dict[str, Any], session: str) -> str:
    """Add a file as the page does: with no folder, its session, and the form of reading."""
    return call(app, "documents-upload", "upload", [[file], "", None, "direct", True, "auto"], session)


def test_a_handler_reads_and_deletes_no_file_that_was_not_uploaded(app: App, tmp_path: Path):
    private = tmp_path / "private.pdf"
    private.write_bytes(SAMPLE.read_bytes())
    file = {"path": str(private), "meta": {"_type": "gradio.FileData"}}
    answer = upload(app, file, "forger")
    assert '"success":false' in answer.replace(" ", "")
    assert private.exists()
    assert "harbour" not in call(app, OPEN_DOCUMENTS, "click", ["", None], "forger", action="open", document="").lower()


def session_of(page: Page) -> str:
    """Return the name under which the server knows an open page."""
    with page.expect_request(lambda request: "session_hash" in (request.post_data or "")) as sent:
        page.get_by_role("tab", name="Models").click()
    return str(json.loads(sent.value.post_data or "{}")["session_hash"])


@pytest.mark.browser
def test_visitors_of_a_demo_do_not_see_each_other(demo: App, browser: Browser):
    with open_page(browser, demo.url) as first, open_page(browser, demo.url) as second:
        first.get_by_role("button", name="Try the sample").click()
        row = first.locator("#documents-table tr[data-document]")
        expect(row.locator(".state")).to_have_text("ready")
        document = {"action": "page", "document": row.get_attribute("data-document"), "number": 2}
        second.reload()
        expect(second.locator("#documents-table")).to_contain_text("No documents yet")
        expect(second.locator("#documents-table tr[data-document]")).to_have_count(0)

        own = call(demo, SHOW_PAGE, "click", [None], session_of(first), **document)
        assert "data:image" in own
        assert "page 2 of" in own
        for session in (session_of(second), "unknown"):
            foreign = call(demo, SHOW_PAGE, "click", [None], session, **document)
            assert "data:image" not in foreign
            assert "Kestrel" not in foreign
            assert "Choose a document" in foreign
            removed = call(
                demo, OPEN_DOCUMENTS, "click", ["", None], session, action="remove", document=document["document"]
            )
            assert "There is no such document" in removed
        first.reload()
        open_tab(first, "Documents")
        expect(row.locator(".state")).to_have_text("ready")


def test_a_demo_takes_nothing_from_a_page_that_does_not_say_who_is_visiting(demo: App):
    files = {"files": SAMPLE.open("rb")}
    for headers in ({}, {"x-pdfqa-ticket": "made up"}):
        answer = httpx.post(f"{demo.url}/gradio_api/upload", files=files, headers=headers, timeout=TIMEOUT)
        assert (answer.status_code, "does not say whose it is" in answer.text) == (403, True)
    shown = call(demo, OPEN_DOCUMENTS, "click", ["", None], "nameless-2", action="open", document="")
    assert "harbour-heat.pdf" not in shown
