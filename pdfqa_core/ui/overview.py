"""A document at a glance, above its page: title, contents, a summary on demand, first questions, what can be mended."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from pdfqa_core import languages
from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.exports.conversations import written_by
from pdfqa_core.services import SUMMARY, Job, Services, Summary, job_name
from pdfqa_core.services.overview import Overview
from pdfqa_core.services.pages import ocr_extractor, ocr_task
from pdfqa_core.types import Answer, Citation, Document, Done, Hit, Progress, Token
from pdfqa_core.ui.chat_view import AnswerPart, answer_parts, chips
from pdfqa_core.ui.components import (
    AT_ONCE,
    CLICK_AGAIN,
    EVERY_CLICK,
    FRAME,
    QUIET,
    asking_page,
    clicked,
    error_html,
    live_html,
    plural,
    render,
)
from pdfqa_core.ui.page_view import ShownPage, show_page
from pdfqa_core.ui.session import OpenPage, Session, Showing

LISTED = 8  # pages that are named one by one
_ABOUT = re.compile(r'data-overview="([^"]*)"')


@dataclass(frozen=True, slots=True)
class SummaryView:
    """What is shown of a summary: its pieces with their markers, how it was made, and what is being done."""

    parts: tuple[AnswerPart, ...] = ()
    made: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    stopped: bool = False
    phase: str = ""


def about_html(overview: Overview) -> str:
    """Return title, authors and facts, and what can be done for pages that are pictures."""
    document = overview.document
    return render(
        "overview",
        document=document,
        title=document.title or document.filename,
        authors=overview.authors,
        facts=facts(overview),
        pictures=overview.pictures if ocr_extractor() else (),
        listed=LISTED,
    )


def drawn_document(about: str | None) -> str:
    """Return which document title and facts on a page are of, empty where nothing is drawn."""
    found = _ABOUT.search(about) if isinstance(about, str) else None  # a page may send anything
    return found.group(1) if found else ""


def facts(overview: Overview) -> tuple[str, ...]:
    """Return what else is known of a document, in a few words each."""
    document = overview.document
    named = (document.filename,) if document.title not in ("", document.filename) else ()
    language = languages.title(overview.language)
    return (plural(document.page_count, "page"), *((language,) if language else ()), *named)


def contents_html(overview: Overview) -> str:
    """Return the table of contents, of a long one the highest levels and the whole folded."""
    if not overview.contents:
        return ""
    longer = len(overview.contents) > len(overview.first_contents)
    return render(
        "overview_contents",
        document_id=overview.document.id,
        entries=overview.first_contents,
        all_entries=overview.contents if longer else (),
    )


def questions_html(questions: Sequence[str], document_id: str = "") -> str:
    """Return the questions to begin with of a document, nothing where there are none."""
    return render("overview_questions", document_id=document_id, **chips(questions)) if questions else ""


def summary_html(document: Document, summary: Summary | None, error: str = "") -> str:
    """Return the summary that is kept of a document, or the button that has one written; before it what went wrong."""
    view = finished(document, summary) if summary is not None else None
    return error + render("overview_summary", document_id=document.id, view=view, running=False)


def finished(document: Document, summary: Summary) -> SummaryView:
    """Return what is shown of a finished summary."""
    answer = summary.answer
    parts = answer_parts(answer, {document.id: document.filename})
    seconds = (f"{answer.seconds['total']:.0f} s",) if "total" in answer.seconds and answer.model else ()
    return SummaryView(parts, (written_by(answer), *seconds), answer.notes, answer.stopped)


def live_summary(document_id: str, text: str, phase: str) -> str:
    """Return a summary as far as it is written, and what is being done."""
    parts = (AnswerPart(text),) if text else ()
    view = SummaryView(parts, phase=phase)
    return render("overview_summary", document_id=document_id, view=view, running=True)


class Handlers:
    """What the overview does; `below` is whose page stands below it."""

    def __init__(self, services: Services, below: Showing | None = None) -> None:
        self.services = services
        self.shown, self.begun, self.below = Showing(), Showing(), below or Showing()  # `begun`: summaries

    def _overview(self, session: Session, chosen: str) -> Overview | None:
        """Return the overview of the chosen document; None where there is none with text."""
        if not self.services.documents.still_there(session.owner, (chosen,)):
            return None
        found = self.services.answers.overviews.of(session.owner, chosen, session.settings)
        return found if found.document.state.usable else None

    def draw(self, session: Session, chosen: str, request: gr.Request) -> tuple[Any, ...]:
        """Fill the overview with the document whose page stands below it: the chosen one may be further on already.

        Nothing changes where the page has turned to another meanwhile, nor the summary where one was begun meanwhile.
        """
        page = str(request.session_hash)
        drawn, begun = chosen and (self.below.of(page) or chosen), self.begun.times(page)
        self.shown.put(page, drawn)
        about, summary, *others = self.fill(session, drawn)
        if not self.shown.is_on(page, drawn):
            return (gr.skip(),) * 4
        return about, summary if self.begun.times(page) == begun else gr.skip(), *others

    def fill(self, session: Session, chosen: str) -> tuple[str, str, str, str]:
        """Return title and facts, the summary, the questions as far as they are known, and the contents.

        Nothing of a file that was just read while others of its batch are: it must not slow them down.
        """
        overview = None if self._just_read(session, chosen) else self._overview(session, chosen)
        if overview is None:
            return "", "", "", ""
        written = self.services.tasks.job(job_name(SUMMARY, session.owner, chosen))
        summary = live_summary(chosen, *_so_far(written)) if written is not None else self._kept(session, overview)
        known = self.services.answers.suggestions.known(session.owner, chosen, session.settings)
        return about_html(overview), summary, questions_html(known or (), chosen), contents_html(overview)

    def _just_read(self, session: Session, chosen: str) -> bool:
        """Whether the document is the last one that was finished of files that are being read."""
        under_way = [batch for batch in self.services.documents.jobs.of(session.owner) if not batch.ended]
        return any(one.documents and one.documents[-1].id == chosen for one in under_way)

    def _kept(self, session: Session, overview: Overview, error: str = "") -> str:
        kept = self.services.answers.overviews.summary(session.owner, overview.document.id, session.settings)
        return summary_html(overview.document, kept, error)

    def later(self, session: Session, about: str | None, request: gr.Request) -> Iterator[tuple[Any, Any]]:
        """Fill in the questions, which take a moment, then show a summary on that is under way.

        They are those of the document that `about` names on the page.
        """
        page, document_id = str(request.session_hash), drawn_document(about)
        overview = self._overview(session, document_id) if self.shown.is_on(page, document_id) else None
        if overview is None:
            return
        questions = self.services.answers.suggestions.first(session.owner, document_id, session.settings)
        if not self.shown.is_on(page, document_id):
            return
        yield questions_html(questions, document_id), gr.skip()
        written = self.services.tasks.job(job_name(SUMMARY, session.owner, document_id))
        if written is not None and written.watch(page):
            for summary in self._watch(written, session, overview, page):
                yield gr.skip(), summary

    # ------------------------------------------------------------ the summary

    def summary_clicked(
        self, session: Session, chosen: str, request: gr.Request, event: gr.EventData
    ) -> Iterator[tuple[Any, ...]]:
        """Begin a summary, stop it, or open the page of a marker; yields summary, page, password field, place."""
        data, unchanged = clicked(event), (gr.skip(), gr.skip(), gr.skip())
        chosen = data.get("document") or chosen
        match data.get("action"):
            case "stop":
                self.services.tasks.stop(job_name(SUMMARY, session.owner, chosen))
                yield gr.skip(), *unchanged
            case "cite":
                yield gr.skip(), *self._cited(session, chosen, data.number("citation", -1))
            case "summarise":
                overview, page = self._overview(session, chosen), str(request.session_hash)
                if overview is None:
                    raise UsageError("No document is open.", "Choose one in the table first.")
                self.begun.put(page, chosen)
                written = self.services.answers.overviews.summarise(session.owner, chosen, session.settings)
                written.watch(page)
                for summary in self._watch(written, session, overview, page):
                    yield summary, *unchanged

    def _watch(self, written: Job, session: Session, overview: Overview, page: str) -> Iterator[str]:
        """Yield a summary while it is written and at its end, as long as the page shows its document."""
        document_id, shown = overview.document.id, 0.0
        text, phase = "", "starting"
        try:
            yield live_summary(document_id, text, phase)
            for event in written.events():
                if not self.shown.is_on(page, document_id):
                    return
                match event:
                    case Progress(phase=words, done=done, total=total):
                        phase = f"{words}: {done:,} of {total:,}" if total else words
                    case Token(text=piece):
                        text, phase = text + piece, "writing"
                if not isinstance(event, Done) and time.monotonic() - shown > FRAME:
                    shown = time.monotonic()
                    yield live_summary(document_id, text, phase)
            yield self._kept(session, overview, _nothing(written))
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            if self.shown.is_on(page, document_id):
                yield self._kept(session, overview, error_html(error))
        finally:
            written.leave(page)

    def _cited(self, session: Session, chosen: str, number: int) -> tuple[Any, ...]:
        """Return the page of a citation of the summary, with its sentence marked."""
        kept = self.services.answers.overviews.summary(session.owner, chosen, session.settings)
        if kept is None or not 0 <= number < len(kept.answer.citations):
            raise UsageError("The summary has no such marker.", CLICK_AGAIN)
        citation = kept.answer.citations[number]
        hit = next(one for one in kept.answer.hits if one.rank == citation.number)
        return self._page(session, chosen, citation.span.page, hit, citation)

    # ------------------------------------------------------------ pages and questions

    def _page(
        self, session: Session, document_id: str, number: int, hit: Hit | None = None, quote: Citation | None = None
    ) -> tuple[Any, ...]:
        """Return a page, whether its password is wanted, and the place that is open."""
        try:
            page = show_page(
                self.services,
                session.owner,
                document_id,
                number,
                settings=session.settings,
                compare=True,
                passage=hit.passage if hit is not None else None,
                quote=quote,
            )
        except PdfQAError as error:
            page = ShownPage(error_html(error))
        self.below.put(asking_page(), document_id)
        return page.html, gr.Group(visible=page.locked), OpenPage(document_id, number)

    def page_wanted(self, session: Session, chosen: str, event: gr.EventData) -> tuple[Any, ...]:
        """Open the page that an entry leads to, in the document that the entry is of."""
        data = clicked(event)
        return self._page(session, data.get("document") or chosen, data.number("number", 1))

    @staticmethod
    def ask(session: Session, chosen: str, event: gr.EventData) -> Session:
        """Have the chat ask a question about its document alone."""
        data = clicked(event)
        return replace(session, scope=(data.get("document") or chosen,), to_ask=data["question"])

    # ------------------------------------------------------------ OCR of single pages

    def about_clicked(self, session: Session, chosen: str, event: gr.EventData) -> Iterator[tuple[Any, ...]]:
        """Open a page, read pages by OCR, or stop that; yields work, page, password field, place, what changed."""
        data, unchanged = clicked(event), (gr.skip(), gr.skip(), gr.skip())
        match data.get("action"):
            case "page":
                document_id = data.get("document") or chosen
                yield gr.skip(), *self._page(session, document_id, data.number("number", 1)), gr.skip()
            case "stop":
                self.services.tasks.stop(ocr_task(session.owner))
                yield gr.skip(), *unchanged, gr.skip()
            case "read":
                numbers = [int(one) for one in data["numbers"].split(",") if one.isdigit()]
                try:
                    for step in self.services.documents.pages.read_by_ocr(session.owner, data["document"], numbers):
                        if isinstance(step, Progress):
                            yield render("overview_work", step=step), *unchanged, gr.skip()
                except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
                    yield error_html(error), *unchanged, gr.skip()
                    return
                self.services.index.preparation.want(session.owner, session.settings, [data["document"]])
                here = self.below.is_on(asking_page(), data["document"])
                read = self._page(session, data["document"], numbers[0]) if here else unchanged
                yield "", *read, time.monotonic()


def _so_far(written: Job) -> tuple[str, str]:
    """Return what is written, and what is being done."""
    events = written.so_far
    text = "".join(event.text for event in events if isinstance(event, Token))
    steps = [event.phase for event in events if isinstance(event, Progress)]
    return text, "writing" if text else (steps or ["starting"])[-1]


def _nothing(written: Job) -> str:
    """Return what to say where a summary ended with nothing that could be kept."""
    answers: Sequence[Answer] = [event.answer for event in written.so_far if isinstance(event, Done)]
    if any(answer.refused for answer in answers):
        return render("note", text="No sentence of this document sums it up. Look at its contents, or ask about it.")
    return ""


class OverviewParts:
    """The components of the overview; `connect` joins them to the page below.

    `table` is the list of documents, with which they change.
    """

    def __init__(
        self, services: Services, session: gr.State, chosen: gr.State, at: gr.State, table: gr.HTML, below: Showing
    ) -> None:
        self._handlers = Handlers(services, below)
        self._session, self._chosen, self._at, self._table = session, chosen, at, table
        self._changed = gr.State(0.0)  # when a page was last read by OCR
        with gr.Column(elem_id="documents-overview"):
            self.about = live_html(elem_id="overview-about")
            self.work = live_html(elem_id="overview-work")
            self.summary = live_html(elem_id="overview-summary")
            self.questions = live_html(elem_id="overview-questions")
            self.contents = live_html(elem_id="overview-contents")

    def connect(self, page: gr.HTML, locked: gr.Group, show_table: Any, events: Sequence[Any]) -> None:
        """Say what happens; `show_table(session, chosen)` returns the list of documents, `events` end with a choice."""
        handlers, known = self._handlers, [self._session, self._chosen]
        streamed = {"concurrency_limit": None, **QUIET, **EVERY_CLICK}
        place = [page, locked, self._at]
        filled = [self.about, self.summary, self.questions, self.contents]
        self._table.change(handlers.draw, known, filled, trigger_mode="always_last", **AT_ONCE)
        for event in events:
            event.then(handlers.draw, known, filled, **AT_ONCE)
        self.about.change(
            handlers.later,
            [self._session, self.about],
            [self.questions, self.summary],
            concurrency_limit=None,
            trigger_mode="multiple",
            **QUIET,
        )
        self.summary.click(handlers.summary_clicked, known, [self.summary, *place], **streamed)
        self.contents.click(handlers.page_wanted, known, place, **EVERY_CLICK, **AT_ONCE)
        asked = self.questions.click(handlers.ask, known, self._session, concurrency_limit=None, **QUIET)
        asked.success(None, None, None, js="() => window.pdfqa.askWanted()")
        read = [self.about, self.work]
        for part in read:
            part.click(handlers.about_clicked, known, [self.work, *place, self._changed], **streamed)
        self._changed.change(show_table, known, self._table, **QUIET)
