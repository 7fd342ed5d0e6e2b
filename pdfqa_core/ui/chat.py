"""The Chat tab: conversations on the left, the chat in the middle, evidence with its page on the right."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import gradio as gr

from pdfqa_core.errors import PdfQAError
from pdfqa_core.exports.conversations import REMOVED
from pdfqa_core.reading.outcomes import lines_of
from pdfqa_core.services import ANSWER, Job, Services, job_name
from pdfqa_core.services.conversation_files import conversation_file
from pdfqa_core.types import Citation, Done, Event, Hit, Progress, Retrieved, Rewritten, Stored, Thumb, Token, Turn
from pdfqa_core.ui import chat_view, downloads
from pdfqa_core.ui.chat_view import Studying
from pdfqa_core.ui.components import (
    AT_ONCE,
    EVERY_CLICK,
    FRAME,
    QUIET,
    Click,
    asking_page,
    clicked,
    error_html,
    live_html,
    render,
    switch,
)
from pdfqa_core.ui.documents import work_html
from pdfqa_core.ui.page_view import empty_page, main_page, show_page
from pdfqa_core.ui.session import (
    Added,
    ChatState,
    Session,
    Showing,
    Shown,
    cited,
    first_citation,
    quote_of,
    scope_choice,
    shown_first,
)

# ----------------------------------------------------------------------------------------------------
# The turn that is being answered, put together from the events of its answer.


@dataclass(slots=True)
class LiveTurn:
    """What is known of the answer so far; `phase` says what is being done."""

    question: str
    searched: str
    phase: str = "starting"
    rewriting: str = ""
    text: str = ""
    hits: tuple[Hit, ...] = ()

    @classmethod
    def begin(cls, question: str) -> Self:
        """Return the turn before anything has happened."""
        return cls(question, question)

    @classmethod
    def of(cls, written: Job) -> Self:
        """Return the turn as far as it is."""
        turn = cls.begin(written.title)
        for event in written.so_far:
            turn.take(event)
        return turn

    def take(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case Progress(phase=words, done=done, total=total):
                self.phase = f"{words}: {done:,} of {total:,}" if total else words
            case Rewritten(question=question, note=note):
                self.searched, self.rewriting = question, note
            case Retrieved(hits=hits):
                self.hits = hits
            case Token(text=piece):
                self.text, self.phase = self.text + piece, "writing"

    def html(self, *, taken_up: bool = False) -> str:
        """Return it as the transcript shows it, see `chat_view.live_turn`."""
        words = self.question, self.searched, self.text, self.phase, self.rewriting
        return chat_view.live_turn(*words, taken_up=taken_up)

    def broken(self) -> str:
        """Return it as it was when something failed."""
        return chat_view.live_turn(self.question, self.searched, self.text, "")


def looked_at(state: ChatState, turns: Sequence[Turn], written: Job | None) -> Turn | LiveTurn | None:
    """Return the turn whose evidence is shown: the chosen one, else one that is being answered, else the last."""
    chosen = next((turn for turn in turns if turn.id == state.turn_id), None)
    if chosen is None and written is not None and (live := LiveTurn.of(written)).hits:
        return live
    return chosen or (turns[-1] if turns else None)


def chosen_hit(turn: Turn | LiveTurn | None, rank: int) -> Hit | None:
    """Return the hit of this rank; the best one of a turn that is being answered where none is chosen."""
    if isinstance(turn, LiveTurn):
        return next((hit for hit in turn.hits if hit.rank == rank), turn.hits[0])
    return next((hit for hit in turn.answer.hits if hit.rank == rank), None) if turn else None


class Looking:
    """Which passage of an answer that is being written was clicked on each page: it stays chosen when that is there."""

    def __init__(self) -> None:
        self._ranks = Showing()

    def begin(self, page: str) -> None:
        """Note that an answer begins, of which nothing was clicked."""
        self._ranks.put(page, "")

    def note(self, page: str, state: ChatState, rank: int) -> None:
        """Note which passage was clicked, or whose page was turned; 0 is the first. Those of stored turns are not."""
        if not state.turn_id:
            self._ranks.put(page, str(rank))

    def after(self, page: str, state: ChatState, turn: Turn, live: LiveTurn) -> ChatState:
        """Return the state after an answer; `state` is what it would be where nothing was clicked."""
        looking = self._ranks.of(page)
        hit = chosen_hit(turn, int(looking) or live.hits[0].rank) if looking and live.hits else None
        return replace(state, rank=hit.rank, citation=first_citation(turn, hit.rank)) if hit else state


# ----------------------------------------------------------------------------------------------------
# What the list of conversations does: open one, begin a new one, rename, delete.

OPENING = ("new", "open")  # what leads to another conversation
LONGEST_NAME = 200  # characters


def act_on_list(services: Services, data: Click, state: ChatState, session: Session) -> tuple[ChatState, Session]:
    """Do what a click on the list asks for; return what is open then, and what is asked about."""
    chosen = data.get("conversation", "")
    match data.get("action"):
        case "new":
            return ChatState(), replace(session, scope=())  # the choice belongs to the conversation that was left
        case "open":
            conversation = services.answers.conversations.get(session.owner, chosen)
            state = shown_first(chosen, conversation.turns[-1]) if conversation.turns else ChatState(chosen)
            return state, replace(session, scope=conversation.document_ids)
        case "rename":
            services.answers.conversations.rename(session.owner, chosen, data.get("text", "")[:LONGEST_NAME])
        case "delete":
            services.tasks.stop(job_name(ANSWER, session.owner, chosen))
            services.answers.conversations.delete(session.owner, chosen)
            if state.conversation_id == chosen:
                return ChatState(), session
    return state, session


# ----------------------------------------------------------------------------------------------------
# The components of the chat tab, in their places.

NO_PAGE = "Choose a passage above, or a marker in an answer, to see it on its page."


class Parts:
    """The components of the tab, in their places."""

    def __init__(self, session: gr.State) -> None:
        self.session = session
        self.state = gr.State(ChatState())
        switch("chat-columns", "Conversations", "Chat", "Evidence", chosen=2)
        with gr.Row(elem_classes=["pq-columns"], elem_id="chat-columns"):
            with gr.Column():
                self.conversations = live_html(elem_id="chat-conversations")
                self.scope = gr.Dropdown(
                    [],
                    multiselect=True,
                    label="Ask about",
                    info="Documents or collections; empty: all",
                    elem_id="chat-scope",
                    elem_classes=["pq-field"],
                )
            with gr.Column():
                with gr.Column(elem_id="chat-scroll"):
                    self.transcript = live_html(elem_id="chat-transcript")
                    self.live = live_html(elem_id="chat-live")
                    self.follow_ups = live_html(elem_id="chat-follow-ups")
                live_html(render("chat_waits"), elem_id="chat-waits")
                with gr.Row(elem_id="chat-compose"):
                    self.question = gr.Textbox(
                        lines=1,
                        max_lines=8,
                        label="Question",
                        show_label=False,
                        container=False,
                        scale=8,
                        placeholder="Ask…",
                        elem_id="chat-question",
                    )
                    self.send = gr.Button("Send", variant="primary", scale=0, elem_id="chat-send")
                    self.reader = live_html(elem_id="chat-reader")
                    self.stop = gr.Button(
                        "Stop", variant="stop", scale=0, visible=False, elem_id="chat-stop", elem_classes=["pq-stop"]
                    )
            with gr.Column():
                self.evidence = live_html(elem_id="chat-evidence")
                self.page = live_html(empty_page(NO_PAGE), elem_id="chat-page")
        self.file = gr.DownloadButton("download", elem_id="chat-file", elem_classes=["pq-offstage"])
        self.download = live_html(elem_id="chat-download", classes="pq-offstage")
        self.asked = gr.Button("ask", elem_id="chat-asked", elem_classes=["pq-offstage"])
        self.follow = gr.Button("follow", elem_id="chat-follow", elem_classes=["pq-offstage"])

    def everything(self) -> list[Any]:
        """Return all of them, for events that may change any."""
        return list(vars(self).values())


# ----------------------------------------------------------------------------------------------------
# What is said of an answer in the Chat tab: a thumb, and which study it goes into. The tab stays where it is.

ACTIONS = ("thumb", "studies", "study", "new-study", "undo-study")


def studying(services: Services, state: ChatState, session: Session) -> Studying:
    """Return what the transcript shows of studies: those to choose from, or what was done."""
    choices = services.studies.open_studies(session.owner) if state.adding else ()
    full = len(services.studies.list(session.owner)) - len(choices) if state.adding else 0
    return Studying(state.adding, tuple((study.id, study.name) for study in choices), state.added, full)


def act_on_rating(services: Services, data: Click, state: ChatState, session: Session) -> ChatState:
    """Do what a button below an answer says and return the new state of the tab."""
    owner, turn_id = session.owner, data["turn"]
    done, state = state.added, replace(state, adding="", added=None)
    match data["action"]:
        case "thumb":
            services.answers.conversations.set_thumb(owner, turn_id, Thumb(data["thumb"]))
        case "studies":
            return replace(state, adding=turn_id)
        case "study":
            return replace(state, added=_add(services, owner, data["study"], turn_id))
        case "new-study":
            study = services.studies.create_of(owner, state.conversation_id, turn_id if data["what"] == "turn" else "")
            return replace(state, added=Added(turn_id, study.id, study.name, study.turn_ids))
        case "undo-study" if done is not None:
            services.studies.kept.take_out(owner, done.study_id, done.turn_ids)
    return state


def _add(services: Services, owner: str, study_id: str, turn_id: str) -> Added:
    known = next((study for study in services.studies.list(owner) if study.id == study_id), None)
    if known is not None and turn_id in known.turn_ids:
        return Added(turn_id, known.id, known.name)
    study = services.studies.add(owner, study_id, turn_id)
    return Added(turn_id, study.id, study.name, (turn_id,))


# ----------------------------------------------------------------------------------------------------
# The Chat tab: conversations on the left, the chat in the middle, evidence with its page on the right.

EDITING = "The question you send now replaces the last one. Press edit again to leave it as it is."
NO_MATCH = "No sentence of these passages matches what you selected."

Steps = Iterator[dict[Any, Any]]  # what a handler shows, one after the other


def build(services: Services, session: gr.State) -> Shown:
    """Build the tab."""
    parts = Parts(session)
    handlers = Handlers(services, parts)
    outputs = parts.everything()
    ask = {"outputs": outputs, "concurrency_limit": None, **QUIET}
    entered = parts.question.submit(handlers.send, [parts.question, parts.state, session], **ask)
    sent = parts.send.click(handlers.send, [parts.question, parts.state, session], **ask)
    parts.stop.click(handlers.stop, [parts.state, session], None, **AT_ONCE)
    clicked_through = parts.transcript.click(handlers.transcript_clicked, [parts.state, session], **EVERY_CLICK, **ask)
    clicked_through.success(None, None, None, js="() => window.pdfqa.openWantedTab()")
    offered = parts.follow_ups.click(handlers.transcript_clicked, [parts.state, session], **ask)
    opened = parts.conversations.click(
        handlers.conversation_clicked, [parts.state, session], outputs, **EVERY_CLICK, **AT_ONCE
    )
    opened.then(None, None, None, js="() => window.pdfqa.exported()")
    elsewhere = parts.asked.click(handlers.asked_elsewhere, session, **EVERY_CLICK, **ask)
    followed = parts.follow.click(handlers.follow, [parts.live, parts.state, session], **EVERY_CLICK, **ask)
    # apart from the answer, so that the next question need not wait
    for event in (entered, sent, clicked_through, offered, opened, followed, elsewhere):
        event.then(handlers.offer, [parts.state, session], parts.follow_ups, **AT_ONCE)
    parts.evidence.click(handlers.evidence_clicked, [parts.state, session], outputs, **EVERY_CLICK, **AT_ONCE)
    parts.page.click(handlers.page_clicked, [parts.state, session], parts.page, **EVERY_CLICK, **AT_ONCE)
    # in the queue: a change of the session is noticed, and so kept in the browser, only there
    parts.reader.click(handlers.reader_clicked, session, [session, parts.reader], concurrency_limit=None, **QUIET)
    asked_about = [parts.scope, parts.state, session]
    parts.scope.input(handlers.scope_changed, asked_about, [session, parts.transcript], **AT_ONCE)
    return Shown(handlers.fill, [parts.state, session], outputs, states=[parts.state])


class Handlers:
    """What the tab does. Each handler reads its inputs, makes one call of the core and shows the result."""

    def __init__(self, services: Services, parts: Parts) -> None:
        self.services = services
        self.parts = parts
        self.open = Showing()  # which conversation, empty for a new one, is open on each page
        self.looking = Looking()

    # ------------------------------------------------------------ showing

    def _turns(self, state: ChatState, session: Session) -> tuple[Turn, ...]:
        """Return the turns of the open conversation."""
        if not state.conversation_id:
            return ()
        return self.services.answers.conversations.get(session.owner, state.conversation_id).turns

    def _names(self, state: ChatState, session: Session) -> dict[str, str]:
        """Return what documents are called, also the removed ones that the open conversation tells of."""
        known = (state.conversation_id,) if state.conversation_id else ()
        return self.services.documents.names(session.owner, *known)

    def show(self, state: ChatState, session: Session) -> dict[Any, Any]:
        """Return the whole tab for a state: transcript, evidence of the chosen turn, its page."""
        names = self._names(state, session)
        # before its conversation is read: what ends meanwhile is a turn of it
        written = self.services.tasks.job(job_name(ANSWER, session.owner, state.conversation_id))
        turns = self._turns(state, session)
        turn = looked_at(state, turns, written)
        if isinstance(turn, Turn):
            state = replace(state, turn_id=turn.id)
        return {
            self.parts.state: state,
            self.parts.conversations: chat_view.conversation_list(
                self.services.answers.conversations.list(session.owner), state.conversation_id
            ),
            self.parts.scope: scope_choice(self.services, session.owner, session.scope),
            self.parts.transcript: "" if written and not turns else self._transcript(state, session),
            self.parts.live: LiveTurn.of(written).html(taken_up=True) if written else "",
            self.parts.follow_ups: gr.skip() if turns else "",
            self.parts.question: gr.skip(),
            self.parts.send: gr.Button("Send", visible=written is None),
            self.parts.reader: self._reader(session),
            self.parts.stop: gr.Button(visible=written is not None),
            self.parts.evidence: self._evidence(turn, state, names),
            self.parts.page: self._page(turn, state, session),
            self.parts.file: gr.skip(),
            self.parts.download: gr.skip(),
            self.parts.follow: gr.skip(),
            self.parts.asked: gr.skip(),
        }

    def _transcript(self, state: ChatState, session: Session) -> str:
        scope = self.services.documents.collections.resolve(session.owner, session.scope).document_ids
        known = [one for one in self.services.documents.kept.list(session.owner) if one.state.usable]
        usable = [one for one in known if not scope or one.id in scope]
        return chat_view.transcript(
            self._turns(state, session),
            self._names(state, session),
            state.turn_id,
            len(usable),
            self._suggestions(session),
            studying(self.services, state, session),
        )

    def _suggestions(self, session: Session) -> tuple[str, ...]:
        """Return questions to begin with: accepted ones about the documents in view, else those of the sample."""
        scope = self.services.documents.collections.resolve(session.owner, session.scope).document_ids
        accepted = self.services.answers.suggestions.accepted(session.owner, scope)
        return accepted or self.services.documents.suggestions(session.owner)

    def fill(self, state: ChatState, session: Session) -> dict[Any, Any]:
        """Return the tab for the state that it has, which may have become another one until this is shown.

        Nothing of it while another tab wants something asked: that is shown in a moment.
        """
        if session.to_ask:
            return {self.parts.question: gr.skip()}
        self.open.put(asking_page(), state.conversation_id)
        shown = self.show(state, session)
        return {part: value for part, value in shown.items() if part is not self.parts.state}

    def offer(self, state: ChatState, session: Session) -> Any:
        """Return questions to ask after the last answer; nothing changes where another conversation is open by then."""
        turns = self._turns(state, session)
        scope = self.services.documents.collections.resolve(session.owner, session.scope).document_ids
        offered = self.services.answers.suggestions.follow_ups(session.owner, turns, session.settings, scope)
        return chat_view.offered(offered) if self.open.is_on(asking_page(), state.conversation_id) else gr.skip()

    def _evidence(self, turn: Turn | LiveTurn | None, state: ChatState, names: dict[str, str]) -> str:
        if turn is None:
            return chat_view.evidence((), names, "", 0)
        if isinstance(turn, LiveTurn):
            return chat_view.evidence(turn.hits, names, turn.searched, state.rank or turn.hits[0].rank)
        searched, quote = turn.standalone_question, quote_of(turn, state)
        return chat_view.evidence(turn.answer.hits, names, searched, state.rank, turn.answer, quote)

    def _page(
        self, turn: Turn | LiveTurn | None, state: ChatState, session: Session, request: Click | None = None
    ) -> str:
        hit = chosen_hit(turn, state.rank)
        if hit is None:
            return empty_page(NO_PAGE)
        filename = self._names(state, session).get(hit.passage.document_id, REMOVED)
        quote = quote_of(turn, state) if isinstance(turn, Turn) else None
        return self._hit_page(hit, session, quote, request, filename)

    def _hit_page(
        self,
        hit: Hit,
        session: Session,
        quote: Citation | None = None,
        request: Click | None = None,
        filename: str = "",
    ) -> str:
        try:
            return show_page(
                self.services,
                session.owner,
                hit.passage.document_id,
                quote.span.page if quote else main_page(hit.passage),
                settings=session.settings,
                passage=hit.passage,
                quote=quote,
                request=request,
                filename=filename,
            ).html
        except PdfQAError as error:
            return error_html(error)

    def _reader(self, session: Session) -> str:
        return chat_view.reader_switch(self.services.answers.reader_name(session.settings))

    def _turn(self, state: ChatState, session: Session) -> Turn | None:
        return next((turn for turn in self._turns(state, session) if turn.id == state.turn_id), None)

    # ------------------------------------------------------------ asking

    def send(self, question: str, state: ChatState, session: Session, request: gr.Request) -> Steps:
        """Answer the question in the text field; a second question waits until the first is answered."""
        question = (question or "").strip()
        if not question:
            yield {self.parts.question: gr.skip()}
            return
        yield from self._ask(question, state, session, request, typed=True)

    def asked_elsewhere(self, session: Session, request: gr.Request) -> Steps:
        """Ask what another tab wants asked, in a new conversation."""
        if not session.to_ask:
            yield {self.parts.question: gr.skip()}
            return
        question, session = session.to_ask, replace(session, to_ask="")
        self.open.put(str(request.session_hash), "")
        yield {**self.show(ChatState(), session), self.parts.session: session, self.parts.follow_ups: ""}
        yield from self._ask(question, ChatState(), session, request)

    def _ask(
        self,
        question: str,
        state: ChatState,
        session: Session,
        request: gr.Request,
        *,
        anyway: bool = False,
        typed: bool = False,
    ) -> Steps:
        """Begin an answer, which goes on if the page is left, and show it; the box loses a question `typed` there."""
        live = LiveTurn.begin(question)
        try:
            written = self.services.answers.begin(
                session.owner,
                question,
                session.settings,
                conversation_id=state.conversation_id,
                document_ids=session.scope,
                replace_turn=state.editing,
                anyway=anyway,
            )
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            yield self._failed(live, error)
            return
        self.open.put(str(request.session_hash), written.subject)
        written.watch(str(request.session_hash))
        yield {
            **self._busy(True),
            **({} if state.conversation_id else self._begun(written, session)),
            self.parts.state: ChatState(written.subject, editing=state.editing),
            self.parts.question: gr.Textbox(value="") if typed else gr.skip(),
            self.parts.follow_ups: "",
            self.parts.live: live.html(),
        }
        yield from self._watch(written, state, session, request)

    def _busy(self, busy: bool) -> dict[Any, Any]:
        return {self.parts.send: gr.Button(visible=not busy), self.parts.stop: gr.Button(visible=busy)}

    def _begun(self, written: Job, session: Session) -> dict[Any, Any]:
        """Return the list in which the new conversation is open, and the place of its turns, which is empty."""
        known = self.services.answers.conversations.list(session.owner)
        return {
            self.parts.conversations: chat_view.conversation_list(known, written.subject),
            self.parts.transcript: "",
        }

    def _failed(self, live: LiveTurn, error: Exception) -> dict[Any, Any]:
        """Return what the page shows where an answer failed: what is known of it, and the question to send again."""
        again = render("put_back", question=live.question, field="chat-question")
        return {**self._busy(False), self.parts.live: live.broken() + error_html(error) + again}

    def _watch(self, written: Job, before: ChatState, session: Session, request: gr.Request) -> Steps:
        """Show an answer as it is written, until the page opens another conversation; a failure restores the state."""
        parts, names, shown = self.parts, self._names(before, session), 0.0
        live, page = LiveTurn.begin(written.title), str(request.session_hash)
        written.watch(page)
        self.looking.begin(page)
        try:
            for event in written.events():
                if not self.open.is_on(page, written.subject):
                    yield self._live(self.open.of(page), session)  # after what was on its way to the page
                    if not self.open.is_on(page, written.subject):
                        return
                    yield self._live(written.subject, session)
                update: dict[Any, Any] = {}
                live.take(event)
                match event:
                    case Retrieved(hits=hits):
                        rank = hits[0].rank if hits else 0
                        update[parts.evidence] = chat_view.evidence(hits, names, live.searched, rank)
                        update[parts.page] = self._hit_page(hits[0], session) if hits else empty_page(NO_PAGE)
                    case Done():
                        continue
                    case Stored(conversation_id=conversation_id, turn=turn):
                        first = shown_first(conversation_id, turn)
                        state = self.looking.after(page, first, turn, live)
                        update = self._answered(state, session)
                        yield {part: it for part, it in update.items() if state is first or part is not parts.page}
                        return
                if update or not isinstance(event, Token) or time.monotonic() - shown > FRAME:
                    shown = time.monotonic()
                    update[parts.live] = live.html()
                    yield update
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            if not self.open.is_on(page, written.subject):
                return
            known = self.services.answers.conversations.list(session.owner)
            there = any(one.id == before.conversation_id for one in known)
            state = before if there else ChatState()
            self.open.put(page, state.conversation_id)
            yield {
                parts.state: state,
                parts.conversations: chat_view.conversation_list(known, state.conversation_id),
                **self._failed(live, error),
            }
        finally:
            written.leave(page)

    def _live(self, conversation_id: str, session: Session) -> dict[Any, Any]:
        """Return the answer that is being written in a conversation, and the button to stop it."""
        written = self.services.tasks.job(job_name(ANSWER, session.owner, conversation_id))
        live = LiveTurn.of(written).html(taken_up=True) if written else ""
        return {**self._busy(written is not None), self.parts.live: live}

    def follow(self, live: str, state: ChatState, session: Session, request: gr.Request) -> Steps:
        """Go on showing an answer that was begun before the page was loaded; `live` is what is shown of it."""
        written = self.services.tasks.job(job_name(ANSWER, session.owner, state.conversation_id))
        if written is not None and written.watch(str(request.session_hash)):
            yield from self._watch(written, state, session, request)
        elif written is None and "data-taken-up" in (live or ""):  # finished meanwhile
            yield self.show(state, session)
        else:
            yield {self.parts.live: gr.skip()}

    def _answered(self, state: ChatState, session: Session) -> dict[Any, Any]:
        """Show the stored answer; what was chosen while it was written (scope, quotes) stays as it is chosen."""
        scope = self.services.documents.collections.resolve(session.owner, session.scope).chosen
        if scope != session.scope:  # a document that was asked about has been removed
            session = replace(session, scope=scope)
            self.services.answers.conversations.set_documents(session.owner, state.conversation_id, scope)
            return {**self.show(state, session), self.parts.session: session}
        chosen = (self.parts.scope, self.parts.reader)
        return {part: value for part, value in self.show(state, session).items() if part not in chosen}

    def stop(self, state: ChatState, session: Session) -> None:
        """Stop the answer that is being written in the open conversation."""
        self.services.tasks.stop(job_name(ANSWER, session.owner, state.conversation_id))

    # ------------------------------------------------------------ clicks

    def transcript_clicked(self, state: ChatState, session: Session, request: gr.Request, event: gr.EventData) -> Steps:
        """Show an answer's evidence, open a marker's page, ask a suggestion, ask a question again or edit the last."""
        data = clicked(event)
        try:
            match data.get("action"):
                case "ask":
                    yield from self._ask(data["question"], state, session, request)
                case "sample":
                    for step in self.services.documents.add_sample(session.owner):
                        if isinstance(step, Progress):
                            yield {self.parts.live: work_html(step)}
                    yield self.show(state, session)
                case action if action in ACTIONS:
                    state = act_on_rating(self.services, data, state, session)
                    yield {self.parts.state: state, self.parts.transcript: self._transcript(state, session)}
                case "retry" | "anyway" | "edit" | "turn" | "cite" | "nearest" | "match" | "open-study":
                    yield from self._turn_clicked(data, state, session, request)
                case _:
                    yield {self.parts.live: ""}
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            yield {self.parts.live: error_html(error)}

    def _turn_clicked(self, data: Click, state: ChatState, session: Session, request: gr.Request) -> Steps:
        turn = self._turn(replace(state, turn_id=data["turn"]), session)
        if turn is None:
            yield self.show(state, session)
            return
        state = replace(state, turn_id=turn.id, citation=-1, selected=None, adding="", added=None)
        match data["action"]:
            case "retry":
                yield from self._ask(turn.question, replace(state, editing=turn.id), session, request)
            case "anyway":
                last = self._turns(state, session)[-1].id == turn.id  # the last one gives way, one before it stays
                state = replace(state, editing=turn.id if last else "")
                yield from self._ask(turn.question, state, session, request, anyway=True)
            case "edit" if state.editing == turn.id:
                yield {**self.show(replace(state, editing=""), session), self.parts.question: gr.Textbox(value="")}
            case "edit":
                yield {
                    self.parts.state: replace(state, editing=turn.id),
                    self.parts.question: gr.Textbox(value=turn.question),
                    self.parts.send: gr.Button("Replace"),
                    self.parts.live: render("note", text=EDITING),
                }
            case "cite":
                yield self.show(cited(turn, data.number("citation", -1), state), session)
            case "nearest":
                rank, place = data.number("rank"), data.number("lines", -1)
                lines = lines_of(turn.answer)
                marked = lines[place] if 0 <= place < len(lines) else None
                yield self.show(replace(state, rank=rank, selected=marked), session)
            case "match":
                yield self._matched(turn, data.get("text", ""), state, session)
            case "open-study":
                yield {self.parts.session: replace(session, to_rate=(data["study"], turn.id))}
            case _:
                yield self.show(shown_first(state.conversation_id, turn), session)

    def _matched(self, turn: Turn, text: str, state: ChatState, session: Session) -> dict[Any, Any]:
        """Mark the sentence of the evidence that fits a selection best; the transcript keeps the selection."""
        found = self.services.answers.best_sentence(turn, text, session.settings) if text.strip() else None
        if found is None:
            names, answer = self._names(state, session), turn.answer
            nothing = chat_view.evidence(answer.hits, names, text, state.rank, answer, message=NO_MATCH)
            return {self.parts.evidence: nothing if text.strip() else gr.skip()}
        state = replace(state, rank=found.number, selected=found)
        return {
            self.parts.state: state,
            self.parts.evidence: self._evidence(turn, state, self._names(state, session)),
            self.parts.page: self._page(turn, state, session),
        }

    def conversation_clicked(
        self, state: ChatState, session: Session, request: gr.Request, event: gr.EventData
    ) -> dict[Any, Any]:
        """Open, rename, export or delete a conversation, or begin a new one."""
        data = clicked(event)
        if data.get("action") == "export":
            file = conversation_file(
                self.services.documents,
                self.services.answers.conversations,
                session.owner,
                data.get("form", ""),
                [data.get("conversation", "")],
            )
            return {self.parts.file: downloads.write(file.name, file.data), self.parts.download: chat_view.download()}
        state, session = act_on_list(self.services, data, state, session)
        self.open.put(str(request.session_hash), state.conversation_id)
        shown = self.show(state, session)
        if data.get("action") in OPENING:
            shown |= {self.parts.session: session, self.parts.follow_ups: ""}
        return shown

    def evidence_clicked(self, state: ChatState, session: Session, event: gr.EventData) -> dict[Any, Any]:
        """Open the page of a hit, at the first sentence that the answer cites of it."""
        rank, turn = clicked(event).number("rank"), self._turn(state, session)
        self.looking.note(asking_page(), state, rank)
        citation = first_citation(turn, rank) if turn else -1
        return self.show(replace(state, rank=rank, citation=citation, selected=None), session)

    def page_clicked(self, state: ChatState, session: Session, event: gr.EventData) -> str:
        """Turn the page, keeping the marks of the chosen hit."""
        written = self.services.tasks.job(job_name(ANSWER, session.owner, state.conversation_id))
        self.looking.note(asking_page(), state, state.rank)
        return self._page(looked_at(state, self._turns(state, session), written), state, session, clicked(event))

    def reader_clicked(self, session: Session, event: gr.EventData) -> tuple[Session, str]:
        """Answer in quotes or in own words from the next question on, one that is asked again included."""
        settings = session.settings.changed("reading", reader=clicked(event)["reader"])
        session = replace(session, settings=settings)
        return session, self._reader(session)

    def scope_changed(self, scope: list[str] | None, state: ChatState, session: Session) -> tuple[Session, Any]:
        """Remember which documents and collections are asked about, with the open conversation too."""
        if state.conversation_id:
            self.services.answers.conversations.set_documents(session.owner, state.conversation_id, scope or ())
        session = replace(session, scope=tuple(scope or ()))
        return session, gr.skip() if state.conversation_id else self._transcript(state, session)
