"""Whoever calls whichever handler of the page over HTTP gets nobody else's ratings, and no system's name, too early.

The handlers are those that the app itself lists: a new one is called too. The study's answers come from a system with
an unmistakable name, and each rater's values and comments hold a word of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from pdfqa_core.protocols.annotation import CRITERIA
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from pdfqa_core.study_types import AppliesTo, Criterion, Rating, Role
from pdfqa_core.ui import build_page, launch
from tests.serving_fakes import FakeModels
from tests.storage.conftest import turn

TIMEOUT = 60  # seconds
TEMPLATES = Path(__file__).resolve().parents[2] / "pdfqa_core" / "ui" / "templates"
OTHER_TABS = (
    "add_folder", "conversations", "documents", "encoder", "evaluate", "evidence", "follow_ups", "found", "hits",
    "live", "models", "overview", "preview", "reader_switch", "refusal", "train",
    "transcript", "turn", "work",
)  # fmt: skip
ACTIONS = sorted({
    found for one in TEMPLATES.glob("*.html") if not one.name.startswith(OTHER_TABS)
    for found in re.findall(r'data-action="([a-z-]+)"', one.read_text(encoding="utf-8"))
})  # fmt: skip
SYSTEM, RECIPE, READER = "zzsystemzz", "zzrecipezz", "zzreaderzz"
SAID = {"Ada": "zzadazz", "Ben": "zzbenzz"}
SYSTEMS = (SYSTEM, RECIPE, READER)
VISITOR, STRANGER = "o" * 43, "s" * 43
NOTE = Criterion("note", (), (), (), AppliesTo.TURN, "What do you think?")


@dataclass
class Caller:
    """A page of the app, as its server knows it."""

    url: str
    config: Mapping[str, Any]
    session: str
    known: Mapping[str, str]
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=TIMEOUT))

    def arrive(self, visitor: str = "", tokens: Any = None, address: str = "") -> str:
        loading = next(one for one in self.config["dependencies"] if [t[1] for t in one["targets"]] == ["load"])
        return self.call(loading, [visitor, tokens or {}, [], "", address])

    def call(self, handler: Mapping[str, Any], data: list[Any], **event: Any) -> str:
        body = {"data": data, "event_data": event, "fn_index": handler["id"], "session_hash": self.session}
        if not handler["queue"]:
            return self.kept(self.http.post(f"{self.url}/gradio_api/run/predict", json=body, timeout=TIMEOUT).text)
        joined = self.http.post(f"{self.url}/gradio_api/queue/join", json=body, timeout=TIMEOUT)
        received = [joined.text]
        if joined.status_code == 200:
            where = {"session_hash": self.session}
            with self.http.stream("GET", f"{self.url}/gradio_api/queue/data", params=where, timeout=TIMEOUT) as lines:
                for line in lines.iter_lines():
                    received.append(line)
                    if "process_completed" in line or "close_stream" in line:
                        break
        return self.kept("\n".join(received))

    def kept(self, answer: str) -> str:
        """Return an answer with the content of the files that it names."""
        for path in set(re.findall(r'"path":\s*("[^"]+")', answer)):
            answer += self.http.get(f"{self.url}/gradio_api/file={json.loads(path)}", timeout=TIMEOUT).text
        return answer

    def inputs(self, handler: Mapping[str, Any], number: int) -> list[Any]:
        """Return values for a handler: those that its fields begin with, or what somebody knows of the study."""
        components = {one["id"]: one for one in self.config["components"]}
        found = []
        for place in handler["inputs"]:
            kind, value = components[place]["type"], components[place]["props"].get("value")
            texts = kind in ("textbox", "dropdown", "html", "browserstate")
            if kind == "api":  # of a program: what somebody knows, in the place of what must be given
                found.append(_given(components[place]["props"]))
                continue
            found.append(None if kind == "state" else list(self.known.values())[number] if texts and number else value)
        return found

    def everything(self, *, actions: bool = True, waiting: bool = True) -> Iterator[tuple[str, str]]:
        """Call every handler, those of the Annotate tab with every action; yield what each was and said.

        `actions`: as said, else one action is tried; `waiting`: also those of other tabs that wait in a queue, which
        takes Gradio a while.
        """
        inside, components = set(), {one["id"]: one for one in self.config["components"]}

        def collect(node: Mapping[str, Any], within: bool) -> None:
            within = within or components[node["id"]]["props"].get("elem_id") == "pq-annotate"
            if within:
                inside.add(node["id"])
            for child in node.get("children") or ():
                collect(child, within)

        for node in self.config["layout"]["children"]:
            collect(node, False)
        assert len(inside) > 20
        for handler in self.config["dependencies"]:
            if not handler["backend_fn"] or any(event == "load" for _, event in handler["targets"]):
                continue
            here = any(block in inside for block, _ in handler["targets"])
            where = "annotate" if here else "elsewhere"
            if handler["queue"] and not here and not waiting:
                continue
            for number in (0, 1) if here and not handler["queue"] else (0,):
                yield where, self.call(handler, self.inputs(handler, number), **self.known, action="open")
            if actions and here and handler["collects_event_data"]:
                for action in ACTIONS:
                    yield where, self.call(handler, self.inputs(handler, 0), **self.known, action=action)


def _given(props: Mapping[str, Any]) -> Any:
    kind = (props.get("api_info") or props.get("_api_info") or {}).get("type")
    if props.get("value") is not None:
        return props["value"]
    return {"string": "zzquestionzz 0?", "integer": 1, "array": [], "object": {}}.get(str(kind))


def rated(services: Services, owner: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """Make a study that two of three have rated; return its id, what is known of it, and a link for each."""
    store = services._store
    conversation = store.conversations.create(owner, "Heat pump")
    for number in range(2):
        asked = turn(f"t{number}", "A passage.", question=f"zzquestionzz {number}?")
        answer = replace(asked.answer, text="zzanswerzz", model=SYSTEM, settings_fingerprint=RECIPE, reader=READER)
        store.conversations.append_turn(owner, conversation.id, replace(asked, answer=answer))
    study = store.studies.create(owner, "Pilot", [conversation.id], 1)
    store.study_changes.change(owner, study.id, criteria=(*CRITERIA, NOTE))
    links = {name: services.invitations.invite(owner, study.id, name) for name in ("Ada", "Ben", "Zoë")}
    links["Eve"] = services.invitations.invite(owner, study.id, "Eve", Role.VIEWER)
    for name, word in SAID.items():
        for turn_id in study.turn_ids:
            given = {(turn_id, "intent"): "boolean", (turn_id, "answer"): "1", (f"{turn_id}#1", "passage"): "0",
                     (turn_id, "note"): word}  # fmt: skip
            store.studies.save_ratings([
                Rating(study.id, item, name, criterion, value, word, 1.0, datetime.now(UTC))
                for (item, criterion), value in given.items()
            ])  # fmt: skip
    known = {
        "study": study.id, "turn": "t0", "item": "t0", "criterion": "answer", "value": "1", "name": "Nobody",
        "conversation": conversation.id, "document": "d" * 64, "rank": "1", "number": "1", "id": study.id,
    }  # fmt: skip
    return study.id, known, links


@pytest.mark.parametrize(
    "demo", [pytest.param(True, id="demo"), pytest.param(False, id="local", marks=pytest.mark.slow)]
)
def test_no_handler_tells_anybody_too_early(tmp_path, demo):
    assert len(ACTIONS) > 10
    owner = f"visitor-{VISITOR}" if demo else LOCAL_OWNER
    with Services.open(tmp_path / "w", Settings().changed("server", demo=demo), FakeModels()) as services:
        study_id, known, links = rated(services, owner)
        page = build_page(services)
        url = launch(page, services, port=0).rstrip("/")
        config = httpx.get(f"{url}/config", timeout=TIMEOUT).json()
        try:
            pages = {name: Caller(url, config, f"page-{name}", known) for name in (*links, "used", "never", "stranger")}
            del pages["Zoë"]
            for name in ("Ada", "Ben", "Eve"):
                said = pages[name].arrive(address=links[name])
                assert "data-invited" in said
                assert name in said
            assert "used before" in pages["used"].arrive(address=links["Ada"])
            pages["stranger"].arrive(STRANGER, address="" if demo else f"?study={study_id}&invite=wrong")
            if not demo:  # a page that never said who it is belongs to whoever sits at the computer
                pages = {name: pages[name] for name in ("Ben", "used")}
            for name, caller in pages.items():
                forbidden = [*SYSTEMS, *(word for rater, word in SAID.items() if rater != name)]
                if name in ("used", "never", "stranger"):
                    forbidden += ["zzquestionzz", "zzanswerzz"]
                seen = 0
                for where, answer in caller.everything(
                    actions=name in ("Ben", "Eve", "stranger"), waiting=demo and name in ("Ben", "stranger")
                ):
                    leaked = [word for word in forbidden if word in answer]
                    assert not leaked, f"{name} got {leaked} ({where}): {answer[:2000]}"
                    seen += "zzquestionzz" in answer
                assert seen or name not in ("Ada", "Ben"), f"{name} saw nothing to rate, so nothing was tried"
            mine = Caller(url, config, "page-owner", known)
            mine.arrive(VISITOR, address=f"?tab=annotate&study={study_id}")
            for where, answer in mine.everything(actions=demo, waiting=demo):
                forbidden = [*SAID.values(), *(SYSTEMS if where == "annotate" else ())]
                leaked = [word for word in forbidden if word in answer]
                assert not leaked, f"the owner got {leaked} ({where}): {answer[:2000]}"
            for path in ("/", "/config", "/gradio_api/info", "/gradio_api/openapi.json"):
                text = httpx.get(f"{url}{path}", timeout=TIMEOUT).text
                assert not any(word in text for word in (*SYSTEMS, *SAID.values(), "zzquestionzz"))
        finally:
            page.close(verbose=False)
