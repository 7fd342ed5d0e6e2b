"""Every handler and route that the app describes, over HTTP, as everybody: who may what is said in one place, `MAY`.

A new handler is called by itself: viewers and annotators are refused it unless `MAY` names its element, and whoever may
not write leaves every table and file as it was. A new route lets in nobody who has not signed in, unless `OPEN` says
so, whether accounts or one password are set. A demo has no accounts, so there is somebody whose page never said who
visits, a visitor, and another visitor.
Viewers and annotators call all handlers, strangers every other one, whoever may write some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from reportlab.pdfgen.canvas import Canvas

from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.services import LOCAL_OWNER, SAMPLE, Services
from pdfqa_core.services.accounts import AccountRole
from pdfqa_core.services.systems import grid
from pdfqa_core.ui import TABS
from pdfqa_core.ui.accounts import COOKIE, SIGN_IN, SIGN_OUT, STARTED
from pdfqa_core.ui.api_access import CLOSED as TOKENS_ONLY
from pdfqa_core.ui.gate import LOGIN
from pdfqa_core.ui.roles import LOOK_ON, OWNERS, RATE
from pdfqa_core.ui.traffic import HEALTH
from tests.services.helpers import LITERAL
from tests.serving_fakes import PDF
from tests.ui.calling import (
    QUESTION,
    Answer,
    Call,
    Caller,
    Handler,
    actions,
    beginning,
    handlers,
    kept,
    routes,
    serving,
)

MARK = "Quillfeather"  # in all that somebody has, and in nothing that the tests send
PASSWORD = "correct horse"
VISITOR, STRANGER = "v" * 43, "s" * 43
EVERY = 10  # of the handlers, those are called who may write one
SERVER = {"per_minute": 1_000_000}

# ------------------------------------------------------------ who may what

VIEWERS = (
    "documents-table", "documents-collections", "documents-page", "overview-about", "overview-contents",
    "overview-summary", "chat-conversations", "chat-transcript", "chat-evidence", "chat-page", "evaluate-results",
    "evaluate-item", "evaluate-items", "evaluate-page", "evaluate-earlier", "evaluate-baseline", "evaluate-only",
    *(f"pq-{tab.lower()}{fill}" for tab in TABS if tab != "Models" for fill in ("", "-fill")),
    "runs-list", "runs-results", "runs-item", "runs-items", "runs-page", "runs-baseline", "runs-only", "runs-part",
    *(f"evaluate-{form}" for form in ("html", "csv", "parquet", "latex", "figure", "json", "trec", "what")),
    *(f"runs-{form}" for form in ("html", "csv", "latex", "json", "answers", "methods", "zip", "what")), "pq-going",
)  # fmt: skip
MAY: dict[AccountRole, tuple[str, ...]] = {
    AccountRole.VIEWER: VIEWERS,
    AccountRole.ANNOTATOR: ("annotate*", "pq-annotate*", "pq-enter*"),
    AccountRole.MEMBER: ("[!m]*", "m[!o]*", ""),  # all but models*
    AccountRole.OWNER: ("*",),
}
REFUSALS = {AccountRole.VIEWER: LOOK_ON, AccountRole.ANNOTATOR: RATE, AccountRole.MEMBER: OWNERS}
WRITING = (AccountRole.MEMBER, AccountRole.OWNER)
NEEDS_TOKEN = "This needs a token."
OPEN = {HEALTH: 200, SIGN_IN: 200, SIGN_OUT: 303, "/join": 403, STARTED: 200}  # before signing in, and what comes
SHUT = (401, 303)
OPEN_WITH_PASSWORD = {  # before typing it: what the page that asks for it is made of
    HEALTH: 200, STARTED: 200, "/": 200, LOGIN: 422, "/assets/x": 404, "/static/x": 404, "/favicon.ico": 200,
    "/theme.css": 200, "/manifest.json": 200,
}  # fmt: skip


def may(role: AccountRole, handler: Handler) -> bool:
    """Whether a role may set a handler off by hand."""
    return all(any(fnmatch(name, wanted) for wanted in MAY[role]) for name, _ in handler.causes)


# ------------------------------------------------------------ what there is


@dataclass
class Content:
    """An app in which somebody has one of everything. `ids` are what a forged click names."""

    url: str
    workspace: Path
    ids: dict[str, Any]
    known: list[Handler] = field(default_factory=list)

    def kept(self) -> Counter[str]:
        """Return all rows and files as they are now."""
        return kept(self.workspace)

    def calls(self, *, every: int = 1) -> list[Call]:
        """Return calls of all handlers, or of some, always of the named ones.

        Each handler of clicks is asked for what one of the page's buttons does, another one each; among all, also to
        remove something.
        """
        possible, first = actions(), (("pq-documents-fill", "click"),)
        chosen = [one for n, one in enumerate(self.known) if one.named or one.causes == first or n % every == 0]
        found = []
        for n, one in enumerate(chosen):
            asked = (possible[n % len(possible)], *(("remove",) if every == 1 else ()))
            found += (
                [Call(one, click={**self.ids, "action": action}) for action in asked] if one.clicks else [Call(one)]
            )
        return found

    def caller(self, name: str) -> Caller:
        """Return somebody with a page of their own, who has not said who they are."""
        return Caller(self.url, f"page-of-{name}")

    def account(self, role: AccountRole) -> Caller:
        """Return somebody with an account of this role and a page of their own."""
        found = self.caller(role.value)
        found.sign_in(role, PASSWORD)
        return found


def fill(services: Services, owner: str, pdf: Path) -> dict[str, Any]:
    """Give an owner a document, a collection, a conversation, a study and an evaluation, and return their ids."""
    list(services.documents.ingest(owner, [pdf, PDF]))
    marked, sample = (services.documents.document_ids(owner, [name])[0] for name in (pdf.name, PDF.name))
    collection = services.documents.collections.make(owner, f"All of {MARK}", [marked])
    *_, stored = services.answers.ask(owner, f"Where does the {MARK} nest?", services.settings)
    study = services.studies.create(owner, f"Study of {MARK}", [stored.conversation_id])
    gold, systems = read_gold(SAMPLE / "questions.jsonl"), grid(services.settings, ["windows"], ["bm25"])
    *_, evaluation = services.evaluation.evaluate_retrieval(owner, gold, systems, document_ids=(sample,))
    return {
        "document": marked, "collection": collection.id, "conversation": stored.conversation_id, "study": study.id,
        "turn": stored.turn.id, "evaluation": evaluation.id, "number": 1, "page": 1, "rank": 1, "name": "a new name",
        "text": "a new name", "question": QUESTION, "extractor": "direct",
    }  # fmt: skip


def content(folder: Path, owner: str = LOCAL_OWNER, password: str = "") -> Iterator[Content]:
    """Serve a workspace in which `owner` has something; with accounts, unless it is a demo or has one password."""
    demo = owner != LOCAL_OWNER
    pdf = folder / f"{MARK.lower()}.pdf"
    canvas = Canvas(str(pdf))
    canvas.setTitle(f"The {MARK}")
    canvas.drawString(72, 700, f"The {MARK} nests in the reeds of Lake Sallow, every spring.")
    canvas.save()

    def prepare(services: Services) -> None:
        ids.update(fill(services, owner, pdf))
        for role in () if demo or password else AccountRole:
            services.people.accounts.add(role.value, role, PASSWORD)

    ids: dict[str, Any] = {}
    settings = LITERAL.changed("server", demo=demo, **SERVER)
    with serving(folder, settings, password=password, prepare=prepare) as here:
        found = Content(here.url, here.services.workspace, ids)
        somebody = found.caller("anybody") if demo or password else found.account(AccountRole.OWNER)
        if password:
            somebody.http.post(LOGIN, data={"username": "me", "password": password})
        found.known = handlers(somebody.http.get("/config").json())
        assert len(found.known) > 300
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Content]:
    yield from content(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Content]:
    yield from content(tmp_path_factory.mktemp("demo"), f"visitor-{VISITOR}")


# ------------------------------------------------------------ the handlers


def check_in_order(call: Call, answer: Answer) -> None:
    """Check that a call was answered or refused with a sentence, whatever it was."""
    assert "unexpected" not in answer.text, f"{call.handler} failed: {answer.text[-500:]}"
    assert "not understood" not in answer.text, f"{call.handler} refuses what the page sends: {answer.text[-500:]}"
    told = call.handler.named and NEEDS_TOKEN in answer.text
    assert answer.status < 500 or told, f"{call.handler}: {answer.status} {answer.text[-500:]}"


def check_allowed(role: AccountRole, call: Call, answer: Answer) -> None:
    """Check that a role is refused what it may not, and not refused what it may."""
    handler = call.handler
    if handler.named:
        assert NEEDS_TOKEN in answer.text, str(handler)
        return
    sentences = [words for words, _ in REFUSALS.values() if words in answer.text]
    if not handler.by_hand:
        assert sentences == [], str(handler)
    elif not may(role, handler):
        assert sentences == [REFUSALS[role][0]], f"{handler} is open to {role}: name it in MAY, or close it in roles.py"
    elif role in WRITING:
        assert sentences == [], f"{handler} is closed to {role}"


@pytest.mark.parametrize("role", [AccountRole.VIEWER, AccountRole.ANNOTATOR, AccountRole.MEMBER, AccountRole.OWNER])
def test_each_role_may_what_is_said_and_nothing_else(shared: Content, role: AccountRole):
    browser = shared.account(role)
    said = [browser.arrive(shared.known).text]
    before = shared.kept()
    for call, answer in browser.answers(shared.calls(every=EVERY if role in WRITING else 1)):
        check_in_order(call, answer)
        check_allowed(role, call, answer)
        said.append(answer.text)
    if role not in WRITING:
        assert before == shared.kept()
    assert (MARK in "".join(said)) == (role is not AccountRole.ANNOTATOR), "not what this role sees"


def check_nothing_shown(content: Content, browser: Caller) -> None:
    """Check that every handler is refused to somebody who has not said who they are."""
    for call, answer in browser.answers(content.calls()):
        assert (answer.status, MARK in answer.text) == (401, False), str(call.handler)


@pytest.mark.parametrize(("visitor", "every"), [("", 4), (STRANGER, 2)])
def test_a_visitor_of_a_demo_sees_and_changes_nothing_of_another_one(open_to_all: Content, visitor: str, every: int):
    browser = open_to_all.caller(f"stranger {visitor}")
    if visitor:  # else it never says who visits
        assert MARK not in browser.arrive(open_to_all.known, visitor).text
    before = open_to_all.kept()
    for call, answer in browser.answers(open_to_all.calls(every=every)):
        check_in_order(call, answer)
        assert MARK not in answer.text, str(call.handler)
    after = open_to_all.kept()
    assert [gone for gone in before - after if STRANGER not in gone] == []
    assert visitor or before == after
    owner = open_to_all.caller(f"visitor beside {visitor}")
    assert MARK in "".join(
        [
            owner.arrive(open_to_all.known, VISITOR).text,
            *(one.text for _, one in owner.answers(open_to_all.calls(every=50))),
        ]
    )


# ------------------------------------------------------------ the routes


def test_no_route_lets_in_who_has_not_signed_in(shared: Content):
    owner, nobody = shared.account(AccountRole.OWNER), shared.caller("nobody at routes")
    described = list(routes(owner.http.get("/openapi.json").json()))
    assert len(described) > 60
    before = shared.kept()
    for method, path in [*described, *(("GET", path) for path in (*OPEN, *TOKENS_ONLY))]:
        status, text = beginning(nobody.http, method, path)
        assert status == OPEN.get(path, status), path
        assert path in OPEN or status in SHUT, f"{method} {path} is open to everybody ({status}): say so in OPEN"
        assert MARK not in text, path
    nobody.http.cookies.set(COOKIE, "made up")
    check_nothing_shown(shared, nobody)
    assert before == shared.kept()


def test_no_route_lets_in_who_has_not_typed_the_password(tmp_path: Path):
    for locked in content(tmp_path, password=PASSWORD):
        somebody, nobody = locked.caller("somebody"), locked.caller("nobody")
        typed = somebody.http.post(LOGIN, data={"username": "me", "password": PASSWORD})
        assert typed.json() == {"success": True}
        described = list(routes(somebody.http.get("/openapi.json").json()))
        assert len(described) > 60
        before, opened = locked.kept(), set()
        for method, path in [*described, *(("GET", path) for path in (*OPEN_WITH_PASSWORD, *TOKENS_ONLY))]:
            status, text = beginning(nobody.http, method, path)
            place = path.rstrip("/") or "/"
            opened |= {place} if place in OPEN_WITH_PASSWORD else set()
            expected = OPEN_WITH_PASSWORD.get(place, 401)
            assert status in (expected, 404, 405) if place in OPEN_WITH_PASSWORD else status == 401, f"{method} {path}"
            assert MARK not in text, path
        assert opened == set(OPEN_WITH_PASSWORD)
        assert {beginning(nobody.http, "GET", path)[0] for path in ("/no/such/route", "/gradio_api/none")} == {401}
        check_nothing_shown(locked, nobody)
        assert before == locked.kept()


@pytest.mark.parametrize("role", [AccountRole.OWNER, AccountRole.ANNOTATOR, None])
def test_no_route_breaks_or_changes_anything(shared: Content, open_to_all: Content, role: AccountRole | None):
    content = shared if role else open_to_all
    browser = content.account(role) if role else content.caller("anybody at routes")
    before, failed = content.kept(), []
    for method, path in routes(browser.http.get("/openapi.json").json()):
        status, text = beginning(browser.http, method, path)
        failed += [f"{method} {path}: {status} {text[:300]}"] if status >= 500 else []
        assert role is AccountRole.OWNER or MARK not in text, path
    assert failed == []
    assert {beginning(browser.http, "GET", path)[0] for path in TOKENS_ONLY} == {401}
    assert before == content.kept()
