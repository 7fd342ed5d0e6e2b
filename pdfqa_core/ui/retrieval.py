"""The Retrieval tab: the recipe from text to passages to index, and a test of it without a language model."""

from __future__ import annotations

import base64
import re
import statistics
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError
from pdfqa_core.retrieval import page_range
from pdfqa_core.services import (
    Services,
    recipes,
)
from pdfqa_core.settings import Settings
from pdfqa_core.text import JOINER, words
from pdfqa_core.types import Hit, Passage, Span, passage_id
from pdfqa_core.ui.chat_view import place, scores
from pdfqa_core.ui.components import AT_ONCE, QUIET, asking_page, clicked, error_html, live_html, render, switch
from pdfqa_core.ui.documents import work_html
from pdfqa_core.ui.encoders import known_models
from pdfqa_core.ui.evaluate_runs_view import refusal_chart
from pdfqa_core.ui.page_view import main_page, passage_parts, show_page
from pdfqa_core.ui.recipe import JUDGED, UNSET, Form, Place, build_form, settings_from
from pdfqa_core.ui.roles import check_models
from pdfqa_core.ui.session import Session, Showing, Shown, encoder_hint, scope_choice

READ_FIRST = "Add documents first, then try questions here."
TRY = "Type a question to see which passages each recipe finds. No language model is involved."
BINS = 12  # of the histogram of lengths
ELSEWHERE: Sequence[Place] = (  # settings that other tabs change
    ("reading", "reader"), ("retrieval", "retriever"), ("retrieval", "embedding_model"), ("retrieval", "late_model"),
)  # fmt: skip
_PLACE = re.compile(r"(\d{1,7}):(\d{1,9})-(\d{1,9})")


def histogram(lengths: Sequence[int]) -> tuple[tuple[int, int, int, float], ...]:
    """Return up to BINS bins of equal width as (first length, last length, how many, percent of the fullest bin)."""
    if len(set(lengths)) < 2:
        return ()
    least, most = min(lengths), max(lengths)
    width = max(1, -(-(most - least + 1) // BINS))
    counts = Counter((length - least) // width for length in lengths)
    fullest = max(counts.values())
    return tuple(
        (least + n * width, min(most, least + (n + 1) * width - 1), counts[n], round(100 * counts[n] / fullest, 1))
        for n in range((most - least) // width + 1)
    )


def _bars(hit: Hit, best: float) -> tuple[tuple[float, str], ...]:
    """Return the score bar split into the shares of its parts, in percent of the best score."""
    whole = 100 * max(0.0, hit.score) / best if best > 0 else 0.0
    parts = {name: max(0.0, value) for name, value in hit.parts.items()}
    total = sum(parts.values())
    if len(parts) < 2 or total <= 0:
        return ((round(whole, 1), ""),)
    return tuple(
        (round(whole * value / total, 1), "second" if index else "") for index, value in enumerate(parts.values())
    )


class Handlers:
    """What the tab does."""

    def __init__(self, services: Services, form: Form) -> None:
        self.services = services
        self.form = form
        self.searches = Showing()  # the search whose hits each page shows
        self.touched = Showing()  # the last change of the recipe on each page

    def preview(self, session: Session) -> str:
        """Return the count of passages, their lengths, the first of them, and whether the index is built."""
        services, settings = self.services, session.settings
        names = {d.id: d.filename for d in services.documents.kept.list(session.owner) if d.state.usable}
        passages = services.index.passages(session.owner, settings)
        lengths = [len(words(passage.text)) for passage in passages]
        built = services.index.ready(session.owner, settings)
        seconds = services.index.seconds(session.owner, settings)
        stats = services.index.stats(session.owner, settings) if built else None
        examples = [
            (
                place(Hit(passage, 0, 1, ""), names) + (f" · {passage.heading}" if passage.heading else ""),
                passage.text,
            )
            for passage in passages[:5]
        ]
        return render(
            "preview",
            count=len(passages),
            median=round(statistics.median(lengths)) if lengths else 0,
            shortest=min(lengths, default=0),
            longest=max(lengths, default=0),
            documents=len(names),
            built=built,
            recipe=recipes.name_of(settings),
            unread=len(services.documents.unread(session.owner, settings)),
            notes=services.documents.reading_notes(session.owner, settings) if built else (),
            estimate="" if seconds < 2 else f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min",
            examples=examples,
            bins=histogram(lengths),
            stats=stats,
            hint=encoder_hint(services, session),
        )

    def show(self, session: Session) -> tuple[Any, ...]:
        """Return preview, preset, what can be searched in, and what other tabs may have changed.

        Nothing of the recipe where it was changed meanwhile.
        """
        page = asking_page()
        before, preview = self.touched.of(page), self.preview(session)
        scope = scope_choice(self.services, session.owner, session.scope)
        if self.touched.of(page) != before:
            return gr.skip(), gr.skip(), scope, *[gr.skip() for _ in ELSEWHERE]
        preset = gr.update(value=recipes.preset_of(session.settings))
        return preview, preset, scope, *self.form.some(session.settings, ELSEWHERE)

    def fill(self, session: Session) -> list[Any]:
        """Return the form as the session's settings have it."""
        return self.form.filled(session.settings)

    def scope_changed(self, scope: list[str] | None, session: Session) -> Session:
        """Remember which documents and collections are searched, here and in the chat."""
        return replace(session, scope=tuple(scope or ()))

    def changed(self, place: Place, session: Session, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Take the form's values into the session, then show what they make, which may take a while.

        Of what other tabs change too only the field that was touched counts: the others may not be up to date yet.
        """
        form = [gr.skip() for _ in self.form.all]
        self.touched.put(asking_page(), uuid.uuid4().hex)
        try:
            settings = self._settings(session, values)
            for section, name in ELSEWHERE:
                if (section, name) != place:
                    settings = settings.changed(section, **{name: getattr(getattr(session.settings, section), name)})
            taken = replace(session, settings=settings)
            preset = gr.update(value=recipes.preset_of(taken.settings))
            yield taken, preset, gr.skip(), *self.form.filled(taken.settings, session.settings)
            yield gr.skip(), gr.skip(), self.preview(taken), *form
        except PdfQAError as error:
            yield gr.skip(), gr.skip(), error_html(error), *form

    def _settings(self, session: Session, values: Sequence[Any]) -> Settings:
        settings = settings_from(values, session.settings, models=self.form.models)
        check_models(self.services, [settings])
        return settings

    def preset(self, name: str, session: Session) -> Iterator[tuple[Any, ...]]:
        """Set the form to a preset, then show what it makes."""
        self.touched.put(asking_page(), uuid.uuid4().hex)
        session = replace(session, settings=recipes.with_preset(session.settings, name))
        yield session, gr.skip(), gr.skip(), *self.form.filled(session.settings)
        yield gr.skip(), gr.skip(), self.preview(session), *[gr.skip() for _ in self.form.all]

    @staticmethod
    def evidence_moved(refusal: str, threshold: float | None) -> Any:
        """Return the curve with the threshold where the slider is."""
        return gr.skip() if threshold is None else refusal_chart(refusal, threshold)

    def build_index(self, session: Session, request: gr.Request, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Build the index of the form's recipe with progress; Stop keeps what is finished."""
        key = f"index-{request.session_hash}"
        try:
            self._settings(session, values)
        except PdfQAError as error:
            yield error_html(error), gr.skip(), gr.skip()
            return
        yield work_html(), gr.Button(visible=False), gr.Button(visible=True)
        message = ""
        try:
            for step in self.services.index.build(session.owner, session.settings, task=key):
                yield work_html(step), gr.skip(), gr.skip()
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            message = error_html(error)
        yield message, gr.Button(visible=True), gr.Button(visible=False)

    def stop(self, request: gr.Request) -> None:
        """Stop building."""
        self.services.tasks.stop(f"index-{request.session_hash}")

    def search(self, question: str, other: str, pages: str, session: Session) -> Iterator[tuple[str, Any]]:
        """Show what the recipe finds, beside another retriever when one is chosen, until another search begins."""
        page, search = asking_page(), uuid.uuid4().hex
        self.searches.put(page, search)
        for found in self._found(question, other, pages, session):
            if not self.searches.is_on(page, search):
                return
            yield found

    def _found(self, question: str, other: str, pages: str, session: Session) -> Iterator[tuple[str, Any]]:
        if not question.strip():
            yield render("hits", columns=(), message=TRY), gr.skip()
            return
        documents = self.services.documents.kept.list(session.owner)
        names = {d.id: d.filename for d in documents}
        if not any(d.state.usable for d in documents):
            yield render("hits", columns=(), message=READ_FIRST), gr.skip()
            return
        try:
            wanted = page_range(pages) if pages.strip() else None
            chosen = [session.settings.retrieval.retriever, other]
            scope = self.services.documents.collections.searched(session.owner, session.scope).document_ids
            columns = []
            for name in dict.fromkeys(name for name in chosen if name in recipes.names("retriever")):
                settings = session.settings.changed("retrieval", retriever=name)
                for step in self.services.index.build(session.owner, settings):
                    yield work_html(step), gr.skip()
                started = time.perf_counter()
                hits = self.services.index.search(session.owner, question, settings, document_ids=scope, pages=wanted)
                elapsed = time.perf_counter() - started
                cards = [self._card(hit, question, names, hits[0].score, session) for hit in hits]
                columns.append((name, cards, round(1000 * elapsed)))
            empty = not any(cards for _, cards, _ in columns)
            message = "No passage matches. Try other words, or a retriever that compares meanings." if empty else ""
            yield render("hits", columns=columns, message=message), self.preview(session)
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            yield error_html(error), gr.skip()

    def _card(self, hit: Hit, question: str, names: Mapping[str, str], best: float, session: Session) -> dict[str, Any]:
        image = self.services.documents.pages.thumbnail(session.owner, hit.passage.document_id, hit.passage.pages[0])
        return {
            "hit": hit,
            "place": place(hit, names),
            "bars": _bars(hit, best),
            "scores": scores(hit),
            "below": any(value < 0 for value in (hit.score, *hit.parts.values())),
            "mime": image.mime,
            "text": passage_parts(hit.passage.text, question, language=hit.passage.language),
            "image": base64.b64encode(image.data).decode(),
        }

    def hit_clicked(self, session: Session, event: gr.EventData) -> str:
        """Show the page of a hit with its passage marked."""
        data = clicked(event)
        document_id, wanted = data.get("document", ""), data.get("passage", "")
        passages = self.services.index.passages(session.owner, session.settings, (document_id,)) if wanted else []
        passage = next((p for p in passages if p.id == wanted), None)
        if passage is None and wanted:
            passage = self._merged(session, document_id, wanted, data.get("spans", ""))
        first = _PLACE.search(data.get("spans", ""))
        number = int(first[1]) if first else 1  # where the passage is of a recipe that is no longer set
        return show_page(
            self.services,
            session.owner,
            document_id,
            main_page(passage) if passage else number,
            settings=session.settings,
            passage=passage,
            request=data,
        ).html

    def _merged(self, session: Session, document_id: str, wanted: str, places: str) -> Passage | None:
        """Return the passage that overlapping ones were merged to; its id says which spans it must have."""
        spans = tuple(Span(document_id, *map(int, place)) for place in _PLACE.findall(places))
        if not spans or passage_id("merged", spans) != wanted:
            return None
        texts = {
            page.number: page.text
            for page in self.services.documents.text(session.owner, document_id, session.settings)
        }
        text = JOINER.join(texts.get(span.page, "")[span.start : span.end] for span in spans)
        return Passage(wanted, spans, text)


def build(services: Services, session: gr.State) -> Shown:
    """Build the tab."""
    switch("retrieval-columns", "Recipe", "Test")
    with gr.Row(elem_classes=["pq-columns"], elem_id="retrieval-columns"):
        with gr.Column():
            preset = gr.Radio(list(recipes.PRESETS), label="Preset", info="A starting point; change anything below")
            form = build_form(
                services.settings, models=not services.settings.server.demo, known=partial(known_models, services)
            )
            preview = live_html(elem_id="retrieval-preview")
            work = live_html(elem_id="retrieval-work")
            with gr.Row():
                build_button = gr.Button("Build index", variant="primary", elem_id="build-index")
                stop = gr.Button("Stop", visible=False, elem_classes=["pq-stop"])
        with gr.Column():
            with gr.Row(equal_height=True):
                question = gr.Textbox(
                    label="Retrieval test",
                    placeholder="What do you want to find?",
                    scale=6,
                    elem_id="retrieval-question",
                )
                other = gr.Dropdown(
                    ["nothing", *recipes.names("retriever")], value="nothing", label="Compare with", scale=2
                )
                search = gr.Button("Search", variant="primary", scale=1, min_width=88, elem_id="retrieval-search")
            with gr.Row(equal_height=True):
                scope = gr.Dropdown(
                    [],
                    multiselect=True,
                    label="Search in",
                    info="Empty: all documents",
                    scale=6,
                    elem_id="retrieval-scope",
                )
                pages = gr.Textbox(
                    label="Pages", info="such as 3-9; empty: all", scale=2, min_width=120, elem_id="retrieval-pages"
                )
            hits = live_html(render("hits", columns=(), message=TRY), elem_id="retrieval-hits")
            page = live_html(elem_id="retrieval-page")
    handlers = Handlers(services, form)
    shown, fields = [session, preset, preview, *form.all], list(form.fields.values())
    for where, field in form.fields.items():
        taken = field.input(
            partial(handlers.changed, where), [session, *fields], shown, trigger_mode="always_last", **QUIET
        )
        taken.failure(lambda: error_html(UNSET), None, preview, **AT_ONCE)  # Gradio refuses a slider without a number
    evidence = [form.fields[place] for place in JUDGED]
    for field in evidence:
        field.input(handlers.evidence_moved, evidence, form.curve, trigger_mode="always_last", **AT_ONCE)
    preset.input(handlers.preset, [preset, session], shown, **QUIET)
    built = build_button.click(
        handlers.build_index, [session, *fields], [work, build_button, stop], concurrency_limit=None, **QUIET
    )
    built.then(handlers.preview, session, preview, **AT_ONCE)  # of the recipe that is set then
    stop.click(handlers.stop, None, None, **AT_ONCE)
    for trigger in (question.submit, search.click, other.input, pages.submit):
        trigger(handlers.search, [question, other, pages, session], [hits, preview], concurrency_limit=None, **QUIET)
    hits.click(handlers.hit_clicked, [session], page, **AT_ONCE)
    page.click(handlers.hit_clicked, [session], page, **AT_ONCE)
    scope.input(handlers.scope_changed, [scope, session], session, **AT_ONCE)
    elsewhere = [form.fields[place] for place in ELSEWHERE]
    return Shown(
        handlers.show, [session], [preview, preset, scope, *elsewhere], Shown(handlers.fill, [session], form.all)
    )
