"""What a role may: what nobody thought of, models, pages of somebody else. Each handler: see test_every_endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.models.files import read_encoders
from pdfqa_core.services import Services
from pdfqa_core.services.accounts import Account, AccountRole
from pdfqa_core.ui.accounts import KEY, OwnPages, note
from pdfqa_core.ui.roles import check_models, may_write, refusal
from tests.services.helpers import LITERAL
from tests.serving_fakes import FakeModels


def asks(role: AccountRole) -> None:
    """Have what follows be asked by somebody of this role."""
    note({"type": "http", "headers": [], KEY: Account(role.value, role)})


def test_what_nobody_thought_of_is_closed_to_viewers_and_the_models_to_members():
    new = [("something-new", "click")]
    assert refusal(AccountRole.VIEWER, new, "")
    assert refusal(AccountRole.ANNOTATOR, new, "")
    assert refusal(AccountRole.MEMBER, new, "") is None
    assert refusal(AccountRole.MEMBER, [("models-serve", "click")], "")
    assert refusal(AccountRole.OWNER, [("models-serve", "click")], "") is None
    assert refusal(AccountRole.VIEWER, [("documents-table", "click")], "open") is None
    assert refusal(AccountRole.VIEWER, [("documents-table", "click")], "remove")


@pytest.mark.parametrize("role", [AccountRole.MEMBER, AccountRole.VIEWER, None])
def test_only_owners_have_the_server_open_a_folder_or_fetch_a_model(tmp_path: Path, role: AccountRole | None):
    with Services.open(tmp_path, LITERAL, FakeModels()) as services:
        recipes = [
            services.settings.changed("retrieval", **{setting: named})
            for setting in ("embedding_model", "late_model", "reranker")
            for named in ("/srv/models/mine", "somebody/model", "a + /srv/b")
        ]
        asks(AccountRole.OWNER)
        check_models(services, recipes, ["somebody/base"])
        asks(role or AccountRole.OWNER)
        refused: list[tuple[Any, Any]] = [*(([recipe], ()) for recipe in recipes), ((), ["somebody/base"])]
        for asked, named in refused:
            with pytest.raises(UsageError, match="belong to its owner"):
                check_models(services, asked, named, of_program=role is None)
        known = read_encoders()[0].name
        check_models(services, [services.settings, services.settings.changed("retrieval", embedding_model=known)])
    note(None)


def test_the_database_takes_nothing_from_who_looks_on(tmp_path: Path):
    with Services.open(tmp_path, LITERAL, FakeModels()) as services:
        services.ask_before_writing(may_write)
        asks(AccountRole.VIEWER)
        with pytest.raises(UsageError, match="looking on"):
            services.answers.conversations.create("local", "Kestrel talk")
        asks(AccountRole.MEMBER)
        services.answers.conversations.create("local", "Kestrel talk")
    note(None)


def test_a_page_of_one_account_is_not_used_by_another_one():
    pages = OwnPages()
    asks(AccountRole.MEMBER)
    pages.check("a page")
    asks(AccountRole.ANNOTATOR)
    with pytest.raises(UsageError, match="opened by another account"):
        pages.check("a page")
    note(None)
