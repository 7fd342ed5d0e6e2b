"""Invitations to a server's accounts: links that work once, the page for them, the command that makes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from pdfqa_core.cli import main
from pdfqa_core.errors import UsageError
from pdfqa_core.services import accounts as module
from pdfqa_core.services.accounts import Account, AccountRole, AccountService
from pdfqa_core.storage import Store
from pdfqa_core.storage import accounts as storage
from tests.ui.test_accounts import PASSWORD, served, sign_in


@pytest.fixture
def people(tmp_path: Path) -> Iterator[AccountService]:
    with Store.open(tmp_path / "workspace") as store:
        accounts = AccountService(store.accounts)
        accounts.add("Ada", AccountRole.OWNER, PASSWORD)
        yield accounts


def test_a_link_makes_an_account_once(people: AccountService):
    invitation, link = people.invite(" Ben ", AccountRole.ANNOTATOR)
    assert (invitation.name, invitation.role) == ("Ben", AccountRole.ANNOTATOR)
    assert people.named("Ben") is None
    browser = served(people)
    for _ in range(2):  # to look at it does not use it up
        page = browser.get(link)
        assert (page.status_code, "Welcome, Ben" in page.text) == (200, True)
    token = link.partition("=")[2]
    sent = {"token": token, "password": "new horse", "again": "new house"}
    differ = browser.post("/join", data=sent)
    assert (differ.status_code, "two different passwords" in differ.text) == (400, True)
    short = browser.post("/join", data={"token": token, "password": "short", "again": "short"})
    assert (short.status_code, "8 to 200 characters" in short.text) == (400, True)
    assert people.named("Ben") is None
    joined = browser.post("/join", data=sent | {"again": "new horse"})
    assert (joined.status_code, joined.headers["location"]) == (303, "/")
    assert browser.get("/config").json() == {"name": "Ben"}
    assert people.list() == (Account("Ada", AccountRole.OWNER), Account("Ben", AccountRole.ANNOTATOR))
    assert people.invitations() == []
    other = served(people, client="198.51.100.2")
    again = other.post("/join", data=sent | {"again": "new horse"})
    assert (again.status_code, "was used already" in again.text) == (403, True)
    assert other.get("/config").status_code == 401
    assert sign_in(other, "ben", "new horse").status_code == 303


def test_a_link_for_an_account_gives_it_a_new_password_and_signs_out(people: AccountService):
    before = people.sign_in("Ada", PASSWORD)
    invitation, link = people.invite("ada", AccountRole.VIEWER)
    assert (invitation.name, invitation.role) == ("Ada", AccountRole.OWNER)
    assert people.signed_in(before) is not None  # until the link is used
    people.join(link.partition("=")[2], "another horse")
    assert people.signed_in(before) is None
    assert people.named("Ada") == Account("Ada", AccountRole.OWNER)
    with pytest.raises(UsageError, match="do not belong together"):
        people.sign_in("Ada", PASSWORD)
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

    first, second = people.invite("Ben")[1], people.invite("ben")[1]
    assert (good(first), good(second), len(people.invitations())) == (False, True, 1)
    people.remove("Ben")
    assert not good(second)
    with pytest.raises(UsageError, match="no account “Ben”"):
        people.remove("Ben")
    monkeypatch.setattr(module, "INVITED", timedelta(seconds=1))
    old = people.invite("Cem")[1].partition("=")[2]
    assert good(f"={old}")
    monkeypatch.setattr(storage, "datetime", Tomorrow)
    assert (people.invited(old), people.invitations()) == (None, [])
    with pytest.raises(UsageError, match="was used already, or has ended"):
        people.join(old, "a long password")
    assert people.invited("") is None


def test_a_made_up_link_and_a_large_form_let_nobody_in(people: AccountService):
    browser = served(people)
    for answer in (browser.get("/join?token=guess"), browser.get("/join")):
        assert (answer.status_code, "was used already" in answer.text) == (403, True)
    assert browser.post("/join", data={"token": "x" * 6_000}).status_code == 413
    assert browser.get("/config").status_code == 401


def test_nobody_is_invited_before_there_is_an_owner(tmp_path: Path):
    with Store.open(tmp_path / "empty") as store, pytest.raises(UsageError, match="before there is an owner"):
        AccountService(store.accounts).invite("Ben")


def test_the_command_prints_the_link_and_who_has_not_come(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    where = ["--workspace", str(tmp_path / "workspace")]
    with Store.open(tmp_path / "workspace") as store:
        AccountService(store.accounts).add("Ada", AccountRole.OWNER, PASSWORD)
    invite = ["accounts", "invite", "Ben", "--role", "viewer", "--address", "https://docs.example.org/"]
    assert main([*invite, *where]) == 0
    said = capsys.readouterr().out
    token = re.search(r"^https://docs\.example\.org/join\?token=(\S{40,})$", said, re.MULTILINE)
    assert token, said
    assert main(["accounts", "list", *where]) == 0
    assert re.search(r"^Ben \(viewer\), invited until \d{4}-", capsys.readouterr().out, re.MULTILINE)
    assert main([*invite, "--json", *where]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in rows["accounts"]] == ["Ada"]
    assert [(one["name"], one["role"]) for one in rows["invitations"]] == [("Ben", "viewer")]
    assert rows["link"].startswith("https://docs.example.org/join?token=")
    stored = b"".join(file.read_bytes() for file in (tmp_path / "workspace").glob("pdfqa.sqlite*"))
    assert token[1].encode() not in stored
