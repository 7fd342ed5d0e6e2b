"""Whoever calls whichever handler of the page over HTTP gets nobody else's ratings, and no system's name, too early.

The handlers are those that the app itself lists: a new one is called too. The study's answers come from a system with
an unmistakable name, and each rater's values and comments hold a word of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pdfqa_core.protocols.annotation import CRITERIA
from pdfqa_core.services import Services
from pdfqa_core.settings import Settings
from pdfqa_core.study_types import AppliesTo, Criterion, Rating, Role
from tests.storage.conftest import turn
from tests.ui.calling import Call, Caller, Handler, handlers, serving, value_for
from tests.ui.serving import ROOT

TEMPLATES = ROOT / "pdfqa_core" / "ui" / "templates"
ACTIONS = sorted({
    found for name in ("annotate*", "invite*", "mahueval*", "missed*", "page_view*")
    for file in TEMPLATES.glob(f"{name}.html")
    for found in re.findall(r'data-action="([a-z-]+)"', file.read_text(encoding="utf-8"))
}, key=lambda action: (action.startswith("delete"), action))  # fmt: skip
TAB = ("annotate", "pq-annotate", "pq-enter")
ALIKE = ("annotate-bar", "annotate-results", "annotate-dispute")  # they have the handler of `annotate-form`
SYSTEMS = ("zzsystemzz", "zzrecipezz", "zzreaderzz")
SAID = {"Ada": "zzadazz", "Ben": "zzbenzz"}
ITEM = ("zzquestionzz", "zzanswerzz")
VISITOR, STRANGER = "o" * 43, "s" * 43
NOTE = Criterion("note", (), (), (), AppliesTo.TURN, "What do you think?")


def rated(services: Services) -> dict[str, str]:
    """Make a study that two of three have rated; return the link of each, and what else is known of it."""
    store, owner = services._store, f"visitor-{VISITOR}"
    conversation = store.conversations.create(owner, "Heat pump")
    for number in range(2):
        asked = turn(f"t{number}", "A passage.", question=f"zzquestionzz {number}?")
        model, recipe, reader = SYSTEMS
        answer = replace(asked.answer, text="zzanswerzz", model=model, settings_fingerprint=recipe, reader=reader)
        store.conversations.append_turn(owner, conversation.id, replace(asked, answer=answer))
    study = store.studies.create(owner, "Pilot", [conversation.id], 1)
    store.study_changes.change(owner, study.id, criteria=(*CRITERIA, NOTE))
    links = {name: services.people.invitations.invite(owner, study.id, name) for name in ("Ada", "Ben", "Zoë")}
    links["Eve"] = services.people.invitations.invite(owner, study.id, "Eve", Role.VIEWER)
    for name, word in SAID.items():
        for key in study.turn_ids:
            said = {(key, "intent"): "boolean", (key, "answer"): "1", (f"{key}#1", "passage"): "0", (key, "note"): word}
            store.studies.save_ratings([
                Rating(study.id, item, name, criterion, value, word, 1.0, datetime.now(UTC))
                for (item, criterion), value in said.items()
            ])  # fmt: skip
    return {**links, "study": study.id, "conversation": conversation.id}


def calls(known: Sequence[Handler], ids: dict[str, str], *, actions: bool, elsewhere: bool) -> Iterator[Call]:
    """Yield calls of the handlers of the Annotate tab, with all of its `actions`, and of those `elsewhere`."""
    click = {"study": ids["study"], "id": ids["study"], "conversation": ids["conversation"], "turn": "t0", "item": "t0",
             "criterion": "answer", "value": "1", "name": "Nobody", "document": "d" * 64, "rank": "1",
             "number": "1"}  # fmt: skip
    for action in ("open", *(ACTIONS if actions else ())):
        for one in known:
            here = any(name.startswith(TAB) for name, _ in one.causes)
            again = one.clicks and not one.queued and not any(name in ALIKE for name, _ in one.causes)
            if (here and (again or action == "open")) or (elsewhere and action == "open" and not one.queued):
                values = [ids["study"] if place["props"].get("elem_id") == "annotate-study" else value_for(place)
                          for place in one.inputs]  # fmt: skip
                yield Call(one, tuple(values), {**click, "action": action})


def test_no_handler_tells_anybody_too_early(tmp_path: Path) -> None:
    assert len(ACTIONS) > 10
    ids: dict[str, str] = {}
    settings = Settings().changed("server", demo=True, per_minute=1_000_000)
    with serving(tmp_path, settings, prepare=lambda services: ids.update(rated(services))) as here:
        people = {name: Caller(here.url, f"page-{name}") for name in (*SAID, "Eve", "used", "stranger", "owner")}
        known = handlers(people["Ada"].http.get("/config").json())
        for name in (*SAID, "Eve"):
            assert "data-invited" in people[name].arrive(known, "", ids[name]).text
        assert "used before" in people["used"].arrive(known, "", ids["Ada"]).text
        people["owner"].arrive(known, VISITOR, f"?tab=annotate&study={ids['study']}")
        people["stranger"].arrive(known, STRANGER, f"?study={ids['study']}&invite=wrong")
        for name, caller in people.items():
            forbidden = [*SYSTEMS, *(word for rater, word in SAID.items() if rater != name)]
            forbidden += ITEM if name in ("used", "stranger") else ()
            said = ""
            asked = calls(known, ids, actions=name in ("Ben", "owner"), elsewhere=name == "Ben")
            for call, answer in caller.answers(asked):
                text = answer.text
                for path in set(re.findall(r'"path":\s*("[^"]+")', text)):
                    text += caller.http.get(f"/gradio_api/file={json.loads(path)}").text
                leaked = [word for word in forbidden if word in text]
                assert not leaked, f"{name} got {leaked} of {call.handler} {call.click}: {text[:2000]}"
                said += text
            assert name not in SAID or ITEM[0] in said, f"{name} saw nothing to rate, so nothing was tried"
        for path in ("/", "/config", "/gradio_api/info", "/gradio_api/openapi.json"):
            text = people["Ben"].http.get(path).text
            assert not any(word in text for word in (*SYSTEMS, *SAID.values(), *ITEM))
