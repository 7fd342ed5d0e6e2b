"""Whom the served program believes about who is asking, over HTTP: proxies that were named, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest

from pdfqa_core.services.accounts import AccountRole, AccountService
from pdfqa_core.services.invitations import InvitationService
from pdfqa_core.services.tries import NEAR
from pdfqa_core.storage import Store
from pdfqa_core.ui.accounts import COOKIE
from tests.storage.conftest import turn
from tests.ui.calling import Answer, Call, Caller, Handler, handlers
from tests.ui.serving import SERVE, App, running

TIMEOUT = 60  # seconds
PASSWORD, HEADER = "correct horse", "X-Forwarded-User"
OWNER = "visitor-" + "o" * 43


def with_accounts(folder: Path) -> Path:
    with Store.open(folder / "workspace") as store:
        AccountService(store.accounts).add("Ada", AccountRole.OWNER, PASSWORD)
    return folder


def test_a_local_user_is_no_proxy_that_was_not_named(tmp_path: Path):
    options = ("--proxied", "--proxies", "10.0.0.7", "--user-header", HEADER)
    with running(with_accounts(tmp_path), *options) as app:
        for said in ("10.0.0.7", "203.0.113.5, 10.0.0.7", "127.0.0.1"):
            forged = {"X-Forwarded-For": said, HEADER: "Ada"}
            assert httpx.get(f"{app.url}/config", headers=forged, timeout=TIMEOUT).status_code == 401
        tried = [guess(app, f"198.51.100.{n}") for n in range(NEAR + 2)]
        assert tried == [401] * NEAR + [429] * 2


def guess(app: App, said: str) -> int:
    """Guess at a password, from the address that `said` names, and return the status."""
    form, headers = {"name": "Ada", "password": "guess"}, {"X-Forwarded-For": said}
    return httpx.post(f"{app.url}/sign-in", data=form, headers=headers, timeout=TIMEOUT).status_code


@pytest.fixture(scope="module")
def behind_a_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A server with an account behind a proxy on this computer."""
    options = ("--proxied", "--proxies", "127.0.0.1", "--user-header", HEADER)
    with running(with_accounts(tmp_path_factory.mktemp("proxied")), *options) as app:
        yield app


def test_a_proxy_on_this_computer_signs_people_on(behind_a_proxy: App):
    passed_on = {"X-Forwarded-For": "203.0.113.5", HEADER: "Ada"}
    config = httpx.get(f"{behind_a_proxy.url}/config", headers=passed_on, timeout=TIMEOUT)
    assert (config.status_code, config.json()["username"]) == (200, "Ada")
    unknown = httpx.get(behind_a_proxy.url, headers={**passed_on, HEADER: "Eve"}, timeout=TIMEOUT)
    assert (unknown.status_code, "You have no account" in unknown.text) == (403, True)
    without = httpx.get(f"{behind_a_proxy.url}/config", headers={"X-Forwarded-For": "203.0.113.5"}, timeout=TIMEOUT)
    assert without.status_code == 401


def test_behind_a_proxy_limits_count_for_who_asks_it_and_cookies_know_of_tls(behind_a_proxy: App):
    assert [guess(behind_a_proxy, "198.51.100.1") for _ in range(NEAR + 1)] == [401] * NEAR + [429]
    assert [guess(behind_a_proxy, f"{n}.2.3.4, 198.51.100.1") for n in range(3)] == [429] * 3
    form, url = {"name": "Ada", "password": PASSWORD}, f"{behind_a_proxy.url}/sign-in"
    for proto, secure in (("https", True), ("http", False)):
        headers = {"X-Forwarded-For": "198.51.100.2", "X-Forwarded-Proto": proto}
        answer = httpx.post(url, data=form, headers=headers, timeout=TIMEOUT)
        assert answer.status_code == 303
        for cookie in answer.headers.get_list("set-cookie"):
            assert ("; secure" in cookie.lower()) is secure, cookie
        signed_in = {**headers, "Cookie": f"{COOKIE}={answer.cookies[COOKIE]}"}
        config = httpx.get(f"{behind_a_proxy.url}/config", headers=signed_in, timeout=TIMEOUT).json()
        assert config["root"].startswith(f"{proto}://")


@pytest.mark.parametrize("program", [SERVE, ("app.py",)], ids=["pdfqa serve", "app.py"])
def test_with_a_password_and_no_proxy_nobody_makes_up_addresses(tmp_path: Path, program: Sequence[str]):
    with running(tmp_path, environment={"PDFQA_PASSWORD": PASSWORD}, program=program) as app:
        tried = [log_in(app, "guess", f"198.51.100.{n}").status_code for n in range(NEAR + 2)]
        assert tried == [400] * NEAR + [429] * 2
        late = log_in(app, PASSWORD, "203.0.113.5")
        assert (late.status_code, "too many wrong tries" in late.text) == (429, True)
        claims = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example", "X-Gradio-Server": "http://evil"}
        page = httpx.get(app.url, headers=claims, timeout=TIMEOUT)
        assert ("auth_required" in page.text, "evil" in page.text, "https://127" in page.text) == (True, False, False)


def log_in(app: App, password: str, said: str, **headers: str) -> httpx.Response:
    form, headers = {"username": "me", "password": password}, {"X-Forwarded-For": said, **headers}
    return httpx.post(f"{app.url}/login", data=form, headers=headers, timeout=TIMEOUT)


def test_behind_tls_all_cookies_of_the_password_are_secure_and_the_known_browser_comes_in(tmp_path: Path):
    with running(tmp_path, "--proxied", environment={"PDFQA_PASSWORD": PASSWORD}) as app:
        right = log_in(app, PASSWORD, "203.0.113.5", **{"X-Forwarded-Proto": "https"})
        cookies = right.headers.get_list("set-cookie")
        assert (right.json(), len(cookies)) == ({"success": True}, 3)
        assert all("; secure" in cookie.lower() for cookie in cookies)
        kept = "; ".join(cookie.partition(";")[0] for cookie in cookies)
        assert httpx.get(f"{app.url}/config", headers={"Cookie": kept}, timeout=TIMEOUT).status_code == 200
        tried = [log_in(app, "guess", "203.0.113.5").status_code for _ in range(NEAR + 1)]
        assert tried == [400] * NEAR + [429]
        known = cookies[-1].partition(";")[0]
        assert log_in(app, PASSWORD, "203.0.113.5", Cookie=known).json() == {"success": True}


# ------------------------------------------------------------ a Space, and the passwords of its studies


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, dict[str, str]]]:
    """A demo on a Hugging Face Space in which somebody was given a password for a study."""
    folder = tmp_path_factory.mktemp("space")
    with Store.open(folder / "workspace") as store:
        conversation = store.conversations.create(OWNER, "Heat pump")
        store.conversations.append_turn(OWNER, conversation.id, turn("t0", "A passage.", question="What cools it?"))
        study = store.studies.create(OWNER, "Pilot", [conversation.id], 1)
        people = InvitationService(store.invitations, store.studies)
        people.invite(OWNER, study.id, "Ben")
        given = {"study": study.id, "password": people.make_password(OWNER, study.id, "Ben")}
    on_space = {"SPACE_ID": "me/it", "SPACE_HOST": "me-it.hf.space"}
    with running(folder, environment=on_space, program=("app.py",)) as app:
        yield app, given


def test_a_space_may_be_framed_by_hugging_face_only(space: tuple[App, dict[str, str]]):
    answer = httpx.get(space[0].url, headers={"Host": "me-it.hf.space"}, timeout=TIMEOUT)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert policy.endswith("frame-ancestors 'self' https://huggingface.co https://*.hf.space")
    assert "x-frame-options" not in answer.headers


def enter(
    browser: Caller, known: Sequence[Handler], study: str, password: str, kept: dict[str, str] | None = None
) -> Answer:
    """Try to come in to a study as Ben with what the browser remembers, and return what is said."""
    (handler,) = [one for one in known if one.causes == (("pq-enter-button", "click"),) and "pq-invited" in one.fills]
    address = f"?tab=annotate&study={study}&enter=1"
    ((_, answer),) = browser.answers([Call(handler, ("Ben", password, kept or {}, address, None))])
    return answer


def test_passwords_of_studies_and_links_are_limited_like_all_others(space: tuple[App, dict[str, str]]):
    app, given = space
    first = Caller(app.url, "first", **{"X-Forwarded-For": "203.0.113.5"})
    known = handlers(first.http.get("/config").json())
    tried = [enter(first, known, given["study"], f"guess {n}").text for n in range(NEAR + 2)]
    assert ["do not belong together" in one for one in tried] == [True] * NEAR + [False] * 2
    assert ["too many wrong tries" in one for one in tried] == [False] * NEAR + [True] * 2
    assert "too many wrong tries" in enter(first, known, given["study"], given["password"]).text
    other = Caller(app.url, "other", **{"X-Forwarded-For": "203.0.113.6"})
    let_in = enter(other, known, given["study"], given["password"])
    assert "Ben, rating" in let_in.text
    assert "Ben, rating" in enter(first, known, given["study"], given["password"], let_in.values[0]).text  # known
    (arrive,) = [one for one in known if one.causes == (("", "load"),) and one.inputs[:1]
                 and one.inputs[0]["type"] == "browserstate" and not one.by_hand]  # fmt: skip
    link = f"?tab=annotate&study={given['study']}&invite="
    values = ["", {}, [], "", *[None] * (len(arrive.inputs) - 5), link]
    guesser = Caller(app.url, "guesser", **{"X-Forwarded-For": "203.0.113.7"})
    said = [next(guesser.answers([Call(arrive, (*values[:-1], f"{link}{n}"))]))[1].text for n in range(NEAR + 1)]
    assert ["This link is not valid" in one for one in said] == [True] * NEAR + [False]
    assert "too many wrong tries" in said[-1]


def test_wrong_tokens_are_limited_too_and_a_demos_uploads_tell_no_more(space: tuple[App, dict[str, str]]):
    app, _ = space
    headers = {"X-Forwarded-For": "203.0.113.8", "Authorization": "Bearer pdfqa_guess"}
    with httpx.Client(base_url=app.url, headers=headers, timeout=TIMEOUT) as guesser:
        tried = [guesser.post("/gradio_api/upload", files={"files": b"%PDF"}).status_code for _ in range(NEAR + 1)]
    assert tried == [401] * NEAR + [429]
