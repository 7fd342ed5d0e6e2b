from __future__ import annotations

import pytest

from pdfqa_core.cli import main
from pdfqa_core.errors import UsageError
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from tests.serving_fakes import FakeModels


def test_tokens_are_made_listed_without_themselves_and_removed(empty, run):
    assert "There are no tokens" in run("tokens", "list").out
    made = run("tokens", "add", "my script", "--json").data
    assert made["name"] == "my script"
    assert made["token"].startswith("pdfqa_")
    assert len(made["token"]) > 40
    again = run("tokens", "add", "my  script", "--json")
    assert (again.status, "already" in again.data["error"]["what"]) == (2, True)
    for output in (run("tokens", "list").out, run("tokens", "list", "--json").out):
        assert "my script" in output
        assert made["token"] not in output
    assert made["token"].encode() not in (empty / "pdfqa.sqlite").read_bytes()  # a hash only
    with Services.open(empty, Settings(), FakeModels()) as services:
        known = services.people.tokens.of(made["token"])
        assert (known.name, services.people.tokens.owner(known)) == ("my script", LOCAL_OWNER)
        assert services.people.tokens.kept.list()[0].used_at is not None
    assert run("tokens", "remove", "my script").status == 0
    with Services.open(empty, Settings(), FakeModels()) as services, pytest.raises(UsageError, match="not valid"):
        services.people.tokens.of(made["token"])
    gone = run("tokens", "remove", "my script", "--json")
    assert gone.data["error"] == {"what": "There is no token called “my script”.", "hint": "There are none."}


@pytest.mark.parametrize("name", ["", "  ", "x" * 81])
def test_a_token_needs_a_name(empty, run, name):
    assert "A token needs a name" in run("tokens", "add", name, "--json").data["error"]["what"]
    assert main(["tokens"]) == 2
