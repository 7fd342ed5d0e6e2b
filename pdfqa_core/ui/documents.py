"""The Documents tab: add PDFs, see how reading each of them ended, look at their pages."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.extraction.beside import PDFS_ATTACHED
from pdfqa_core.extraction.visual import LOW_CONFIDENCE
from pdfqa_core.ingest import Source
from pdfqa_core.services import Batch, Preparing, Reading, Services, recipes
from pdfqa_core.services.documents import sample_pdf
from pdfqa_core.services.pages import ocr_extractor
from pdfqa_core.settings import ExtractionSettings
from pdfqa_core.types import Document, DocumentState, Progress
from pdfqa_core.ui import overview
from pdfqa_core.ui.collections import CollectionBar, names_by_document, shown_collection
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
    plural,
    render,
    switch,
    time_left,
)
from pdfqa_core.ui.page_view import ShownPage, empty_page, show_page
from pdfqa_core.ui.session import OpenPage, Session, Showing, Shown, encoder_hint, language_words

# ----------------------------------------------------------------------------------------------------
# The fields of the Documents tab that say how new PDFs are read.


def reading_form(services: Services) -> list[Any]:
    """Return the fields, in the order that `extraction_of` takes their values."""
    settings, extractors, ocr = services.settings.extraction, recipes.REGISTRIES["extractor"], ocr_extractor()
    words = " · ".join(f"{name}: {extractors.words(name)}" for name in extractors.names())
    extractor = gr.Radio(list(extractors.names()), value=settings.extractor, label="Extractor", info=words)
    tables = gr.Checkbox(settings.tables, label="Tables", info="find tables and keep their rows and columns")
    visual_pages = gr.Radio(
        ["auto", "all"],
        value=settings.visual_pages,
        label="Pages read by OCR",
        visible=bool(ocr),
        info=f"of extractor {ocr}; auto: only those without usable text",
    )
    return [extractor, tables, visual_pages]


def extraction_of(services: Services, extractor: str, tables: bool, visual_pages: str) -> ExtractionSettings:
    """Return how the fields say that PDFs are read, the rest as the program's settings have it."""
    own = services.settings
    return own.changed("extraction", extractor=extractor, tables=tables, visual_pages=visual_pages).extraction


# ----------------------------------------------------------------------------------------------------
# The Documents tab: add PDFs, see how reading each of them ended, look at their pages.

OFTEN, SELDOM = 1.0, 5.0  # seconds between two looks at what is prepared
NO_PAGE = "Choose a document to see its pages here."
_ASK_PASSWORD = ("Enter its password.", "Check it and enter it again.")  # how the reason of a locked PDF ends
_TONES = {
    DocumentState.READY: "ok",
    DocumentState.PARTIAL: "warn",
    DocumentState.ENCRYPTED: "warn",
    DocumentState.NO_TEXT: "warn",
    DocumentState.XFA: "warn",
}


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A line of the table; `urgent`: OCR would find text that is missing.

    `collections` are the names of those it is in. `attached`: there are PDFs attached to it, which is looked up for the
    open document. `leaving`: it is about to be removed.
    """

    document: Document
    passages: int
    words: str
    tone: str
    read: str
    language: str
    unsure: str
    preparing: Preparing | None
    ocr: bool
    urgent: bool
    collections: Sequence[str] = ()
    attached: bool = False
    leaving: bool = False

    @property
    def asked(self) -> str:
        """What is asked about its password, which the row shows as a way to the field; "" where none would open it."""
        return _asked(self.document)

    @property
    def reason(self) -> str:
        """Why it is in its state, without what is asked."""
        return self.document.reason.removesuffix(self.asked).rstrip()

    @property
    def has_text(self) -> bool:
        """Whether every page has text, which OCR would replace."""
        return self.document.state is DocumentState.READY

    @property
    def preparing_words(self) -> str:
        """How it can be searched while its meaning is read."""
        return preparing_words(self.preparing) if self.preparing is not None else ""


def _asked(document: Document) -> str:
    """Return what is asked about a document's password; "" where none would open it."""
    reason = document.reason if document.state is DocumentState.ENCRYPTED else ""
    return next((words for words in _ASK_PASSWORD if reason.endswith(words)), "")


def state_words(document: Document) -> str:
    """Return a document's state in the words of the screen."""
    match document.state:
        case DocumentState.PARTIAL:
            return f"ready, {plural(len(document.pages_without_text), 'page')} without text"
        case DocumentState.ENCRYPTED:
            return "needs a password"
        case _:
            return str(document.state)


def _tried(reading: Reading | None) -> bool:
    """Whether OCR has been tried on all pages that need it."""
    return reading is not None and bool(ocr_extractor()) and reading.extractor.startswith(ocr_extractor())


def read_words(reading: Reading | None) -> str:
    """Return how a document was read: "text", "OCR 3 of 8 pages", "text (pdfplumber)"."""
    if reading is None:
        return ""
    name, comma, more = reading.extractor.partition(",")
    if not reading.ocr_pages:
        words = "text" if name in (ExtractionSettings().extractor, ocr_extractor()) else f"text ({name})"
    elif reading.ocr_pages == reading.page_count:
        words = "OCR"
    else:
        words = f"OCR {reading.ocr_pages} of {plural(reading.page_count, 'page')}"
    return f"{words}{comma}{more}" if more.strip() == "no tables" else words


def unsure_words(reading: Reading | None) -> str:
    """Return a warning where OCR was not sure of what it read."""
    if reading is None or reading.confidence is None or reading.confidence >= LOW_CONFIDENCE:
        return ""
    return f"OCR is not sure of it: confidence {reading.confidence:.2f}. Compare the text with the pages."


def work_html(*steps: Progress) -> str:
    """Return progress bars, one per step."""
    return render("work", steps=steps)


def preparing_words(state: Preparing) -> str:
    """Return how a document can be searched while its meaning is read: by words already, by meaning when."""
    if state.stopped:
        return f"found by its words; reading its meaning was stopped at {state.done:,} of {state.total:,} passages"
    left = time_left(state.seconds_left)
    return "found by its words now, by its meaning " + (f"when that is read, {left}" if left else "soon")


def batch_html(batch: Batch) -> str:
    """Return a bar for all files of a batch and one for each that is being read."""
    count = len(batch.sources)
    whole = [Progress("all files", len(batch.documents), count)] if count > 1 else []
    return work_html(*whole, *batch.steps)


@dataclass(frozen=True, slots=True)
class Told:
    """What a page shows: how far meanings are, how many files are finished, which documents go and are there."""

    meanings: tuple[str, ...] = ()
    finished: tuple[int, ...] = ()
    reading: bool = False
    leaving: frozenset[str] = frozenset()
    there: frozenset[str] = frozenset()


class Handlers:
    """What the tab does."""

    bar: CollectionBar

    def __init__(self, services: Services) -> None:
        self.services = services
        self.below = Showing()  # whose page stands below the overview, and is turned there

    def table(self, session: Session, chosen: str = "") -> str:
        """Return the table of the owner's documents, or of those of the collection that is shown."""
        documents = self.services.documents
        counts = self.services.index.passage_counts(session.owner, session.settings)
        states = self.services.index.preparation.states(session.owner)
        readings = {(r.document_id, r.extractor): r for r in documents.kept.readings(session.owner)}
        names = names_by_document(self.services, session)
        shown, leaving = shown_collection(self.services, session), documents.leaving.of(session.owner)
        rows, known = [], documents.kept.list(session.owner)
        for one in known:
            if shown is not None and one.id not in shown.document_ids:
                continue
            reading, passages = readings.get((one.id, one.extractor)), counts.get(one.id, 0)
            row = self._row(one, reading, passages, states.get(one.id))
            attached = one.id == chosen and self._has_attached(one)
            row = replace(row, attached=attached, leaving=one.id in leaving)
            rows.append(replace(row, collections=names.get(one.id, ())))
        has_sample = documents.has_sample(session.owner)
        return render(
            "documents",
            rows=rows,
            chosen=chosen,
            has_sample=has_sample,
            narrowed=shown is not None,
            others=len(known) - len(rows),
            hint=encoder_hint(self.services, session),
        )

    def _has_attached(self, document: Document) -> bool:
        """Whether the first page says that PDFs are attached."""
        if not document.state.usable:
            return False
        first = self.services.documents.kept.page(document.owner, document.id, document.extractor, 1)
        return any(PDFS_ATTACHED in warning for warning in first.warnings)

    def _add_attached(self, document_id: str, session: Session) -> Iterator[tuple[Any, ...]]:
        """Read the PDFs that are attached to a document."""
        with self.services.documents.attached(session.owner, document_id) as files:
            if not files:
                raise PdfQAError("No PDF is attached that could be added.", "Save what is attached in a PDF viewer.")
            yield from self._ingest(files, session, keep=True)

    @staticmethod
    def _row(document: Document, reading: Reading | None, passages: int, preparing: Preparing | None) -> DocumentRow:
        state = document.state
        return DocumentRow(
            document,
            passages,
            state_words(document),
            _TONES.get(state, "bad"),
            read=read_words(reading) if state.usable else "",
            language=language_words(reading),
            unsure=unsure_words(reading),
            preparing=preparing,
            ocr=bool(ocr_extractor()) and (state.usable or state is DocumentState.NO_TEXT),
            urgent=state is DocumentState.NO_TEXT or (state is DocumentState.PARTIAL and not _tried(reading)),
        )

    def show(self, session: Session, chosen: str, at: OpenPage = OpenPage()) -> tuple[Any, ...]:  # noqa: B008 - frozen
        """Return table, page, password field and what is wrong with its password for the chosen document."""
        document = self._find(session, chosen)
        if document is None:
            return self.table(session), empty_page(NO_PAGE), gr.Group(visible=False), ""
        page, locked = self._page(session, document, at.of(chosen), find=at.find if at.document_id == chosen else "")
        self.below.put(asking_page(), chosen)
        asked = _asked(document)
        wrong = render("error", what=document.reason, hint="") if asked == _ASK_PASSWORD[1] else ""
        return self.table(session, chosen), page, gr.Group(visible=locked), wrong

    def _find(self, session: Session, document_id: str) -> Document | None:
        return next((d for d in self.services.documents.kept.list(session.owner) if d.id == document_id), None)

    def _page(
        self, session: Session, document: Document, number: int = 1, request: Click | None = None, find: str = ""
    ) -> ShownPage:
        """Return the page view, and whether the document's password is wanted."""
        if not document.state.usable:
            why = document.reason or state_words(document)
            if _asked(document) == _ASK_PASSWORD[1]:  # which stands beside the field
                why = "it needs a password."
            words = f"{document.filename} has no pages to show: {why}"
            return ShownPage(empty_page(words), document.state is DocumentState.ENCRYPTED)
        try:
            return show_page(
                self.services,
                session.owner,
                document.id,
                number,
                settings=session.settings,
                request=request,
                compare=True,
                find=find,
            )
        except PdfQAError as error:
            return ShownPage(error_html(error))

    def add(self, files: Sequence[str] | None, folder: str, session: Session, *form: Any) -> Iterator[tuple[Any, ...]]:
        """Read the uploaded files, which are moved into the workspace; `folder` says where they lay in one."""
        paths = [Path(file) for file in files or ()]
        self.bar.note_folder(folder, paths, session)
        yield from self._ingest(paths, session, extraction_of(self.services, *form), keep=True)

    def unlock(self, password: str, chosen: str, session: Session, *form: Any) -> Iterator[tuple[Any, ...]]:
        """Read an encrypted document with its password, or show its pages again; the password is not stored."""
        document = self._find(session, chosen)
        if document is not None and document.state.usable:
            yield self._entered(password, chosen, session)
            return
        source = self.services.documents.original(session.owner, chosen)
        yield from self._ingest([source], session, extraction_of(self.services, *form), password=password, again=True)

    def _entered(self, password: str, chosen: str, session: Session) -> tuple[Any, ...]:
        wrong = ""
        try:
            self.services.documents.pages.enter_password(session.owner, chosen, password)
        except PdfQAError as error:
            wrong = error_html(error)
        table, page, group, _ = self.show(session, chosen)
        return "", gr.Button(visible=False), table, page, group, wrong, chosen, gr.skip(), ""

    def read_again(self, chosen: str, session: Session, *form: Any) -> Iterator[tuple[Any, ...]]:
        """Read the open document again in the way that is set."""
        if not chosen:
            raise UsageError("No document is open.", "Choose one in the table first.")
        source = self.services.documents.original(session.owner, chosen)
        yield from self._ingest([source], session, extraction_of(self.services, *form), again=True)

    def _with_ocr(self, document_id: str, session: Session) -> Iterator[tuple[Any, ...]]:
        """Read a document with OCR: the pages that need it, or all of them where every page has text."""
        document = self.services.documents.kept.get(session.owner, document_id)
        pages = "all" if document.state is DocumentState.READY else "auto"
        extraction = extraction_of(self.services, ocr_extractor(), self.services.settings.extraction.tables, pages)
        source = self.services.documents.original(session.owner, document_id)
        yield from self._ingest([source], session, extraction, again=True)

    def _ingest(
        self,
        files: Sequence[Path | Source],
        session: Session,
        extraction: ExtractionSettings | None = None,
        *,
        keep: bool = False,
        password: str | None = None,
        again: bool = False,
    ) -> Iterator[tuple[Any, ...]]:
        """Begin to read files and show how far that is; it goes on where nobody looks any more.

        The last one is opened, unless a person opens another meanwhile or turns a page. Fields are emptied once, at the
        start: what is dropped or typed meanwhile stays.
        """
        asking = asking_page()
        before, chosen, shown, message = self.below.times(asking), "", 0.0, ""
        upload: Any = None if keep else gr.skip()
        typed: Any = ""
        try:
            batch = self.services.documents.jobs.begin(
                session.owner,
                files,
                keep=keep,
                password=password,
                again=again,
                extraction=extraction or self.services.settings.extraction,
            )
            for event in batch.events():
                untouched, table = self.below.times(asking) == before, gr.skip()
                if isinstance(event, Document):
                    chosen = event.id if event.state.usable or not chosen else chosen
                    self.services.index.preparation.want(session.owner, session.settings, [event.id])
                    table = self.table(session, chosen if untouched else self.below.of(asking))
                elif time.monotonic() - shown < FRAME:
                    continue
                shown = time.monotonic()
                now = chosen if chosen and untouched else gr.skip()
                yield batch_html(batch), gr.Button(visible=True), table, *(gr.skip(),) * 3, now, upload, typed
                upload = typed = gr.skip()
            message = self._outcome(session, batch)
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            message = error_html(error) + self._outcome(session, *self.services.documents.jobs.of(session.owner))
        opened, untouched = self.below.of(asking), self.below.times(asking) == before
        page = self.show(session, chosen) if untouched else (self.table(session, opened), *(gr.skip(),) * 3)
        now = chosen if untouched else gr.skip()
        yield message, gr.Button(visible=False), *page, now, upload, typed

    def _outcome(self, session: Session, *batches: Batch) -> str:
        """Return what the table does not say about files that were read."""
        notes = [note for batch in batches for one in batch.documents for note in self._not_stored(session, one)]
        return render("notes", lines=notes) if notes else ""

    def _not_stored(self, session: Session, read: Document) -> list[str]:
        """Return what the table does not say about a file: that it was there already, or keeps another reading."""
        stored = self._find(session, read.id)
        return [read.reason] if stored is not None and read.reason and stored.reason != read.reason else []

    def stop(self, session: Session) -> None:
        """Stop reading; files that were finished stay."""
        self.services.documents.jobs.stop(session.owner)

    def table_clicked(self, chosen: str, session: Session, event: gr.EventData) -> Iterator[tuple[Any, ...]]:
        """Open or remove a document, add what is attached to one, or add the sample."""
        data, before = clicked(event), chosen
        if (reading := self._reading(data, session)) is not None:
            yield from reading
            return
        match data.get("action"):
            case "remove":
                gone = data.get("documents", "").split() or [data["document"]]
                self.services.documents.leaving.begin(session.owner, gone)
                chosen = "" if chosen in gone else chosen
            case "undo":
                self.services.documents.leaving.undo(session.owner, [data["document"]])
            case "open":
                chosen = data["document"]
            case "stop":
                self.services.index.preparation.stop(session.owner, data["document"])
            case "go-on":
                self.services.index.preparation.go_on(session.owner, data["document"], session.settings)
        page: Any = gr.skip()
        group: Any = gr.skip()
        wrong: Any = gr.skip()
        typed: Any = gr.skip()
        if chosen == before and data.get("action") != "open":  # its page stays where it was turned to
            table = self.table(session, chosen)
        else:
            table, page, group, wrong = self.show(session, chosen)
            typed = ""
        said: Any = ""
        stop: Any = gr.Button(visible=False)
        if any(
            not batch.ended for batch in self.services.documents.jobs.of(session.owner)
        ):  # how far that is stays in sight
            said, stop = gr.skip(), gr.skip()
        yield said, stop, table, page, group, wrong, chosen, gr.skip(), typed

    def _reading(self, data: Click, session: Session) -> Iterator[tuple[Any, ...]] | None:
        """Return what reads the PDFs that a click asks for; None where it asks for something else."""
        match data.get("action"):
            case "sample":
                return self._ingest([sample_pdf()], session)
            case "ocr":
                return self._with_ocr(data["document"], session)
            case "attached":
                return self._add_attached(data["document"], session)
        return None

    def tick(self, session: Session, chosen: str, before: Told) -> tuple[Any, ...]:
        """Show how far reading is, also where it was begun by a page that was closed; look often only while it goes on.

        Returns work, stop button, table, what was told, and when to look again.
        """
        states, batches = (
            self.services.index.preparation.states(session.owner),
            self.services.documents.jobs.of(session.owner),
        )
        under_way = [batch for batch in batches if not batch.ended]
        told = Told(
            tuple(f"{key} {preparing_words(state)}" for key, state in sorted(states.items())),
            tuple(len(batch.documents) for batch in batches),
            bool(under_way),
            self.services.documents.leaving.of(session.owner),
            frozenset(self.services.documents.filenames(session.owner)),
        )
        work: Any = gr.skip()
        left = self.services.index.files.left_over(session.owner) if before.leaving - told.leaving else ""
        if left:
            work = render("notes", lines=[left])
        elif under_way:
            work = "".join(map(batch_html, under_way))
        elif before.reading and batches:
            failed = error_html(batches[-1].error) if batches[-1].error is not None else ""
            work = failed + self._outcome(session, batches[-1])
        stop = gr.Button(visible=told.reading) if told.reading != before.reading else gr.skip()
        table = self.table(session, chosen) if told != before else gr.skip()
        often = told.reading or bool(told.leaving) or any(not state.stopped for state in states.values())
        return work, stop, table, told, gr.Timer(OFTEN if often else SELDOM)

    def page_clicked(self, session: Session, event: gr.EventData) -> tuple[Any, ...]:
        """Turn the page, show another reading of it, or let that one count."""
        data = clicked(event)
        document = self._find(session, data.get("document", ""))
        if document is None:
            return gr.skip(), empty_page(NO_PAGE), gr.Group(visible=False), OpenPage()
        table: Any = gr.skip()
        if data.get("action") == "choose":
            document = self.services.documents.kept.choose(session.owner, document.id, data["reading"])
            table = self.table(session, document.id)
        number = min(max(1, data.number("number", 1)), document.page_count)
        page, locked = self._page(session, document, number, Click({**data, "number": str(number)}))
        if not self.below.is_on(asking_page(), document.id):  # another document was opened meanwhile
            return table, gr.skip(), gr.skip(), gr.skip()
        self.below.put(asking_page(), document.id)
        return table, page, gr.Group(visible=locked), OpenPage(document.id, number)


def build(services: Services, session: gr.State) -> Shown:
    """Build the tab."""
    handlers = Handlers(services)
    chosen, told, at = gr.State(""), gr.State(Told()), gr.State(OpenPage())
    pulse = gr.Timer(OFTEN)
    switch("documents-columns", "Documents", "Page")
    with gr.Row(elem_classes=["pq-columns"], elem_id="documents-columns"):
        with gr.Column():
            upload = gr.File(
                label="Drop PDFs here, or click to choose",
                file_count="multiple",
                height=112,
                elem_id="documents-upload",
            )
            live_html(render("add_folder"))
            with gr.Accordion("More: how PDFs are read", open=False, elem_id="documents-more"):
                form = reading_form(services)
                again = gr.Button("Read the open document again like this", size="sm", elem_id="documents-again")
            work = live_html(elem_id="documents-work")
            stop = gr.Button("Stop", visible=False, size="sm", elem_classes=["pq-stop"], elem_id="documents-stop")
            bar = handlers.bar = CollectionBar(services, handlers.table)
            table = live_html(elem_id="documents-table")
        with gr.Column(elem_id="documents-right"):
            glance = overview.OverviewParts(services, session, chosen, at, table, handlers.below)
            page = live_html(empty_page(NO_PAGE), elem_id="documents-page")
            with gr.Group(visible=False) as locked:
                password = gr.Textbox(
                    label="Password", type="password", info="Opens the document until the program ends; never stored"
                )
                wrong = live_html(elem_id="documents-wrong")
                unlock = gr.Button("Open with this password", size="sm", elem_id="documents-unlock")
    outputs = [work, stop, table, page, locked, wrong, chosen, upload, password]
    reading = {"outputs": outputs, "concurrency_limit": None, **QUIET}
    added = upload.upload(handlers.add, [upload, bar.folder, session, *form], trigger_mode="always_last", **reading)
    unlocking = [password, chosen, session, *form]
    unlocked = [trigger(handlers.unlock, unlocking, **reading) for trigger in (unlock.click, password.submit)]
    read = again.click(handlers.read_again, [chosen, session, *form], **reading)
    stop.click(handlers.stop, session, None, **AT_ONCE)
    opened = table.click(handlers.table_clicked, [chosen, session], **EVERY_CLICK, **reading)
    page.click(handlers.page_clicked, [session], [table, page, locked, at], **EVERY_CLICK, **AT_ONCE)
    glance.connect(page, locked, handlers.table, (added, read, opened, *unlocked))
    pulse.tick(handlers.tick, [session, chosen, told], [work, stop, table, told, pulse], **AT_ONCE)
    bar.wire(session, chosen, table)
    return Shown(handlers.show, [session, chosen, at], [table, page, locked, wrong], states=[chosen, at])
