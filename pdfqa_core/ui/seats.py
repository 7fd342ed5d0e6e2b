"""People who came by an invitation: how the page lets them in, and that it lets them do nothing but rate.

Whoever opens "?study=…&invite=…" gets a page on which only the Annotate tab answers. Every other handler of the page
refuses them on the server: what is not named here, or built into that tab, is not theirs to call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any
from urllib.parse import parse_qs

import gradio as gr
from markupsafe import Markup

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.services import Services
from pdfqa_core.services.accounts import NOBODY, STUDY_OVER, Account, AccountRole, Entry, is_seat
from pdfqa_core.study_types import Role
from pdfqa_core.ui.accounts import current_place
from pdfqa_core.ui.components import error_html, live_html, render
from pdfqa_core.ui.guard import BY_ITSELF, blocks_in
from pdfqa_core.ui.session import Session

NOT_YOURS = ("You were invited to rate. This part of the program belongs to the owner of the study.", "")
_MOST_KEPT = 50  # studies that a browser remembers
_KNOWN = "known"  # under which it remembers by which names' passwords it came in before


@dataclass(frozen=True, slots=True)
class Arrival:
    """How somebody came by an invitation: as which owner, what the page says, and what the browser remembers.

    `owner` is empty where the address speaks of no invitation; `asks` is whether name and password are asked for.
    """

    owner: str = ""
    study_id: str = ""
    said: str = ""
    asks: bool = False
    tokens: Mapping[str, str] = field(default_factory=dict)


def arrival(services: Services, tokens: Any, address: str, account: Account | None = None) -> Arrival:
    """Return how the page was come to; `tokens` is what the browser remembers, by study.

    Who signed in to rate is let in to the study that the address names, else to the newest they are invited to.
    """
    came = _invited(services, tokens, address)
    if account is None or account.role is not AccountRole.ANNOTATOR or came.owner not in ("", NOBODY):
        return came
    kept, named = dict(came.tokens), came.study_id or parse_qs(address.removeprefix("?")[:2000]).get("study", [""])[0]
    for study_id in services.people.invitations.kept.studies_of(account.name):
        if named in ("", study_id):
            entry = services.people.invitations.come_back(kept.get(study_id, ""))
            return _in(entry or services.people.invitations.enter_as(study_id, account.name), kept)
    return Arrival(NOBODY, "", came.said, tokens=kept)


def _invited(services: Services, tokens: Any, address: str) -> Arrival:
    asked = {name: values[0] for name, values in parse_qs(address.removeprefix("?")[:2000]).items()}
    study_id, invite = asked.get("study", ""), asked.get("invite", "")
    kept = {str(key): str(value) for key, value in tokens.items()} if isinstance(tokens, dict) else {}
    if not study_id or not (invite or "enter" in asked or study_id in kept):
        return Arrival(tokens=kept)
    said = ""
    if invite:
        try:
            with services.people.tries.one(current_place(), "link"):
                return _in(services.people.invitations.take(study_id, invite), kept)
        except PdfQAError as error:
            said = error_html(error)
    entry = services.people.invitations.come_back(kept.get(study_id, ""))
    if entry is not None and entry.seat.study_id == study_id:
        return _in(entry, kept)
    if not said and study_id in kept and "enter" not in asked:
        said = error_html(UsageError(*STUDY_OVER))
    return Arrival(NOBODY, study_id, said, "enter" in asked, kept)


def signed_in(services: Services, study_id: str, name: str, password: str, tokens: Mapping[Any, Any]) -> Arrival:
    """Let somebody in by name and password. Raises PdfQAError."""
    kept, invitations = {str(key): str(value) for key, value in tokens.items()}, services.people.invitations
    marks = kept.pop(_KNOWN, "")
    known = invitations.known(study_id, name, marks)
    with services.people.tries.one(current_place(), f"study {study_id[:100]}", name, known=known):
        entry = invitations.sign_in(study_id, name, password)
    return _in(entry, {**kept, _KNOWN: invitations.marked(study_id, name, marks)})


def _in(entry: Entry, kept: Mapping[str, str]) -> Arrival:
    tokens = {**kept, entry.seat.study_id: entry.token}
    tokens = dict(list(tokens.items())[-_MOST_KEPT:])
    return Arrival(entry.owner, entry.seat.study_id, tokens=tokens)


def header_html(services: Services, owner: str, account: Account | None = None) -> str:
    """Return the header of a page on which somebody rates by invitation: neither model nor workspace."""
    seat = services.studies.kept.seat(owner)
    if seat is None:
        return render("header_invited", study="", words="", invited=True, account=account)
    doing = "rating" if seat.role is Role.ANNOTATOR else "looking on"
    study = next((one.name for one in services.studies.list(owner)), "")
    return render("header_invited", study=study, words=f"{seat.name}, {doing}", invited=True, account=account)


class Entrance:
    """Where the page says why somebody is not let in, and asks for name and password."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.said = live_html(elem_id="pq-invited")
        with gr.Column(visible=False, elem_id="pq-enter") as self.form:
            self.name = gr.Textbox(label="Your name", max_length=80, elem_id="pq-enter-name")
            self.password = gr.Textbox(label="Password", type="password", max_length=200, elem_id="pq-enter-password")
            self.button = gr.Button("Come in", variant="primary", elem_id="pq-enter-button")

    def shown(self, arrived: Arrival) -> tuple[str, Any]:
        """Return what stands here after somebody has come: nothing where they are let in."""
        if arrived.owner != NOBODY:
            return "", gr.Column(visible=False)
        return render(
            "not_let_in",
            said=Markup(arrived.said),  # noqa: S704 - made by a template
            asks=arrived.asks,
        ), gr.Column(visible=arrived.asks)

    def enter(self, name: str, password: str, tokens: Any, address: str, now: Session) -> tuple[Any, ...]:
        """Let somebody in by name and password; returns what the browser remembers, the session, and what is shown."""
        study_id = parse_qs((address or "").removeprefix("?")[:2000]).get("study", [""])[0]
        tokens = tokens if isinstance(tokens, dict) else {}
        try:
            found = signed_in(self.services, study_id, name or "", password or "", tokens)
        except PdfQAError as error:
            found = Arrival(NOBODY, study_id, error_html(error), asks=True, tokens=tokens)
        session = replace(now, owner=found.owner, to_rate=(found.study_id, ""))
        said, form = self.shown(found)
        return dict(found.tokens), session, said, form, "", header_html(self.services, found.owner)


def keep_to_rating(page: gr.Blocks, session: gr.State, tab: gr.Tab, allowed: Collection[Callable[..., Any]]) -> None:
    """Refuse invited people every handler that neither stands in `tab` nor is one of `allowed`.

    Called at the end of the page, inside its `with`, before `guard`, which tells what is refused.
    """
    inside = {tab._id, *(block._id for block in blocks_in(tab))}
    origins = {one._id: one for one in page.fns.values()}
    for one in page.fns.values():
        if one.fn is None or one.fn in allowed:
            continue
        first = one
        while first.trigger_after is not None:
            first = origins[first.trigger_after]
        if first.targets and all(block in inside for block, _ in first.targets):
            continue
        by_hand = one.trigger_after is None and not {event for _, event in one.targets} & BY_ITSELF
        one.inputs = [*one.inputs, session]
        one.fn = _refusing(one.fn, len(one.outputs), by_hand)


def _refusing(handler: Callable[..., Any], count: int, by_hand: bool) -> Callable[..., Any]:
    """Return a handler that takes the session as its last argument, and refuses invited people."""

    def nothing() -> Any:
        if by_hand:
            raise UsageError(*NOT_YOURS)
        return [gr.skip() for _ in range(count)] if count > 1 else gr.skip()

    def invited(arguments: tuple[Any, ...]) -> bool:
        now = arguments[-1]
        return isinstance(now, Session) and is_seat(now.owner)

    if inspect.isgeneratorfunction(handler):

        @wraps(handler)
        def stream(*arguments: Any) -> Iterator[Any]:
            if invited(arguments):
                yield nothing()
            else:
                yield from handler(*arguments[:-1])

        return stream

    @wraps(handler)
    def call(*arguments: Any) -> Any:
        return nothing() if invited(arguments) else handler(*arguments[:-1])

    return call
