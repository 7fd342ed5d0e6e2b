"""The page: a header and the tabs in the order of the work, one module each with `build(services, session)`."""

from __future__ import annotations

from pdfqa_core.ui.quick_gradio import QuickPage  # before anything else imports Gradio

# isort: split

import os
import re
import secrets
import socket
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import gradio as gr
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import JSONResponse, Response

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.accounts import AccountService, is_seat
from pdfqa_core.ui import annotate, api, chat, documents, downloads, evaluate, models, retrieval, theme, train
from pdfqa_core.ui.accounts import KEY, OwnPages, SignedIn, current, note
from pdfqa_core.ui.api_access import Access, TokenGate
from pdfqa_core.ui.collections import shown_collection
from pdfqa_core.ui.components import AT_ONCE, live_html, render
from pdfqa_core.ui.downloads import Budget, Tickets
from pdfqa_core.ui.gate import ASKS, Closed, Gate, SafeHeaders, SignIn, is_this_computer
from pdfqa_core.ui.guard import GuardedBlocks, Unforeseen, guard
from pdfqa_core.ui.mcp_tools import offer_tools, serve_tools
from pdfqa_core.ui.page_states import PageStates
from pdfqa_core.ui.places import Place, build_find, conversation_at, document_at, evaluation_at
from pdfqa_core.ui.proxies import Believed, Proxies
from pdfqa_core.ui.recipe import settings_from, values_of
from pdfqa_core.ui.roles import check_models, keep_to_role, may_write
from pdfqa_core.ui.seats import Arrival, Entrance, arrival, header_html, keep_to_rating
from pdfqa_core.ui.session import ChatState, EvaluateState, OpenPage, Session, Shown
from pdfqa_core.ui.theme import shortcuts_html
from pdfqa_core.ui.traffic import HEALTH, METRICS, Answering, Traffic, Waiting

TABS: dict[str, ModuleType] = {
    "Documents": documents,
    "Retrieval": retrieval,
    "Chat": chat,
    "Annotate": annotate,
    "Evaluate": evaluate,
    "Train": train,
    "Models": models,
}
# What the browser says, in the places of the inputs that are named so. Another step back may come before one is done.
GO = "(_, ...others) => [location.search, ...others]"
ADDRESS = "(...known) => [...known.slice(0, -1), location.search]"
ENTER = "(name, password, tokens, _, now) => [name, password, tokens, location.search, now]"
TOKEN = re.compile(r"[A-Za-z0-9_-]{32,64}")  # what names a visitor of a demo; nobody can guess it
# With one that is drawn anew at each start of the program, browsers would forget who they are. It protects nothing.
LASTING = "pdfqa"
NOBODY = ""  # the owner of a demo's page that has not said yet who is visiting: sees nothing and may add nothing


class AccountBlocks(GuardedBlocks):
    """A page that knows which account is calling, and lets nobody act on a page that another account opened."""

    def __init__(self, *arguments: Any, **others: Any) -> None:
        super().__init__(*arguments, **others)
        self._pages = OwnPages()
        self.tickets = Tickets()

    def queue(self, *_arguments: Any, **_others: Any) -> Any:
        """Make the queue, once: Gradio asks for it before there is anything in the page, when that is quick."""
        os.environ["GRADIO_ANALYTICS_CACHE_FREQUENCY"] = str(10**9)  # else it sums up the last 10,000 after each event
        return super().queue(default_concurrency_limit=8, max_size=64)

    def ticket(self, services: Services, owner: str) -> str:
        """Return what a visitor's page sends with uploads; empty where that is asked of nobody."""
        return self.tickets.of(owner) if services.settings.server.demo else ""

    async def process_api(self, *arguments: Any, **others: Any) -> Any:
        """Answer one request as Gradio does."""
        scope = getattr(getattr(others.get("request"), "request", None), "scope", None)
        note(scope if isinstance(scope, dict) else None)
        try:
            self._pages.check(others.get("session_hash") or getattr(others.get("request"), "session_hash", None))
        except UsageError as error:
            raise gr.Error(str(error), print_exception=False) from None
        return await super().process_api(*arguments, **others)


def build_page(services: Services) -> AccountBlocks:
    """Return the whole page, and what other programs may call; nothing is loaded yet but Gradio itself."""
    page: AccountBlocks
    with AccountBlocks(title="PDFQA", analytics_enabled=False, fill_width=True, delete_cache=(3600, 3600)) as page:
        session = gr.State(_before_arrival(services))
        visitor = gr.BrowserState("", storage_key="pdfqa-visitor", secret=LASTING)
        tokens = gr.BrowserState({}, storage_key="pdfqa-invited", secret=LASTING)
        recipe = gr.BrowserState([], storage_key="pdfqa-recipe-2")  # so that loading the page again changes nothing
        conversation = gr.BrowserState("", storage_key="pdfqa-conversation")
        address, ticket = gr.Textbox(visible=False), gr.Textbox(visible=False)  # what the browser says; see `Tickets`
        going = live_html(render("going"), elem_id="pq-going", classes="pq-offstage")
        header = live_html(
            render("header_invited", study="", words="", invited=False, account=None), elem_id="pq-header"
        )
        entrance = Entrance(services)
        build_find(services, session)
        pulse = gr.Timer(1.0)
        with gr.Tabs(elem_id="pq-tabs"):
            built = {}
            for title, module in TABS.items():
                with gr.Tab(title, id=title.lower(), elem_id=f"pq-{title.lower()}") as tab:
                    built[tab] = module.build(services, session)
        gr.HTML(shortcuts_html(services.studies.criteria), elem_id="pq-keys", apply_default_css=False, padding=False)
        by_tab = {str(tab.id): shown for tab, shown in built.items()}
        chat_state = by_tab["chat"].states[0]
        placed = [session, chat_state, *by_tab["documents"].states, *by_tab["evaluate"].states]

        def arrive(visitor: Any, known_tokens: Any, *known: Any) -> tuple[Any, ...]:
            came = arrival(services, known_tokens, str(known[-1] or ""), current())
            visitor, *others = _arrive(services, came, visitor, *known)
            head = (page.ticket(services, others[0].owner), _header(services, others[0]))
            return (visitor, dict(came.tokens), *head, *entrance.shown(came), *others)

        def go(address: str, *now: Any) -> tuple[Any, ...]:
            return now if is_seat(now[0].owner) else _go(services, Place.read(address), *now)

        def beat(now: Session) -> tuple[str, gr.Timer]:
            # Often while a model is loaded or fetched, rarely afterwards.
            return _header(services, now), gr.Timer(1.0 if services.models.language.status.busy else 5.0)

        arrived = page.load(
            arrive,
            [visitor, tokens, recipe, conversation, address],
            [visitor, tokens, ticket, header, entrance.said, entrance.form, *placed],
            js=ADDRESS,
            **AT_ONCE,
        )
        went = going.click(go, [address, *placed], placed, js=GO, trigger_mode="always_last", **AT_ONCE)
        session.change(lambda now: values_of(now.settings), session, recipe, **AT_ONCE)
        chat_state.change(lambda now: now.conversation_id, chat_state, conversation, **AT_ONCE)
        for tab, shown in built.items():
            if first := shown.on_arrival:
                arrived.then(first.handler, first.inputs, first.outputs, **AT_ONCE)
            show = _if_arrived(shown)
            tab.select(show, [session, *shown.inputs], shown.outputs, js=shown.js, **AT_ONCE)
            with tab:  # pressed by the browser in the open tab when the server has opened a place
                fill = gr.Button("Fill", visible="hidden", elem_id=f"pq-{tab.id}-fill")
            fill.click(
                show, [session, *shown.inputs], shown.outputs, js=shown.js, trigger_mode="always_last", **AT_ONCE
            )
        arrived.then(None, ticket, None, js="(ticket) => { window.pdfqa.ticket = ticket }")
        for event in (arrived, went):
            event.then(None, None, None, js="() => window.pdfqa.arrived()")
        pulse.tick(beat, session, [header, pulse], **AT_ONCE)
        rating = next(tab for tab in built if tab.id == "annotate")
        entered = entrance.button.click(
            entrance.enter,
            [entrance.name, entrance.password, tokens, address, session],
            [tokens, session, entrance.said, entrance.form, entrance.password, header],
            js=ENTER,
            **AT_ONCE,
        )
        show_rating = _if_arrived(built[rating])
        entered.then(show_rating, [session, *built[rating].inputs], built[rating].outputs, **AT_ONCE)
        keep_to_rating(page, session, rating, [arrive, go, beat, entrance.enter, show_rating])
        keep_to_role(page)
        guard(page)
        _offer_to_programs(page, services)
    return page


def _before_arrival(services: Services) -> Session:
    """Return what a page is whose browser has not said yet who is looking."""
    shared = services.settings.server.demo or services.people.accounts.kept.any()
    return Session(NOBODY if shared else LOCAL_OWNER, services.settings)


def _offer_to_programs(page: AccountBlocks, services: Services) -> None:
    """Offer the named endpoints and tools; the page's own handlers are no part of what other programs see."""
    for one in page.fns.values():
        one.api_visibility, one.api_name = "private", f"page_{one._id}"  # Gradio would call the others "ask_1"
    page.access = Access(services)
    api.offer(services, page.access)
    if services.settings.server.mcp:
        offer_tools(services, page.access)


def _if_arrived(shown: Shown) -> Callable[..., Any]:
    """Fill a tab unless the page does not yet know whose it is: a tab opened that early is filled on arrival."""

    def show(now: Session, *inputs: Any) -> Any:
        return shown.handler(*inputs) if now.arrived else _nothing(shown)

    return show


def _nothing(shown: Shown) -> Any:
    return [gr.skip() for _ in shown.outputs] if len(shown.outputs) > 1 else gr.skip()


def _arrive(
    services: Services,
    came: Arrival,
    visitor: str | None,
    recipe: list[Any] | None,
    conversation: str | None,
    address: str | None,
) -> tuple[Any, ...]:
    """Give the page its owner: everybody on one's own computer, each visitor for themself on a public demo.

    Who came by an invitation sees that study only. What the address names is opened; where it names no conversation,
    the one that was open when the page was loaded last, with the recipe of then.
    """
    if came.owner:
        guest = Session(came.owner, services.settings, to_rate=(came.study_id, ""), arrived=True)
        return visitor or "", guest, ChatState(), "", OpenPage(), EvaluateState()
    owner = LOCAL_OWNER  # also of those with an account: a group shares one workspace
    if services.settings.server.demo:
        visitor = visitor if TOKEN.fullmatch(str(visitor)) else secrets.token_urlsafe(32)
        owner = f"visitor-{visitor}"
    settings = services.settings
    try:
        settings = settings_from(recipe, settings, models=not settings.server.demo) if recipe else settings
        check_models(services, [settings])
    except (PdfQAError, ValueError):  # of another version of the program
        settings = services.settings
    place = Place.read(address or "")
    state, scope = conversation_at(services, owner, place)
    if not state.conversation_id:
        state, scope = conversation_at(services, owner, Place(conversation=str(conversation)))
    asked_about = services.documents.collections.resolve(owner, scope).document_ids
    services.index.preparation.want(owner, settings, asked_about)  # what a stopped program left unfinished goes on
    return (
        visitor or "",
        Session(owner, settings, scope, arrived=True),
        state,
        *document_at(services, owner, place),
        evaluation_at(services, owner, place),
    )


def _go(
    services: Services,
    place: Place,
    session: Session,
    chat_state: ChatState,
    chosen: str,
    at: OpenPage,
    evaluated: EvaluateState,
) -> tuple[Any, ...]:
    """Go back or forward to a place; the other tabs stay as they are."""
    match place.tab:
        case "chat":
            chat_state, scope = conversation_at(services, session.owner, place)
            session = replace(session, scope=scope)
        case "documents" | "":
            chosen, at = document_at(services, session.owner, place)
            session = replace(session, collection=_containing(services, session, chosen))
        case "evaluate" if place.evaluation != evaluated.evaluation:
            evaluated = evaluation_at(services, session.owner, place)
    return session, chat_state, chosen, at, evaluated


def _containing(services: Services, session: Session, document_id: str) -> str:
    """Return the collection that the table is narrowed to if the document is in it, else none: its row is shown."""
    shown = shown_collection(services, session)
    return session.collection if shown and (not document_id or document_id in shown.document_ids) else ""


def _header(services: Services, session: Session) -> str:
    account = current()
    if is_seat(session.owner):
        return header_html(services, session.owner, account)
    status = services.models.language.status
    demo = services.settings.server.demo
    where = "your own space on this demo" if demo else services.workspace.name
    folder = "removed after a while" if demo else str(services.workspace)
    return render(
        "header", workspace=where, folder=folder, status=status, offer=status.lacking and not demo, account=account
    )


def launch(page: AccountBlocks, services: Services, *, password: str = "", port: int | None = None) -> str:
    """Serve the page in the background, load the models after it is up, and return its address.

    Listens on this computer only, unless the settings say otherwise. Port 0 means any that is free. With a password,
    whoever opens the page has to type it. Raises UsageError if the port is in use, or the address is not one of this
    computer's.
    """
    server = services.settings.server
    people = services.people.accounts if services.people.accounts.kept.any() else None
    if people is not None:
        services.ask_before_writing(may_write)
    port = _free_port(server.host, server.port if port is None else port)
    os.environ["FORWARDED_ALLOW_IPS"] = ""  # uvicorn would believe whoever is on this computer; `Believed` asks who
    sign_in = SignIn(password, services.people.tries) if password else None
    page.access.asks, page.access.accounts = bool(password), people is not None
    more = {"lifespan": serve_tools(page)} if server.mcp else {}
    app, address, _share = page.launch(
        server_name=server.host,
        server_port=port,
        auth=sign_in.check if sign_in else None,  # type: ignore[arg-type]  # Gradio waits for its answer
        auth_dependency=_account_name if people is not None else None,
        auth_message=ASKS,
        share=False,
        _frontend=False,  # Gradio would give up where its own page takes it over 3 s, as on a busy machine
        inbrowser=False,
        prevent_thread_lock=True,
        quiet=True,
        show_error=False,
        ssr_mode=False,
        footer_links=[],
        allowed_paths=[],
        blocked_paths=[str(services.workspace)],
        max_file_size=f"{2 * services.settings.extraction.max_file_mb}mb",  # what is over the limit gets a reason
        enable_monitoring=False,
        run_history=False,  # Gradio would keep questions, answers, ratings and passwords in the browser
        theme=theme.theme(),
        css=theme.css(),
        head=theme.head(),
        mcp_server=False,  # `serve_tools` has set up the one with our choice of tools
        app_kwargs={"middleware": _guards(services, page, people, sign_in), **more},
    )
    services.tasks.housekeeping.start(downloads.tidy, PageStates.of(app, page).forget)
    services.tasks.meters.start()
    services.models.warm_up()
    services.documents.jobs.resume()
    return str(address)


def _account_name(request: Any) -> str | None:
    """Return what Gradio calls the user: the name of the account, which `SignedIn` has noted."""
    account = request.scope.get(KEY)
    return account.name if account else None


def _guards(
    services: Services, page: AccountBlocks, people: AccountService | None, sign_in: SignIn | None
) -> list[Middleware]:
    """Return what every request passes before Gradio sees it."""

    def health() -> Response:
        services.people.owners.preference(NOBODY, "health")
        return JSONResponse({"status": "ok"})

    def numbers() -> Response:
        data, kind = services.tasks.meters.text()
        return Response(data, media_type=kind)

    server = services.settings.server
    names = [name for name in server.hosts.split(",") if name.strip()]
    proxies = Proxies(server.proxies.split(","), proxied=server.proxied)
    waiting = Waiting(downloads.uploads(), 10**6 * server.total_mb if server.demo else 0)
    limits: dict[str, Any] = {}
    if server.demo:
        budget = Budget(10**6 * server.visitor_mb)
        limits = {"per_minute": server.per_minute, "tickets": page.tickets, "budget": budget}
        limits["program"] = page.access.program
    far = server.demo or not is_this_computer(server.host)
    small = [Middleware(GZipMiddleware, minimum_size=10_000, compresslevel=4)] if far else []  # the page: 0.8 to 0.1 MB
    guards = [
        Middleware(Believed, proxies=proxies, header=server.user_header),
        Middleware(SafeHeaders, names=names),
        Middleware(Unforeseen),
        *small,
        Middleware(Gate, listening=server.host, names=names),
        Middleware(Answering, path=HEALTH, answer=health),
        Middleware(TokenGate, access=page.access, page=page, tries=services.people.tries),
        Middleware(Traffic, waiting=waiting, **limits),
        Middleware(Answering, path=METRICS, answer=numbers),
    ]
    if people is not None:
        guards.append(Middleware(SignedIn, people=people, tries=services.people.tries, header=server.user_header))
    if sign_in is not None:
        guards.append(Middleware(Closed, sign_in=sign_in, page=page))
    guards += [Middleware(QuickPage), Middleware(theme.FirstPaint, mode=server.mode)]
    return guards


def _free_port(host: str, port: int) -> int:
    """Return the port, or any that is free for 0. Raises UsageError if it cannot be had."""
    bare = host.strip("[]")
    with socket.socket(socket.AF_INET6 if ":" in bare else socket.AF_INET) as probe:
        if os.name == "posix":  # elsewhere it would let two programs listen on one port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((bare, port))
        except OSError as error:
            raise UsageError(
                f"The app cannot listen on {host}, port {port}: {error.strerror or error}.",
                "Perhaps it is open already. Otherwise choose another port (--port 0: any that is free) or address.",
            ) from error
        return int(probe.getsockname()[1])
