"""What each role may do on the page of a server with accounts; asked on the server, for every handler.

What is not named here, a viewer may not do: a new handler is closed to them until somebody opens it. What is named may
still hold more than looking; so the action that was clicked is asked too, and the database refuses their writes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import gradio as gr

from pdfqa_core.errors import UsageError
from pdfqa_core.models.files import models_of
from pdfqa_core.services import Services
from pdfqa_core.services.accounts import AccountRole
from pdfqa_core.settings import Settings
from pdfqa_core.ui.accounts import current
from pdfqa_core.ui.guard import BY_ITSELF

LOOK_ON = ("Your account is for looking on: it changes nothing.", "Ask whoever runs this server for another role.")
OWNERS = ("The models of this server belong to its owner.", "Ask an owner to change them.")
RATE = ("Your account is for rating where you are invited.", "Ask whoever runs this server for another role.")
MODELS = ("models",)
RATING = ("annotate", "pq-enter", "pq-annotate")
SEEN = frozenset(
    "documents-table documents-collections documents-page overview-about overview-contents overview-summary "
    "chat-conversations chat-transcript chat-evidence chat-page evaluate-results evaluate-items evaluate-item "
    "evaluate-page evaluate-earlier evaluate-baseline evaluate-only evaluate-html evaluate-csv evaluate-parquet "
    "evaluate-latex evaluate-figure evaluate-json evaluate-trec evaluate-what runs-list runs-results runs-items "
    "runs-item runs-page runs-baseline runs-only runs-part runs-html runs-csv runs-latex runs-json runs-answers "
    "runs-methods runs-zip runs-what pq-going".split()
)  # elements that a viewer may use, and what they may click inside of them
LOOKING = frozenset(("", "open", "page", "show", "turn", "cite", "nearest", "match", "hit", "item", "sort", "gold"))


def keep_to_role(page: gr.Blocks) -> None:
    """Have every handler ask whether the role of the account that calls it may; called before `guard`."""
    origins = {one._id: one for one in page.fns.values()}
    for one in page.fns.values():
        if one.fn is None:
            continue
        first = one
        while first.trigger_after is not None:
            first = origins[first.trigger_after]
        elements = [(_name(page.blocks.get(block or -1)), event) for block, event in first.targets]
        by_hand = one.trigger_after is None and not {event for _, event in one.targets} & BY_ITSELF
        one.fn = _asking(one.fn, len(one.outputs), by_hand, elements)


def may_write() -> None:
    """Raise UsageError where a viewer's click would change the database."""
    account = current()
    if account is not None and account.role is AccountRole.VIEWER:
        raise UsageError(*LOOK_ON)


def may_choose_models() -> None:
    """Raise UsageError where somebody would have the server load another model who may not."""
    account = current()
    if account is not None and account.role is not AccountRole.OWNER:
        raise UsageError(*OWNERS)


def check_models(
    services: Services, recipes: Iterable[Settings], named: Iterable[str] = (), *, of_program: bool = False
) -> None:
    """Raise UsageError where recipes, or `named` models, have the server open a folder or fetch a model from the hub.

    Only owners may do that, not members, visitors of a demo or programs. What the server was started with stays
    allowed.
    """
    account = current()
    if of_program or services.models.demo or (account is not None and account.role is not AccountRole.OWNER):
        allowed = models_of(services.settings.retrieval)
        asked = [*named, *(name for one in recipes for name in models_of(one.retrieval))]
        if any(name not in allowed for name in services.models.files.encoders.foreign(asked)):
            raise UsageError(*OWNERS)


def refusal(role: AccountRole, elements: list[tuple[str, str]], action: str) -> tuple[str, str] | None:
    """Return why somebody may not use these elements (each with its event), None where they may."""
    if role is AccountRole.OWNER:
        return None
    names = [name for name, _ in elements]
    if role is AccountRole.MEMBER:
        return OWNERS if any(name.startswith(MODELS) for name in names) else None
    filling = all(
        event in BY_ITSELF or name.endswith("-fill") or (event == "select" and name.startswith("pq-"))
        for name, event in elements
    )
    if role is AccountRole.ANNOTATOR:
        rating = bool(names) and all(name.startswith(RATING) for name in names)
        return None if rating or all(event in ("load", "tick") for _, event in elements) else RATE
    if filling and not any(name.removeprefix("pq-").startswith(MODELS) for name in names):
        return None
    return None if names and set(names) <= SEEN and action in LOOKING else LOOK_ON


def _asking(
    handler: Callable[..., Any], count: int, by_hand: bool, elements: list[tuple[str, str]]
) -> Callable[..., Any]:
    def refused(arguments: tuple[Any, ...]) -> bool:
        account = current()
        why = refusal(account.role, elements, _action(arguments)) if account else None
        if why and by_hand:
            raise UsageError(*why)
        return why is not None

    nothing = [gr.skip() for _ in range(count)] if count > 1 else gr.skip()
    if inspect.isgeneratorfunction(handler):

        @wraps(handler)
        def stream(*arguments: Any) -> Iterator[Any]:
            if refused(arguments):
                yield nothing
            else:
                yield from handler(*arguments)

        return stream

    @wraps(handler)
    def call(*arguments: Any) -> Any:
        return nothing if refused(arguments) else handler(*arguments)

    return call


def _action(arguments: tuple[Any, ...]) -> str:
    """Return what was clicked inside of an element; empty where the event does not say."""
    event = next((one for one in arguments if isinstance(one, gr.EventData)), None)
    data = getattr(event, "_data", None)
    return str(data.get("action", "")) if isinstance(data, dict) else ""


def _name(block: Any) -> str:
    return str(getattr(block, "elem_id", None) or "")
