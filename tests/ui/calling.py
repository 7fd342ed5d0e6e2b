"""The app inside the process of the tests, called past its page: every handler and route, as somebody in particular."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client

from pdfqa_core.services import Services
from pdfqa_core.settings import Settings
from pdfqa_core.ui import AccountBlocks, build_page, downloads, launch
from pdfqa_core.ui.guard import BY_ITSELF
from tests.serving_fakes import FakeEngine
from tests.ui.inside import opened
from tests.ui.serving import ROOT

TIMEOUT = 180.0  # seconds that one answer may take on a busy machine
AT_A_TIME = 40  # calls that wait in the queue together; it takes 64
QUESTION = "How often are the meters read?"
MODELS = ("train-base",)  # fields that name a model, which is for owners alone: they stay empty
_MADE = re.compile(r"/(indexes|cache)/|/pdfqa\.sqlite[^/]*$")
_ACTION = re.compile(r"""data-action=["']([a-z-]+)["']""")


class Talker(FakeEngine):
    """A language model that always says the same."""

    def write(self, schema: Any, stop: Any) -> Iterator[str]:
        yield "The meters are read every 15 minutes."


@dataclass
class Served:
    """An app in the process of the tests, with its services."""

    url: str
    services: Services
    page: AccountBlocks


@contextmanager
def serving(
    folder: Path, settings: Settings, *, password: str = "", prepare: Callable[[Services], object] | None = None
) -> Iterator[Served]:
    """Serve the workspace in `folder` until the block ends; `prepare` makes what there is from the beginning."""
    settings = settings.changed("llm", model="smollm2-135m")
    with pytest.MonkeyPatch.context() as environment, opened(folder, settings, Talker) as services:
        if prepare is not None:
            prepare(services)
        environment.setenv("GRADIO_TEMP_DIR", str(downloads.uploads()))
        page = build_page(services)
        url = launch(page, services, port=0, password=password).rstrip("/")
        try:
            yield Served(url, services, page)
        finally:
            page.close(verbose=False)


def actions() -> list[str]:
    """Return what the page's own buttons can ask for inside an element."""
    files = [*(ROOT / "pdfqa_core/ui").rglob("*.html"), *(ROOT / "pdfqa_core/ui").rglob("*.js")]
    return sorted({found for file in files for found in _ACTION.findall(file.read_text(encoding="utf-8"))})


@dataclass(frozen=True)
class Handler:
    """A handler as the app describes it: what sets it off (elements by name, and the event), takes, and fills."""

    number: int
    name: str
    queued: bool
    clicks: bool
    by_hand: bool
    causes: tuple[tuple[str, str], ...]
    inputs: tuple[dict[str, Any], ...]
    fills: tuple[str, ...]

    @property
    def named(self) -> bool:
        """Whether it is an endpoint for other programs."""
        return not self.causes

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(f'{element} {event}' for element, event in self.causes)})"


def handlers(config: dict[str, Any]) -> list[Handler]:
    """Return all that a page's description (`/config`) names as answered by the server."""
    elements = {one["id"]: one for one in config["components"]}
    described = {one["id"]: one for one in config["dependencies"]}
    found = []
    for one in described.values():
        first = one
        while first["trigger_after"] is not None:
            first = described[first["trigger_after"]]
        causes = tuple((_name(elements.get(block)), event) for block, event in first["targets"])
        by_itself = one["trigger_after"] is not None or {event for _, event in one["targets"]} & BY_ITSELF
        if one["backend_fn"]:
            found.append(Handler(
                one["id"], one["api_name"], one["queue"], one["collects_event_data"], not by_itself, causes,
                tuple(elements[block] for block in one["inputs"]),
                tuple(_name(elements[block]) for block in one["outputs"]),
            ))  # fmt: skip
    return found


def _name(element: dict[str, Any] | None) -> str:
    return str((element or {"props": {}})["props"].get("elem_id") or "")


def value_for(element: dict[str, Any]) -> Any:
    """Return what a browser could send for an input; None for what the server keeps itself, and for files."""
    properties, kind = element["props"], element["type"]
    choices = [choice[1] for choice in properties.get("choices") or ()]
    if kind in ("dropdown", "radio"):
        chosen = choices[0] if choices else None
        return choices[:1] if properties.get("multiselect") else chosen
    if kind in ("number", "slider"):
        return properties.get("value") or properties.get("minimum") or 1
    if properties.get("elem_id") in MODELS:
        return ""
    simple = {"checkbox": True, "checkboxgroup": choices, "textbox": QUESTION, "api": QUESTION, "html": ""}
    return simple.get(kind)


@dataclass
class Answer:
    """What came back: the status, everything as text, and the last values, one for each output."""

    status: int = 200
    text: str = ""
    values: list[Any] = field(default_factory=list)

    def take(self, message: dict[str, Any], line: str) -> None:
        """Add one message of a stream, as it arrived."""
        self.text += line
        if message["msg"] == "process_completed":
            self.values = message["output"].get("data") or []
            self.status = 200 if message["success"] else 500


@dataclass(frozen=True)
class Call:
    """A handler to be called with these values, and the data of a click."""

    handler: Handler
    values: tuple[Any, ...] | None = None
    click: dict[str, Any] | None = None

    def body(self, session: str) -> dict[str, Any]:
        """Return what is sent."""
        values = [value_for(one) for one in self.handler.inputs] if self.values is None else list(self.values)
        return {"data": values, "event_data": self.click, "fn_index": self.handler.number, "session_hash": session}


def program(url: str, **headers: str) -> Client:
    """Return a program that uses the named endpoints by Gradio's client."""
    return Client(url, headers=headers, verbose=False, httpx_kwargs={"timeout": TIMEOUT})


class Caller:
    """A browser with one page open. `session` is how the server knows the page.

    `left`: after so many seconds it leaves work that goes on and on.
    """

    def __init__(self, url: str, session: str, **headers: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=TIMEOUT, headers=headers)
        self.session, self.left = session, TIMEOUT

    def sign_in(self, name: str, password: str) -> None:
        """Sign in to an account."""
        answer = self.http.post("/sign-in", data={"name": name, "password": password})
        assert answer.status_code == 303, answer.text

    def arrive(self, known: Sequence[Handler], visitor: str = "", address: str = "") -> Answer:
        """Do what the page does when it is loaded: say who visits, and at which address."""
        (first,) = [one for one in known if one.causes == (("", "load"),) and one.by_hand is False and one.inputs
                    and one.inputs[0]["type"] == "browserstate"]  # fmt: skip
        values = [visitor, {}, [], "", address, *[None] * (len(first.inputs) - 5)]
        return next(self.answers([Call(first, tuple(values))]))[1]

    def answers(self, calls: Iterable[Call]) -> Iterator[tuple[Call, Answer]]:
        """Make all calls and return what came back of each."""
        asked = list(calls)
        for call in (one for one in asked if not one.handler.queued):
            yield call, self._at_once(call)
        queued = [call for call in asked if call.handler.queued]
        for first in range(0, len(queued), AT_A_TIME):
            yield from self._queued(queued[first : first + AT_A_TIME])

    def _at_once(self, call: Call) -> Answer:
        answer = self.http.post("/gradio_api/run/predict", json=call.body(self.session))
        values = answer.json().get("data") if answer.status_code == 200 else None
        return Answer(answer.status_code, answer.text, values or [])

    def _queued(self, calls: Sequence[Call]) -> Iterator[tuple[Call, Answer]]:
        waiting: dict[str, tuple[Call, Answer]] = {}
        for call in calls:
            joined = self.http.post("/gradio_api/queue/join", json=call.body(self.session))
            if joined.status_code == 200:
                waiting[joined.json()["event_id"]] = (call, Answer())
            else:
                yield call, Answer(joined.status_code, joined.text)
        if waiting:
            self._listen({number: answer for number, (_, answer) in waiting.items()})
        yield from waiting.values()

    def _listen(self, waiting: dict[str, Answer]) -> None:
        ends = time.monotonic() + self.left
        where, page = "/gradio_api/queue/data", {"session_hash": self.session}
        with suppress(httpx.ReadTimeout), self.http.stream("GET", where, params=page, timeout=self.left) as lines:
            for line in lines.iter_lines():
                message = json.loads(line.removeprefix("data: ")) if line else {}
                if answer := waiting.get(message.get("event_id")):
                    answer.take(message, line)
                if time.monotonic() > ends:
                    return


def routes(description: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield method and path of each route in the server's own description (`/openapi.json`), with all parts filled."""
    for path, methods in description["paths"].items():
        for method in methods:
            yield method.upper(), re.sub(r"{[a-z_]+}", "x", path)


def beginning(http: httpx.Client, method: str, path: str) -> tuple[int, str]:
    """Return the status and the first part of what a route answers; some stream for ever."""
    sent: dict[str, Any] = {"headers": {"Connection": "close"}, **({"json": {}} if method == "POST" else {})}
    with http.stream(method, path, params={"session_hash": "x"}, **sent) as answer:
        lasting = "text/event-stream" in answer.headers.get("content-type", "")
        return answer.status_code, "" if lasting else answer.read().decode("utf-8", "replace")


def kept(workspace: Path) -> Counter[str]:
    """Return the rows of all tables and the files of a workspace as they are now, but for what is made of others.

    That somebody was seen, and who does what in the background, is left out too.
    """
    found = Counter(str(file) for file in workspace.rglob("*") if file.is_file() and not _MADE.search(str(file)))
    with closing(sqlite3.connect(f"file:{workspace / 'pdfqa.sqlite'}?mode=ro", uri=True)) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if not name.startswith(("sqlite_", "page_texts", "sign_ins", "work")):
                found.update(f"{name}: {row}" for row in database.execute(f'SELECT * FROM "{name}"'))
    return found
