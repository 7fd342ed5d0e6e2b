"""What the server must not give away, asked over HTTP and as a second visitor."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from urllib.parse import quote

import httpx
import psutil
import pytest

from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from pdfqa_core.types import Document
from tests.ui.serving import ROOT, SAMPLE, WAIT, clean_environment, open_page, serve_command

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("prefix", ["/gradio_api/file=", "/file=", "/gradio_api/file/"])
def test_no_file_of_this_computer_is_served(app, prefix):
    secrets = [
        app.workspace / "pdfqa.sqlite",
        ROOT / "README.md",
        ROOT / "app.py",
        SAMPLE,
        Path("/etc/passwd"),
        Path("../../../../../../etc/passwd"),
    ]
    assert secrets[0].exists()
    for secret in secrets:
        for path in (str(secret), quote(str(secret), safe=""), f"./{secret}"):
            answer = httpx.get(f"{app.url}{prefix}{path}", timeout=30)
            assert answer.status_code >= 400, f"{prefix}{path} gave {answer.status_code}"
            assert b"root:" not in answer.content
            assert b"SQLite format" not in answer.content


def test_the_page_loads_nothing_from_elsewhere(app):
    html = httpx.get(app.url, timeout=30).text
    loaded = re.findall(r"<(?:script|img|iframe)[^>]+src=[\"'](https?:[^\"']+)", html)
    loaded += re.findall(
        r"<link[^>]+rel=[\"']?(?:stylesheet|preload|modulepreload|manifest)[^>]+href=[\"'](https?:[^\"']+)", html
    )
    assert [address for address in loaded if not address.startswith(app.url)] == []
    assert '"analytics_enabled":false' in html.replace(" ", "")


def test_it_listens_on_this_computer_only(app):
    port = int(app.url.rsplit(":", 1)[1])
    addresses = {
        connection.laddr.ip
        for connection in psutil.Process(app.process.pid).net_connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
    }
    assert addresses == {"127.0.0.1"}


def test_a_public_tunnel_is_refused(tmp_path):
    command = serve_command(tmp_path / "workspace")
    done = subprocess.run(
        command, cwd=ROOT, env=clean_environment(GRADIO_SHARE="True"), capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "documents must not leave this computer" in done.stderr


def test_visitors_of_a_demo_do_not_see_each_other(demo, browser):
    with open_page(browser, demo.url) as first:
        first.locator("#documents-table button[data-action=sample]").click()
        first.wait_for_selector("#documents-table tr[data-document]", timeout=WAIT)
        document_id = first.get_attribute("#documents-table tr[data-document]", "data-document")
        with open_page(browser, demo.url) as second:
            second.wait_for_selector("#documents-table .empty", timeout=WAIT)
            assert second.locator("#documents-table tr[data-document]").count() == 0
            # The second visitor forges the click that opens the first one's document.
            second.evaluate(
                """id => { const table = document.querySelector('#documents-table .pq');
                table.insertAdjacentHTML('beforeend', `<div id="forged" data-action="open" data-document="${id}">x</div>`);
                document.querySelector('#forged').click(); }""",
                document_id,
            )
            second.wait_for_timeout(2000)
            assert second.locator("#documents-page img").count() == 0
            assert second.locator("#documents-table tr[data-document]").count() == 0
        assert first.locator("#documents-table tr[data-document]").count() == 1


def test_handlers_cannot_be_called_with_somebody_elses_document(tmp_path):
    with Services(tmp_path, Settings()) as services:
        documents = [event for event in services.ingest(LOCAL_OWNER, [SAMPLE]) if isinstance(event, Document)]
        with pytest.raises(Exception, match="There is no document"):
            services.page_view("visitor-x", documents[0].id, 1)
        assert services.page_view(LOCAL_OWNER, documents[0].id, 1).image
