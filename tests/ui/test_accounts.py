"""Accounts over HTTP and on the command line: signing in and out, invitations, tries, and what a proxy may say."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from pdfqa_core.cli import main
from pdfqa_core.errors import UsageError
from pdfqa_core.services import accounts as module
from pdfqa_core.services.accounts import Account, AccountRole, AccountService
from pdfqa_core.services.secret_words import FAR, NEAR, Tries
from pdfqa_core.settings import ServerSettings
from pdfqa_core.storage import Store
from pdfqa_core.storage import accounts as storage
from pdfqa_core.ui.accounts import KEY, KNOWN, SignedIn
from pdfqa_core.ui.downloads import HEADER, Budget, Tickets
from pdfqa_core.ui.proxies import Believed, Proxies, place_of
from pdfqa_core.ui.traffic import Traffic, Waiting

PASSWORD = "correct horse"
PROXY, READER = "10.0.0.7", "203.0.113.5"


@pytest.fixture
def people(tmp_path: Path) -> Iterator[AccountService]:
    with Store.open(tmp_path / "workspace") as store:
        accounts = AccountService(store.accounts)
        accounts.add("Ada", AccountRole.OWNER, PASSWORD)
        accounts.add("Eve", AccountRole.VIEWER, PASSWORD)
        yield accounts


def served(people: AccountService, *, client: str = READER, tries: Tries | None = None) -> TestClient:
    """Return a browser of a small app behind the guards."""

    async def who(request: Request) -> JSONResponse:
        return JSONResponse({"name": request.scope[KEY].name})

    routes = [Route(path, who, methods=["GET", "POST"]) for path in ("/", "/config", "/gradio_api/upload")]
    guards = [
        Middleware(Believed, proxies=Proxies()),
        Middleware(SignedIn, people=people, tries=tries or Tries()),
    ]
    app: Any = Starlette(routes=routes, middleware=guards)
    return TestClient(app, follow_redirects=False, client=(client, 1))


def sign_in(browser: TestClient, name: str = "Ada", password: str = PASSWORD, **form: str) -> Any:
    return browser.post("/sign-in", data={"name": name, "password": password, **form})


def test_nobody_passes_without_signing_in_and_signing_out_ends_it(people: AccountService):
    browser = served(people)
    assert browser.get("/config").status_code == 401
    assert browser.post("/gradio_api/upload", files={"files": b"%PDF"}).status_code == 401
    sent = browser.get("/?tab=chat")
    assert (sent.status_code, sent.headers["location"]) == (303, "/sign-in?next=%3Ftab%3Dchat")
    assert 'value="?tab=chat"' in browser.get(sent.headers["location"]).text
    for name in ("Ada", "<b>"):
        wrong = sign_in(browser, name=name, password="guess")
        assert (wrong.status_code, "do not belong together" in wrong.text, "<b>" in wrong.text) == (401, True, False)
    right = sign_in(browser, next="?tab=chat")
    assert (right.status_code, right.headers["location"]) == (303, "/?tab=chat")
    assert all(word in right.headers["set-cookie"].lower() for word in ("httponly", "samesite=lax"))
    assert browser.get("/config").json() == {"name": "Ada"}
    kept = dict(browser.cookies)
    assert browser.post("/sign-out").headers["location"] == "/sign-in"
    browser.cookies.update(kept)
    assert browser.get("/config").status_code == 401
    assert sign_in(browser, next="//evil.example").headers["location"] == "/"


def test_a_sign_in_ends_with_a_new_password_with_the_account_and_by_itself(
    people: AccountService, monkeypatch: pytest.MonkeyPatch
):
    browser = served(people)
    sign_in(browser)
    people.set_password("ada", "another horse")
    assert browser.get("/config").status_code == 401
    sign_in(browser, password="another horse")
    assert browser.get("/config").status_code == 200
    monkeypatch.setattr("pdfqa_core.services.accounts.IDLE", timedelta(hours=-1))
    assert browser.get("/config").status_code == 401
    monkeypatch.undo()
    people.remove("Eve")
    people.remove("Ada")
    assert browser.get("/config").status_code == 401


def elsewhere(browser: TestClient, address: str) -> TestClient:
    """Return another browser of the same app, at another address."""
    return TestClient(browser.app, follow_redirects=False, client=(address, 1))


def test_wrong_tries_from_one_place_shut_out_that_place_only(people: AccountService):
    browser = served(people)
    tried = [sign_in(browser, name=name, password="guess") for name in ("Ada", "Eve") * (NEAR // 2)]
    assert {one.status_code for one in tried} == {401}
    late = sign_in(browser)
    assert (late.status_code, "too many wrong tries" in late.text) == (429, True)
    assert browser.get("/join?token=guess").status_code == 429
    assert sign_in(elsewhere(browser, "198.51.100.1")).status_code == 303


def use_up(tries: Tries, name: str) -> None:
    """Guess at a name from as many places as there are tries."""
    for number in range(FAR):
        with suppress(UsageError), tries.one(f"place {number}", "account", name):
            raise UsageError("wrong")


def test_nobody_shuts_out_a_browser_that_has_signed_in_as_that_name_before(people: AccountService):
    tries = Tries()
    known = served(people, tries=tries)
    cookie = sign_in(known).headers.get_list("set-cookie")[1].lower()
    assert (KNOWN in cookie, "httponly" in cookie, "samesite=lax" in cookie) == (True, True, True)
    mark = known.cookies[KNOWN]
    sign_in(known, name="Eve")  # the same browser, also of somebody else
    use_up(tries, "\uff21da")  # however the name is spelled
    late = sign_in(elsewhere(known, READER))
    assert (late.status_code, "too many wrong tries" in late.text) == (429, True)
    for made_up in ("x", f"{mark[:-1]}{'01'[mark.endswith('0')]}", f"{'x' * 22}.{'0' * 64}"):
        forger = elsewhere(known, READER)
        forger.cookies.set(KNOWN, made_up)
        assert sign_in(forger).status_code == 429
    again = elsewhere(known, "198.51.100.2")
    again.cookies.set(KNOWN, known.cookies[KNOWN])
    assert sign_in(again).status_code == 303
    stolen = elsewhere(known, "198.51.100.3")
    stolen.cookies.set(KNOWN, mark)
    tried = [sign_in(stolen, password="guess").status_code for _ in range(NEAR + 1)]
    assert tried == [401] * NEAR + [429]
    people.set_password("Ada", "another horse")
    assert sign_in(again, password="another horse").status_code == 429  # not known by the new one
    assert sign_in(elsewhere(known, READER), name="Eve").status_code == 303


def test_who_looks_on_uploads_nothing(people: AccountService):
    browser = served(people)
    sign_in(browser, name="Eve")
    assert browser.get("/config").status_code == 200
    refused = browser.post("/gradio_api/upload", files={"files": b"%PDF"})
    assert (refused.status_code, "may not add files" in refused.text) == (403, True)


def asked_from(peer: str, said: str) -> dict[str, Any]:
    return {"type": "http", "client": (peer, 1), "headers": [(b"x-forwarded-for", said.encode())]}


def test_an_address_cannot_be_made_up_in_front_of_a_proxy():
    named = Proxies([PROXY, "10.1.0.0/24"])
    assert named.client(asked_from(PROXY, f"1.2.3.4, {READER}")) == READER
    assert named.client(asked_from(PROXY, f"1.2.3.4, {READER}, 10.1.0.9")) == READER
    assert named.client(asked_from(READER, "1.2.3.4")) == READER
    assert named.client(asked_from("10.0.0.8", "1.2.3.4")) == "10.0.0.8"
    assert Proxies(proxied=True).client(asked_from("10.9.9.9", f"1.2.3.4, {READER}, 127.0.0.1")) == READER
    assert Proxies().client(asked_from("127.0.0.1", "1.2.3.4")) == "127.0.0.1"
    with pytest.raises(UsageError, match="A proxy is named wrongly"):
        Proxies(["proxy.example"])


@pytest.mark.parametrize(
    ("address", "place"),
    [(READER, READER), ("2001:db8:1:2::9", "2001:db8:1:2::/64"), ("::ffff:203.0.113.5", READER), ("", ""),
     ("unknown", "unknown")],
)  # fmt: skip
def test_the_place_of_an_address(address: str, place: str):
    assert place_of({"client": (address, 1)}) == place


def test_a_demo_takes_uploads_of_visitors_only_and_so_many_bytes_of_each(tmp_path: Path):
    async def taken(request: Request) -> JSONResponse:
        return JSONResponse({"bytes": len(await request.body())})

    tickets, budget = Tickets(), Budget(1_000)
    guards = [Middleware(Traffic, waiting=Waiting(tmp_path), tickets=tickets, budget=budget)]
    app: Any = Starlette(routes=[Route("/gradio_api/upload", taken, methods=["POST"])], middleware=guards)

    def upload(ticket: str, address: str = READER) -> int:
        browser = TestClient(app, client=(address, 1))
        return browser.post("/gradio_api/upload", content=b"x" * 1_500, headers={HEADER: ticket}).status_code

    first, second = tickets.of("visitor-1"), tickets.of("visitor-2")
    assert tickets.of("visitor-1") == first
    assert tickets.of("") == ""
    assert [upload(""), upload("made up")] == [403, 403]
    assert [upload(first) for _ in range(3)] == [200, 200, 429]
    assert upload(second) == 200
    for number in range(40):  # one address has a share of its own
        last = upload(tickets.of(f"visitor {number}"))
    assert last == 429
    assert upload(tickets.of("visitor-3"), "198.51.100.1") == 200


# ------------------------------------------------------------ invitations


def test_a_link_makes_an_account_once(people: AccountService):
    link = people.invite(" Ben ", AccountRole.ANNOTATOR)[1]
    browser = served(people)
    page = browser.get(link)  # to look at it does not use it up
    assert (page.status_code, "Welcome, Ben" in page.text) == (200, True)
    token = link.partition("=")[2]
    sent = {"token": token, "password": "new horse", "again": "new house"}
    short = {"token": token, "password": "short", "again": "short"}
    for form, said in ((sent, "two different passwords"), (short, "8 to 200 characters")):
        refused = browser.post("/join", data=form)
        assert (refused.status_code, said in refused.text) == (400, True)
    assert people.named("Ben") is None
    joined = browser.post("/join", data=sent | {"again": "new horse"})
    assert (joined.status_code, joined.headers["location"]) == (303, "/")
    assert browser.get("/config").json() == {"name": "Ben"}
    assert people.named("Ben") == Account("Ben", AccountRole.ANNOTATOR)
    other = served(people, client="198.51.100.2")
    again = other.post("/join", data=sent | {"again": "new horse"})
    assert (again.status_code, "was used already" in again.text) == (403, True)
    assert other.get("/config").status_code == 401
    assert sign_in(other, "ben", "new horse").status_code == 303


def test_a_link_for_an_account_gives_it_a_new_password_and_signs_out(people: AccountService):
    before = people.sign_in("Ada", PASSWORD)
    link = people.invite("ada", AccountRole.VIEWER)[1]
    assert people.signed_in(before) is not None  # until the link is used
    people.join(link.partition("=")[2], "another horse")
    assert people.signed_in(before) is None
    assert people.named("Ada") == Account("Ada", AccountRole.OWNER)
    assert people.signed_in(people.sign_in("Ada", "another horse"))


class Tomorrow(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Tomorrow:
        return super().now(tz) + timedelta(days=1)


def test_links_end_with_time_with_a_newer_one_and_when_they_are_taken_back(
    people: AccountService, monkeypatch: pytest.MonkeyPatch
):
    def good(link: str) -> bool:
        return people.invited(link.partition("=")[2]) is not None

    first, second = people.invite("Eva")[1], people.invite("eva")[1]
    assert (good(first), good(second), len(people.invitations())) == (False, True, 1)
    people.remove("Eva")
    assert not good(second)
    monkeypatch.setattr(module, "INVITED", timedelta(seconds=1))
    old = people.invite("Cem")[1].partition("=")[2]
    assert good(f"={old}")
    monkeypatch.setattr(storage, "datetime", Tomorrow)
    assert (people.invited(old), people.invitations()) == (None, [])
    with pytest.raises(UsageError, match="was used already, or has ended"):
        people.join(old, "a long password")


def test_a_made_up_link_and_a_large_form_let_nobody_in(people: AccountService):
    browser = served(people)
    for answer in (browser.get("/join?token=guess"), browser.get("/join")):
        assert (answer.status_code, "was used already" in answer.text) == (403, True)
    assert browser.post("/join", data={"token": "x" * 6_000}).status_code == 413
    assert browser.get("/config").status_code == 401


# ------------------------------------------------------------ the command line


def test_accounts_are_made_invited_changed_and_removed_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def run(*arguments: str, typed: str = PASSWORD) -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{typed}\n"))
        status = main(["accounts", *arguments, "--workspace", str(tmp_path / "workspace")])
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    assert "before there is an owner" in run("invite", "Ben")[1]
    assert run("add", "Ada", "--role", "owner") == (0, "Ada (owner)\n")
    assert run("add", "Ben")[1] == "Ada (owner)\nBen (member)\n"
    for arguments, said in (
        (("add", "ada"), "There is an account “ada” already"),
        (("add", "Cem"), "8 to 200 characters"),
        (("remove", "Ada"), "is the only owner"),
        (("role", "Ada", "--role", "viewer"), "is the only owner"),
        (("remove", "Dan"), "There is no account “Dan”"),
    ):
        status, told = run(*arguments, typed="short" if "Cem" in arguments else PASSWORD)
        assert (status, said in told) == (2, True), told
    assert run("role", "Ben", "--role", "viewer")[1].endswith("Ben (viewer)\n")
    assert run("password", "Ben", typed="another horse")[0] == 0
    assert run("remove", "Ben") == (0, "Ada (owner)\n")
    invite = ("invite", "Ben", "--role", "viewer", "--address", "https://docs.example.org/")
    token = re.search(r"^https://docs\.example\.org/join\?token=(\S{40,})$", run(*invite)[1], re.MULTILINE)
    assert token
    assert re.search(r"^Ben \(viewer\), invited until \d{4}-", run("list")[1], re.MULTILINE)
    rows = json.loads(run(*invite, "--json")[1])
    assert [one["name"] for one in (*rows["accounts"], *rows["invitations"])] == ["Ada", "Ben"]
    stored = b"".join(file.read_bytes() for file in (tmp_path / "workspace").glob("pdfqa.sqlite*"))
    assert not any(word.encode() in stored for word in ("another horse", token[1]))


def test_accounts_and_a_password_for_everybody_exclude_each_other():
    from pdfqa_core.cli.serve import _check_open

    open_to_all = ServerSettings(host="0.0.0.0")
    _check_open(open_to_all, "", accounts=True)
    with pytest.raises(UsageError, match="This workspace has accounts"):
        _check_open(open_to_all, "a long password", accounts=True)
    with pytest.raises(UsageError, match="believed only from named proxies"):
        _check_open(ServerSettings(user_header="X-User", proxied=True), "", accounts=True)
