"""The app as a process of its own, as a user starts it, and a browser page that keeps a record of what went wrong."""

from __future__ import annotations

import asyncio
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, expect

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = ROOT / "data" / "sample" / "harbour-heat.pdf"
START_SECONDS = 300
WAIT = 180_000  # milliseconds that a busy machine may take for one step
SLOWED = float(os.environ.get("TEST_SLOW_BROWSER", "1"))  # times; what arrives late on a slow machine shows itself then
BROWSERS = (  # the first without windows of its own: a page costs a third less processor time
    "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
)  # fmt: skip
BROWSER_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
)
LEFT = re.compile(
    "AbortError|Connection errored out|network error|Failed to fetch|ERR_ABORTED|ERR_NETWORK|ERR_INCOMPLETE_CHUNKED|"
    "ERR_CONNECTION_REFUSED",
    re.IGNORECASE,
)
SENT = re.compile("/run/predict")  # where the page sends what somebody does
_ADDRESS = re.compile(r"open at (http://\S+)")
_LOGGED = 6000  # characters of the log that a failure shows

expect.set_options(timeout=WAIT)


def clean_environment(**changes: str) -> dict[str, str]:
    """Return this process's environment without what would change how the app starts, but for the models of tests."""
    ours = ("PDFQA_", "GRADIO_", "SPACE_", "PORT", "PYTHONDONTWRITEBYTECODE")
    kept = {
        k: v for k, v in os.environ.items() if k.startswith(("PDFQA_MODEL", "PDFQA_ENCODERS")) or not k.startswith(ours)
    }
    return {**kept, **changes}


def chromium() -> str:
    """Return the path of the browser. Its absence is a failure: these tests are what proves the page."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise AssertionError(
        f"No browser was found (looked for {', '.join(BROWSERS)}). Install one: apt-get install {BROWSERS[0]}."
    )


@dataclass
class App:
    """A running app."""

    url: str
    workspace: Path
    temporary: Path
    process: subprocess.Popen[str]
    log: list[str]

    def log_tail(self) -> str:
        """Return the end of what the app printed."""
        return "".join(self.log)[-_LOGGED:]


SERVE = ("-m", "pdfqa_core", "serve")


def serve_command(workspace: Path, *options: str, program: Sequence[str] = SERVE) -> list[str]:
    """Return the command that serves a workspace on a free port."""
    return [sys.executable, *program, "--workspace", str(workspace), "--port", "0", *options]


@contextmanager
def running(
    folder: Path, *options: str, environment: Mapping[str, str] | None = None, program: Sequence[str] = SERVE
) -> Iterator[App]:
    """Serve an empty workspace inside `folder` until the block ends; its temporary files lie beside it."""
    workspace, temporary = folder / "workspace", folder / "temporary"
    temporary.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        serve_command(workspace, *options, program=program),
        cwd=ROOT,
        env=clean_environment(TMPDIR=str(temporary), **(environment or {})),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    log: list[str] = []
    addresses: queue.Queue[str] = queue.Queue()
    reading = threading.Thread(target=_read, args=(process, log, addresses), daemon=True)
    reading.start()
    try:
        yield App(_address(process, log, addresses), workspace, temporary, process, log)
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reading.join(timeout=5)


def _read(process: subprocess.Popen[str], log: list[str], addresses: queue.Queue[str]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            log.append(line)
            if found := _ADDRESS.search(line):
                addresses.put(found[1].rstrip("/"))
    addresses.put("")


def _address(process: subprocess.Popen[str], log: list[str], addresses: queue.Queue[str]) -> str:
    try:
        address = addresses.get(timeout=START_SECONDS)
    except queue.Empty:
        address = ""
    assert address, f"The app did not start (exit status {process.poll()}):\n{''.join(log)[-_LOGGED:]}"
    return address


# What Gradio's own script says when a page is left or loaded again while it waits for an answer.
_LEFT = ("AbortError: signal is aborted without reason", "Unexpected error Connection errored out.")


@dataclass
class Record:
    """What went wrong in a page while it was open."""

    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> Callable[[], None]:
        """Take down console errors, script errors and requests to other hosts of every page of the context.

        Return what ends it.
        """

        def said(message: Any) -> None:
            if message.type == "error":
                self._error(f"{message.text} {message.location.get('url', '')}".strip())

        def failed(error: Any) -> None:
            self.errors.append(f"script error: {error.error}")

        def asked(request: Any) -> None:
            self._request(request.url)

        context.on("console", said)
        context.on("weberror", failed)
        context.on("request", asked)

        def end() -> None:
            context.remove_listener("console", said)
            context.remove_listener("weberror", failed)
            context.remove_listener("request", asked)

        return end

    def _error(self, text: str) -> None:
        if not text.startswith(_LEFT):
            self.errors.append(text)

    def _request(self, url: str) -> None:
        if not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "about:")):
            self.outside.append(url)


class Profiles:
    """Browser profiles that are used again, emptied: where the page's scripts are cached it opens in less time."""

    def __init__(self) -> None:
        self._free: dict[tuple[Browser, str], list[BrowserContext]] = {}

    @contextmanager
    def one(self, browser: Browser, options: Mapping[str, Any]) -> Iterator[BrowserContext]:
        """Give an empty profile to the block, which nobody else has; after a failure it is not used again."""
        free = self._free.setdefault((browser, repr(sorted(options.items()))), [])
        context = free.pop() if free else browser.new_context(**options)
        try:
            yield context
            self._empty(context)
        except BaseException:
            context.close()
            raise
        free.append(context)

    @staticmethod
    def _empty(context: BrowserContext) -> None:
        """Close all pages and forget cookies, permissions and what the pages stored."""
        blank = context.new_page()
        origins = {"{0.scheme}://{0.netloc}".format(urlsplit(page.url)) for page in context.pages}
        for page in context.pages:
            if page is not blank:
                page.close()
        session = context.new_cdp_session(blank)
        for origin in origins:
            session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        context.clear_cookies()
        context.clear_permissions()
        blank.close()


PROFILES = Profiles()


@contextmanager
def open_page(browser: Browser, url: str, *, left: bool = False, before: str = "", **options: Any) -> Iterator[Page]:
    """Open the app in an empty browser profile; questions are confirmed; nothing may have gone wrong at the end.

    `left`: the page is left while the server answers, which Gradio's script says in the console. `before`: a script
    that runs before those of the page.
    """
    record = Record()
    options = {"viewport": {"width": 1440, "height": 900}, "accept_downloads": True, **options}
    with PROFILES.one(browser, options) as context:
        context.set_default_timeout(WAIT)
        end = record.watch(context)
        page = context.new_page()
        if SLOWED > 1:
            context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
        page.on("dialog", lambda dialog: dialog.accept())
        if before:
            page.add_init_script(before)
        page.goto(url)
        expect(page.locator("#documents-table")).to_contain_text(re.compile("No documents yet|Document"))
        yield page
        end()
    assert record.outside == [], "the page asked another host"
    errors = [error for error in record.errors if not left or not LEFT.search(error)]
    assert errors == [], f"the browser's console shows errors: {errors}"


def open_tab(page: Page, name: str) -> None:
    """Open a tab and wait until it is filled: what the program shows of it comes with an answer of its own."""
    tab = page.get_by_role("tab", name=name, exact=True)
    if tab.get_attribute("aria-selected") == "true":
        tab.click()
        return
    with page.expect_response(
        lambda one: SENT.search(one.url) and f'"value":"{name}"' in (one.request.post_data or "")
    ):
        tab.click()
    expect(tab).to_have_attribute("aria-selected", "true")
    settle(page)


def open_fold(page: Page, name: str) -> None:
    """Open an accordion, and wait until its fields are there for good."""
    page.get_by_role("button", name=name).click()
    settle(page)


def settle(page: Page) -> None:
    """Wait until Gradio has drawn what came: it sets the fields of what is shown first once more, a frame later."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
    )


def run_apart(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread of its own: a browser of other tests keeps this thread's loop running."""
    with ThreadPoolExecutor(1) as own:
        return own.submit(asyncio.run, coroutine).result()
