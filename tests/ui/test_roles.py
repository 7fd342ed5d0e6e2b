"""Every handler of the page, called as every role: who looks on or rates changes nothing and learns nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from gradio.state_holder import SessionState
from sqlalchemy import select

from pdfqa_core.errors import UsageError
from pdfqa_core.models.encoder_files import read_encoders
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.accounts import Account, AccountRole
from pdfqa_core.storage.columns import metadata
from pdfqa_core.storage.server_tables import sign_ins
from pdfqa_core.ui import AccountBlocks, build_page
from pdfqa_core.ui.accounts import KEY, OwnPages, note
from pdfqa_core.ui.roles import LOOKING, check_models, may_write, refusal
from pdfqa_core.ui.session import Session
from tests.services.helpers import LITERAL
from tests.serving_fakes import PDF, FakeModels
from tests.ui.serving import run_apart

ACTIONS = sorted({*LOOKING, "remove", "rename", "retry"})  # what may pass, and some of what may not
STEPS = 3  # of a handler that goes on and on


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[tuple[Services, AccountBlocks]]:
    """A workspace with a document, a conversation and accounts, and its page."""
    with Services.open(tmp_path / "workspace", LITERAL, FakeModels()) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        services.conversations.create(LOCAL_OWNER, "Kestrel talk")
        for role in AccountRole:
            services.accounts.add(role.value, role, "correct horse")
        page = build_page(services)
        assert isinstance(page, AccountBlocks)
        services.ask_before_writing(may_write)
        yield services, page


def request(role: AccountRole, session: str = "") -> Any:
    scope = {"type": "http", "headers": [], KEY: Account(role.value, role)}
    inner = SimpleNamespace(scope=scope, headers={}, query_params={}, client=None)
    return gr.Request(inner, role.value, session_hash=session or f"page of {role}")


def call_everything(page: AccountBlocks, role: AccountRole, data: dict[str, Any], session: Session) -> str:
    """Call each handler as a role would, with each action, and return all that came back and was refused."""
    said: list[str] = []
    state = SessionState(page)  # to make one takes long

    async def call(one: Any, action: str) -> None:
        for block in one.inputs:
            if isinstance(block, gr.State) and isinstance(block.value, Session):
                state[block._id] = session
        event = gr.EventData(None, {**data, "action": action})
        iterator = None
        for _ in range(STEPS):
            found = await page.process_api(
                one, [None] * len(one.inputs), state, request=request(role), iterator=iterator, event_data=event,
                session_hash=f"page of {role}",
            )  # fmt: skip
            said.append(str(found["data"]))
            iterator = found.get("iterator")
            if not found.get("is_generating"):
                break

    calls: list[bool] = []

    async def all_of_them() -> None:
        for one in list(page.fns.values()):
            if one.fn is None:
                continue
            takes_event = any("EventData" in str(kind) for kind in getattr(one.fn, "__annotations__", {}).values())
            calls.append(takes_event)
            for action in ACTIONS if takes_event else [""]:
                with suppress(gr.Error):
                    await call(one, action)

    run_apart(all_of_them())
    assert sum(calls) > 20  # handlers of clicks with an action
    assert len(calls) > 200
    return "\n".join(said)


def everything_kept(services: Services) -> dict[str, str]:
    """Return a digest of each table, and of the files that hold what people made."""
    with services._store.database.read() as connection:
        rows = {
            table.name: hashlib.sha256(repr(connection.execute(select(table)).all()).encode()).hexdigest()
            for table in metadata.sorted_tables
            if table is not sign_ins
        }
    folders = [services.workspace / name for name in ("pdfs", "incoming", "run_data", "training")]
    return rows | {str(file): "" for folder in folders if folder.is_dir() for file in folder.rglob("*")}


@pytest.mark.parametrize("role", [AccountRole.VIEWER, AccountRole.ANNOTATOR])
def test_no_handler_lets_those_change_anything_who_may_not(shared: tuple[Services, AccountBlocks], role: AccountRole):
    services, page = shared
    (document,) = services.documents.list(LOCAL_OWNER)
    (conversation,) = services.conversations.list(LOCAL_OWNER)
    before = everything_kept(services)
    data = {
        "document": document.id, "conversation": conversation.id, "text": "a new name", "name": "a new name",
        "number": 1, "page": 1, "question": "How often are the meters read?", "collection": "", "extractor": "direct",
    }  # fmt: skip
    session = Session(LOCAL_OWNER if role is AccountRole.VIEWER else "", services.settings, arrived=True)
    said = call_everything(page, role, data, session)
    services.answering.close()
    assert everything_kept(services) == before
    if role is AccountRole.VIEWER:
        assert "Your account is for looking on" in said
        assert "Kestrel" in said  # what there is, they see
    else:
        assert "Your account is for rating" in said
        assert "Kestrel" not in said
        assert "harbour-heat" not in said


def test_an_owner_may_what_the_others_may_not(shared: tuple[Services, AccountBlocks]):
    services, page = shared
    (document,) = services.documents.list(LOCAL_OWNER)
    table = next(
        one for one in page.fns.values()
        if [getattr(page.blocks.get(block or -1), "elem_id", "") for block, _ in one.targets] == ["documents-table"]
    )  # fmt: skip

    def remove(role: AccountRole) -> None:
        state = SessionState(page)
        for block in table.inputs:
            if isinstance(block, gr.State) and isinstance(block.value, Session):
                state[block._id] = Session(LOCAL_OWNER, services.settings, arrived=True)
        event = gr.EventData(None, {"action": "remove", "document": document.id})
        values = [None] * len(table.inputs)
        run_apart(page.process_api(table, values, state, request=request(role), event_data=event))

    remove(AccountRole.VIEWER)
    assert services.documents.list(LOCAL_OWNER) == (document,)
    remove(AccountRole.MEMBER)
    assert services.documents.list(LOCAL_OWNER) == ()


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
def test_only_owners_have_the_server_open_a_folder_or_fetch_a_model(
    shared: tuple[Services, AccountBlocks], role: AccountRole | None
):
    services, _ = shared
    recipes = [
        services.settings.changed("retrieval", **{setting: named})
        for setting in ("embedding_model", "late_model", "reranker")
        for named in ("/srv/models/mine", "somebody/model", "a + /srv/b")
    ]
    note(request(AccountRole.OWNER).request.scope)
    check_models(services, recipes, ["somebody/base"])
    note(request(role or AccountRole.OWNER).request.scope)
    for recipe in recipes:
        with pytest.raises(UsageError, match="belong to its owner"):
            check_models(services, [recipe], of_program=role is None)
    with pytest.raises(UsageError, match="belong to its owner"):
        check_models(services, (), ["somebody/base"], of_program=role is None)
    known = read_encoders()[0].name
    check_models(services, [services.settings, services.settings.changed("retrieval", embedding_model=known)])


def test_a_page_of_one_account_is_not_used_by_another_one():
    pages = OwnPages()
    note(request(AccountRole.MEMBER).request.scope)
    pages.check("a page")
    note(request(AccountRole.ANNOTATOR).request.scope)
    with pytest.raises(UsageError, match="opened by another account"):
        pages.check("a page")
    note(None)
