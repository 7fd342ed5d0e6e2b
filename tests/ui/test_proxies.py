"""Whom the server believes about who is asking, over HTTP: proxies that were named, and nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import httpx

from pdfqa_core.services import Services
from pdfqa_core.services.accounts import AccountRole
from pdfqa_core.services.secret_words import NEAR
from pdfqa_core.ui.accounts import COOKIE
from tests.services.helpers import LITERAL
from tests.serving_fakes import PDF
from tests.storage.conftest import turn
from tests.ui.calling import Answer, Call, Caller, Handler, Served, handlers, serving

TIMEOUT = 180  # seconds
PASSWORD, HEADER = "correct horse", "X-Forwarded-User"
OWNER = "visitor-" + "o" * 43


def with_accounts(services: Services) -> None:
    services.people.accounts.add("Ada", AccountRole.OWNER, PASSWORD)


def guess(app: Served, said: str) -> int:
    """Guess at a password, from the address that `said` names, and return the status."""
    form, headers = {"name": "Ada", "password": "guess"}, {"X-Forwarded-For": said}
    return httpx.post(f"{app.url}/sign-in", data=form, headers=headers, timeout=TIMEOUT).status_code


def test_a_local_user_is_no_proxy_that_was_not_named(tmp_path: Path):
    settings = LITERAL.changed("server", proxied=True, proxies="10.0.0.7", user_header=HEADER)
    with serving(tmp_path, settings, prepare=with_accounts) as app:
        for said in ("10.0.0.7", "203.0.113.5, 10.0.0.7", "127.0.0.1"):
            forged = {"X-Forwarded-For": said, HEADER: "Ada"}
            assert httpx.get(f"{app.url}/config", headers=forged, timeout=TIMEOUT).status_code == 401
        assert [guess(app, f"198.51.100.{n}") for n in range(NEAR + 2)] == [401] * NEAR + [429] * 2


def test_a_proxy_on_this_computer_signs_people_on(tmp_path: Path):
    settings = LITERAL.changed("server", proxied=True, proxies="127.0.0.1", user_header=HEADER)
    with serving(tmp_path, settings, prepare=with_accounts) as app:
        passed_on = {"X-Forwarded-For": "203.0.113.5"}
        config = httpx.get(f"{app.url}/config", headers={**passed_on, HEADER: "Ada"}, timeout=TIMEOUT)
        assert (config.status_code, config.json()["username"]) == (200, "Ada")
        unknown = httpx.get(app.url, headers={**passed_on, HEADER: "Eve"}, timeout=TIMEOUT)
        assert (unknown.status_code, "You have no account" in unknown.text) == (403, True)
        assert httpx.get(f"{app.url}/config", headers=passed_on, timeout=TIMEOUT).status_code == 401
        # limits count for who asks the proxy, and cookies know of TLS
        assert [guess(app, "198.51.100.1") for _ in range(NEAR + 1)] == [401] * NEAR + [429]
        assert guess(app, "9.2.3.4, 198.51.100.1") == 429
        for proto, secure in (("https", True), ("http", False)):
            browser = Caller(app.url, "page", **{"X-Forwarded-For": "198.51.100.2", "X-Forwarded-Proto": proto})
            answer = browser.http.post("/sign-in", data={"name": "Ada", "password": PASSWORD})
            assert {"; secure" in one.lower() for one in answer.headers.get_list("set-cookie")} == {secure}
            signed_in = {"Cookie": f"{COOKIE}={answer.cookies[COOKIE]}"}
            assert browser.http.get("/config", headers=signed_in).json()["root"].startswith(f"{proto}://")


def log_in(app: Served, password: str, said: str, **headers: str) -> httpx.Response:
    form, headers = {"username": "me", "password": password}, {"X-Forwarded-For": said, **headers}
    return httpx.post(f"{app.url}/login", data=form, headers=headers, timeout=TIMEOUT)


def test_with_a_password_and_no_proxy_nobody_makes_up_addresses(tmp_path: Path):
    with serving(tmp_path, LITERAL, password=PASSWORD) as app:
        tried = [log_in(app, "guess", f"198.51.100.{n}").status_code for n in range(NEAR + 2)]
        assert tried == [400] * NEAR + [429] * 2
        late = log_in(app, PASSWORD, "203.0.113.5")
        assert (late.status_code, "too many wrong tries" in late.text) == (429, True)
        claims = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example", "X-Gradio-Server": "http://evil"}
        page = httpx.get(app.url, headers=claims, timeout=TIMEOUT)
        assert ("auth_required" in page.text, "evil" in page.text, "https://127" in page.text) == (True, False, False)


def test_behind_tls_all_cookies_of_the_password_are_secure_and_the_known_browser_comes_in(tmp_path: Path):
    with serving(tmp_path, LITERAL.changed("server", proxied=True), password=PASSWORD) as app:
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


def enter(
    browser: Caller, known: Sequence[Handler], study: str, password: str, kept: dict[str, str] | None = None
) -> Answer:
    """Try to come in to a study as Ben with what the browser remembers, and return what is said."""
    (handler,) = [one for one in known if one.causes == (("pq-enter-button", "click"),) and "pq-invited" in one.fills]
    address = f"?tab=annotate&study={study}&enter=1"
    ((_, answer),) = browser.answers([Call(handler, ("Ben", password, kept or {}, address, None))])
    return answer


def test_passwords_of_studies_and_links_are_limited_like_all_others(tmp_path: Path):
    given: dict[str, str] = {}

    def with_a_study(services: Services) -> None:
        conversation = services.answers.conversations.create(OWNER, "Heat pump")
        talk = turn("t0", "A passage.", question="What cools it?")
        services._store.conversations.append_turn(OWNER, conversation.id, talk)
        study = services.studies.create(OWNER, "Pilot", [conversation.id])
        services.people.invitations.invite(OWNER, study.id, "Ben")
        given.update(study=study.id, password=services.people.invitations.make_password(OWNER, study.id, "Ben"))

    space = LITERAL.changed("server", demo=True, proxied=True, hosts="me-it.hf.space")
    with serving(tmp_path, space, prepare=with_a_study) as app:
        first, other, third, fourth = (
            Caller(app.url, f"page {n}", **{"X-Forwarded-For": f"203.0.113.{n}"}) for n in range(4)
        )
        page = first.http.get("/", headers={"Host": "me-it.hf.space"})
        framed_by = "frame-ancestors 'self' https://huggingface.co https://*.hf.space"
        assert page.headers["content-security-policy"].endswith(framed_by)
        assert page.headers["content-encoding"] == "gzip"
        known = handlers(first.http.get("/config").json())
        tried = [enter(first, known, given["study"], f"guess {n}").text for n in range(NEAR + 1)]
        assert ["do not belong together" in one for one in tried] == [True] * NEAR + [False]
        for password in ("guess", given["password"]):
            assert "too many wrong tries" in enter(first, known, given["study"], password).text
        let_in = enter(other, known, given["study"], given["password"])
        assert "Ben, rating" in let_in.text
        assert "Ben, rating" in enter(first, known, given["study"], given["password"], let_in.values[0]).text  # known
        links = [f"?tab=annotate&study={given['study']}&invite={n}" for n in range(NEAR + 1)]
        said = [third.arrive(known, address=link).text for link in links]
        assert ["This link is not valid" in one for one in said] == [True] * NEAR + [False]
        assert "too many wrong tries" in said[-1]
        # of uploads only those of a page that says who visits are taken, and tokens are guessed no more often
        for headers in ({}, {"x-pdfqa-ticket": "made up"}):
            refused = fourth.http.post("/gradio_api/upload", files={"files": PDF.open("rb")}, headers=headers)
            assert (refused.status_code, "does not say whose it is" in refused.text) == (403, True)
        fourth.http.headers["Authorization"] = "Bearer pdfqa_guess"
        guesses = [fourth.http.get("/config").status_code for _ in range(NEAR + 1)]
        assert guesses == [401] * NEAR + [429]
