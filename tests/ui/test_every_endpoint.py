"""Every handler and route that the app describes, over HTTP, as everybody: who may what is said in one place, `MAY`.

A new handler is called by itself: viewers and annotators are refused it unless `MAY` names its element, and whoever may
not write leaves every table and file as it was. A new route lets in nobody who has not signed in, unless `OPEN` says
so, whether accounts or one password are set. A demo has no accounts, so there is somebody whose page never said who
visits, a visitor, and another visitor.
`make test` calls every tenth handler and all routes; `make test-all` all handlers, with what their buttons can ask for.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.services import LOCAL_OWNER, SAMPLE, Services
from pdfqa_core.services.accounts import AccountRole
from pdfqa_core.services.systems import grid
from pdfqa_core.ui import TABS
from pdfqa_core.ui.accounts import COOKIE, SIGN_IN, SIGN_OUT, STARTED
from pdfqa_core.ui.api_access import CLOSED as TOKENS_ONLY
from pdfqa_core.ui.health import PATH as HEALTH
from pdfqa_core.ui.roles import LOOK_ON, OWNERS, RATE
from pdfqa_core.ui.sign_in import LOGIN
from tests.llm.openai_server import FakeServer
from tests.services.helpers import LITERAL
from tests.serving_fakes import PDF, FakeModels
from tests.ui.calling import QUESTION, Answer, Call, Caller, Handler, actions, beginning, files, handlers, routes, rows
from tests.ui.serving import App, running

MARK = "Quillfeather"  # in all that somebody has, and in nothing that the tests send
PASSWORD = "correct horse"
VISITOR, STRANGER = "v" * 43, "s" * 43
RECIPE = "[retrieval]\nretriever = 'bm25'\n[reading]\nreader = 'extractive'\nconfidence_threshold = 0\n"
EVERY = 10  # of the handlers, one is called by `make test`
CLICKED = 10  # of what the page's buttons can ask for, so many are asked of each handler of clicks

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
NOT_COMPARED = ("sign_ins", "work")  # that somebody was seen, and who does what in the background
MADE_OF_OTHERS = ("indexes", "cache")


def may(role: AccountRole, handler: Handler) -> bool:
    """Whether a role may set a handler off by hand."""
    return all(any(fnmatch(name, wanted) for wanted in MAY[role]) for name, _ in handler.causes)


# ------------------------------------------------------------ what there is


@dataclass
class Kept:
    """What a workspace holds at one moment: the rows of each table, and the files."""

    tables: dict[str, Counter[str]]
    files: set[str]

    def gone(self, later: Kept) -> list[str]:
        """Return what is not there any more as it was, `later`."""
        rows = [f"{name}: {row}" for name, found in self.tables.items() for row in found - later.tables[name]]
        return rows + sorted(self.files - later.files)

    def changes(self, later: Kept) -> list[str]:
        """Return what differs `later`."""
        return self.gone(later) + later.gone(self)


@dataclass
class Content:
    """An app in which somebody has one of everything. `ids` are what a forged click names."""

    app: App
    ids: dict[str, Any]
    known: list[Handler] = field(default_factory=list)
    signed_in: dict[AccountRole, str] = field(default_factory=dict)

    def kept(self) -> Kept:
        """Return all rows and files as they are now."""
        return Kept(rows(self.app.workspace, NOT_COMPARED), files(self.app.workspace, MADE_OF_OTHERS))

    def calls(self, known: Sequence[Handler], *, thorough: bool) -> list[Call]:
        """Return the calls of these handlers; of clicks with what the page's buttons can ask for."""
        possible, found = actions(), []
        for place, handler in enumerate(known):
            count = (CLICKED if thorough else 1) if handler.clicks else 0
            asked = [possible[(place * CLICKED + number) % len(possible)] for number in range(count)]
            found += [Call(handler, click={**self.ids, "action": action}) for action in asked]
            found += [] if asked else [Call(handler)]
        return found

    def caller(self, name: str) -> Caller:
        """Return somebody with a page of their own, who has not said who they are."""
        return Caller(self.app.url, f"page-of-{name}")

    def account(self, role: AccountRole, name: str = "") -> Caller:
        """Return somebody with an account of this role and a page of their own."""
        found = self.caller(f"{role} {name}")
        if role not in self.signed_in:  # only so many times in a minute
            found.sign_in(role, PASSWORD)
            self.signed_in[role] = found.http.cookies[COOKIE]
        found.http.cookies.set(COOKIE, self.signed_in[role])
        return found


def fill(services: Services, owner: str, pdf: Path) -> dict[str, Any]:
    """Give an owner a document, a collection, a conversation, a study and an evaluation, and return their ids."""
    list(services.documents.ingest(owner, [pdf, PDF]))
    marked, sample = (services.documents.document_ids(owner, [name])[0] for name in (pdf.name, PDF.name))
    collection = services.collections.make(owner, f"All of {MARK}", [marked])
    *_, stored = services.answers.ask(owner, f"Where does the {MARK} nest?", services.settings)
    study = services.studies.create(owner, f"Study of {MARK}", [stored.conversation_id])
    gold, systems = read_gold(SAMPLE / "questions.jsonl"), grid(services.settings, ["windows"], ["bm25"])
    *_, evaluation = services.evaluation.evaluate_retrieval(owner, gold, systems, document_ids=(sample,))
    return {
        "document": marked, "collection": collection.id, "conversation": stored.conversation_id, "study": study.id,
        "turn": stored.turn.id, "evaluation": evaluation.id, "number": 1, "page": 1, "rank": 1, "name": "a new name",
        "text": "a new name", "question": QUESTION, "extractor": "direct",
    }  # fmt: skip


@pytest.fixture(scope="module")
def model() -> Iterator[dict[str, str]]:
    """The environment of an app whose language model is a stand-in, and that reaches no other computer."""
    server = FakeServer()
    server.say("The meters are read every 15 minutes.")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    yield {"PDFQA_LLM_URL": f"{server.url}/v1", "PDFQA_MODEL": "served-model", "NO_PROXY": "127.0.0.1", **nowhere}
    server.shutdown()


def content(folder: Path, environment: dict[str, str], owner: str, pdf: Path) -> Iterator[Content]:
    """Serve a workspace in which `owner` has something; with accounts, unless it is a demo or has one password."""
    demo, one_password = owner != LOCAL_OWNER, "PDFQA_PASSWORD" in environment
    with Services.open(folder / "workspace", LITERAL.changed("server", demo=demo), FakeModels()) as services:
        ids = fill(services, owner, pdf)
        for role in () if demo or one_password else AccountRole:
            services.accounts.add(role.value, role, PASSWORD)
    (folder / "workspace" / "pdfqa.toml").write_text(RECIPE)
    models = {"PDFQA_MODELS": str(folder / "models"), **({"PDFQA_DEMO": "1"} if demo else {})}
    with running(folder, "--per-minute", "1000000", environment={**environment, **models}) as app:
        found = Content(app, ids)
        somebody = found.caller("anybody") if demo or one_password else found.account(AccountRole.OWNER)
        if one_password:
            somebody.http.post(LOGIN, data={"username": "me", "password": PASSWORD})
        found.known = handlers(somebody.http.get("/config").json())
        assert len(found.known) > 300
        yield found
        assert "Traceback" not in "".join(app.log)


@pytest.fixture(scope="module")
def marked_pdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from reportlab.pdfgen.canvas import Canvas

    path = tmp_path_factory.mktemp("made") / f"{MARK.lower()}.pdf"
    canvas = Canvas(str(path))
    canvas.setTitle(f"The {MARK}")
    canvas.drawString(72, 700, f"The {MARK} nests in the reeds of Lake Sallow, every spring.")
    canvas.save()
    return path


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, model: dict[str, str], marked_pdf: Path) -> Iterator[Content]:
    yield from content(tmp_path_factory.mktemp("shared"), model, LOCAL_OWNER, marked_pdf)


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory, model: dict[str, str], marked_pdf: Path) -> Iterator[Content]:
    yield from content(
        tmp_path_factory.mktemp("locked"), {**model, "PDFQA_PASSWORD": PASSWORD}, LOCAL_OWNER, marked_pdf
    )


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory: pytest.TempPathFactory, model: dict[str, str], marked_pdf: Path) -> Iterator[Content]:
    yield from content(tmp_path_factory.mktemp("demo"), model, f"visitor-{VISITOR}", marked_pdf)


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


def some(known: Sequence[Handler], *, thorough: bool) -> list[Handler]:
    """Return the handlers to call: all, or some, with all that are named and what fills the first tab."""
    first = (("pq-documents-fill", "click"),)
    return [one for n, one in enumerate(known) if thorough or one.named or one.causes == first or n % EVERY == 0]


THOROUGH = [False, pytest.param(True, marks=pytest.mark.slow)]


@pytest.mark.parametrize("thorough", THOROUGH)
@pytest.mark.parametrize("role", [AccountRole.VIEWER, AccountRole.ANNOTATOR, AccountRole.MEMBER, AccountRole.OWNER])
def test_each_role_may_what_is_said_and_nothing_else(shared: Content, role: AccountRole, thorough: bool):
    browser = shared.account(role, f"calling {thorough}")
    said = [browser.arrive(shared.known).text]
    before = shared.kept()
    for call, answer in browser.answers(shared.calls(some(shared.known, thorough=thorough), thorough=thorough)):
        check_in_order(call, answer)
        check_allowed(role, call, answer)
        said.append(answer.text)
    if role not in WRITING:
        assert before.changes(shared.kept()) == []
    assert (MARK in "".join(said)) == (role is not AccountRole.ANNOTATOR), "not what this role sees"


@pytest.mark.parametrize("cookie", ["", "made up"])
def test_who_has_not_signed_in_is_refused_every_handler(shared: Content, cookie: str):
    browser = shared.caller(f"nobody {cookie}")
    browser.http.cookies.set(COOKIE, cookie)
    before = shared.kept()
    for call, answer in browser.answers(shared.calls(shared.known, thorough=False)):
        assert (answer.status, MARK in answer.text) == (401, False), str(call.handler)
    assert before.changes(shared.kept()) == []


@pytest.mark.parametrize("thorough", THOROUGH)
def test_a_page_of_a_demo_that_says_not_who_visits_sees_and_changes_nothing(open_to_all: Content, thorough: bool):
    browser = open_to_all.caller(f"nobody {thorough}")
    before = open_to_all.kept()
    for call, answer in browser.answers(
        open_to_all.calls(some(open_to_all.known, thorough=thorough), thorough=thorough)
    ):
        check_in_order(call, answer)
        assert MARK not in answer.text, str(call.handler)
    assert before.changes(open_to_all.kept()) == []


@pytest.mark.parametrize("thorough", THOROUGH)
def test_a_visitor_of_a_demo_sees_and_changes_nothing_of_another_one(open_to_all: Content, thorough: bool):
    browser = open_to_all.caller(f"stranger {thorough}")
    assert MARK not in browser.arrive(open_to_all.known, STRANGER).text
    before = open_to_all.kept()
    for call, answer in browser.answers(
        open_to_all.calls(some(open_to_all.known, thorough=thorough), thorough=thorough)
    ):
        check_in_order(call, answer)
        assert MARK not in answer.text, str(call.handler)
    assert [gone for gone in before.gone(open_to_all.kept()) if STRANGER not in gone] == []
    assert not (open_to_all.app.workspace.parent / "models").exists()


@pytest.mark.parametrize("thorough", THOROUGH)
def test_a_visitor_of_a_demo_sees_what_is_theirs(open_to_all: Content, thorough: bool):
    browser = open_to_all.caller(f"visitor {thorough}")
    said = [browser.arrive(open_to_all.known, VISITOR).text]
    for call, answer in browser.answers(
        open_to_all.calls(some(open_to_all.known, thorough=thorough), thorough=thorough)
    ):
        check_in_order(call, answer)
        said.append(answer.text)
    assert MARK in "".join(said)


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
    assert before.changes(shared.kept()) == []


def test_no_route_lets_in_who_has_not_typed_the_password(locked: Content):
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
    for call, answer in nobody.answers(locked.calls(locked.known, thorough=False)):
        assert (answer.status, MARK in answer.text) == (401, False), str(call.handler)
    assert before.changes(locked.kept()) == []


@pytest.mark.parametrize("role", list(AccountRole))
def test_no_route_breaks_or_changes_anything(shared: Content, role: AccountRole):
    check_routes(shared, shared.account(role, "at routes"), seen=role is not AccountRole.ANNOTATOR)


def test_no_route_of_a_demo_breaks_or_shows_anything(open_to_all: Content):
    check_routes(open_to_all, open_to_all.caller("anybody at routes"), seen=False)


def check_routes(content: Content, browser: Caller, *, seen: bool) -> None:
    """Check that all routes answer with no error of the server's, and that metrics and tools need a token."""
    before, failed = content.kept(), []
    for method, path in routes(browser.http.get("/openapi.json").json()):
        status, text = beginning(browser.http, method, path)
        failed += [f"{method} {path}: {status} {text[:300]}"] if status >= 500 else []
        assert seen or MARK not in text, path
    assert failed == []
    assert {beginning(browser.http, "GET", path)[0] for path in TOKENS_ONLY} == {401}
    assert before.changes(content.kept()) == []
