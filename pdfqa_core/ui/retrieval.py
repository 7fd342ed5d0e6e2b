"""The Retrieval tab: the recipe from text to passages to index, and a test of it without a language model."""

from __future__ import annotations

import base64
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError
from pdfqa_core.services import Services
from pdfqa_core.settings import Settings
from pdfqa_core.text import words
from pdfqa_core.types import Hit
from pdfqa_core.ui.chat_view import marked_words, place
from pdfqa_core.ui.components import AT_ONCE, QUIET, clicked, error_html, guarded, live_html, render, switch
from pdfqa_core.ui.documents import work_html
from pdfqa_core.ui.page_view import main_page, page_html
from pdfqa_core.ui.session import Session, Shown

PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "Quick": {"chunking": {"chunker": "paragraphs"}, "retrieval": {"retriever": "bm25", "k": 5}},
    "Balanced": {
        "chunking": {"chunker": "windows", "unit": "words", "size": 120, "step": 60, "headings": True},
        "retrieval": {"retriever": "hybrid", "k": 5},
    },
    "Thorough": {
        "chunking": {"chunker": "windows", "unit": "words", "size": 200, "step": 50, "headings": True},
        "retrieval": {"retriever": "hybrid", "k": 10, "candidates": 300},
    },
}
CHUNKERS = {
    "paragraphs": "each paragraph of the page is a passage",
    "snippets": "pieces of one length, ending at a sentence end where a range is given",
    "windows": "a window that slides over the text, so that neighbours overlap",
}
RETRIEVERS = {
    "bm25": "counts matching words; instant, no encoder",
    "dense": "compares meanings by an encoder",
    "hybrid": "meaning times matching words (LaPraDoR)",
    "rrf": "adds up the ranks of both",
}
READ_FIRST = "Add documents first, then try questions here."
TRY = "Type a question to see which passages each recipe finds. No language model is involved."

# Settings of the recipe in the order of the form; the handlers get their values in this order.
FIELDS = (
    ("chunking", "chunker"), ("chunking", "unit"), ("chunking", "length"),
    ("chunking", "min_length"), ("chunking", "max_length"), ("chunking", "size"), ("chunking", "step"),
    ("chunking", "headings"), ("retrieval", "retriever"), ("retrieval", "k"), ("retrieval", "k1"),
    ("retrieval", "b"), ("retrieval", "candidates"), ("retrieval", "rrf_k"), ("reading", "reader"),
    ("reading", "passages"), ("reading", "confidence_threshold"), ("conversation", "rewriter"), ("llm", "max_tokens"),
)  # fmt: skip
WHOLE = {"length", "min_length", "max_length", "size", "step", "k", "candidates", "rrf_k", "passages", "max_tokens"}


@dataclass(frozen=True, slots=True)
class HitCard:
    """A hit of the retrieval test."""

    rank: int
    place: str
    document_id: str
    passage_id: str
    bars: tuple[tuple[float, str], ...]
    scores: str
    text_parts: tuple[tuple[str, bool], ...]
    thumbnail: str
    mime: str


@dataclass(frozen=True, slots=True)
class Column:
    """The hits of one retriever."""

    name: str
    hits: tuple[HitCard, ...]
    milliseconds: int


def settings_from(values: Sequence[Any], base: Settings) -> Settings:
    """Return `base` with the form's values. Raises UsageError that names the wrong field."""
    changes: dict[str, dict[str, Any]] = {}
    for (section, name), value in zip(FIELDS, values, strict=True):
        whole = name in WHOLE and isinstance(value, float) and value.is_integer()
        changes.setdefault(section, {})[name] = int(value) if whole else value
    if not changes["chunking"]["min_length"]:
        changes["chunking"]["min_length"] = None
    if not changes["chunking"]["max_length"]:
        changes["chunking"]["max_length"] = None
    for section, fields in changes.items():
        base = base.changed(section, **fields)
    return base


def values_of(settings: Settings) -> list[Any]:
    """Return the form's values for settings."""
    return [getattr(getattr(settings, section), name) for section, name in FIELDS]


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

    def __init__(self, services: Services) -> None:
        self.services = services

    def preview(self, session: Session) -> str:
        """Return the count of passages, their lengths, the first of them, and whether the index is built."""
        services, settings = self.services, session.settings
        names = {d.id: d.filename for d in services.store.documents.list(session.owner) if d.state.usable}
        passages = services.passages(session.owner, settings)
        lengths = [len(words(passage.text)) for passage in passages]
        built = services.index_ready(session.owner, settings)
        seconds = services.index_seconds(session.owner, settings)
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
            recipe=services.recipe_name(settings),
            estimate="" if seconds < 2 else f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min",
            examples=examples,
        )

    def show(self, session: Session) -> tuple[str, gr.Dropdown]:
        """Return the preview and the choice of documents."""
        documents = [d for d in self.services.store.documents.list(session.owner) if d.state.usable]
        chosen = [d.id for d in documents if d.id in session.scope]
        choices = [(d.title or d.filename, d.id) for d in documents]
        return self.preview(session), gr.Dropdown(choices=choices, value=chosen)

    def scope_changed(self, scope: list[str], session: Session) -> Session:
        """Remember which documents are searched, here and in the chat."""
        return replace(session, scope=tuple(scope))

    def changed(self, session: Session, *values: Any) -> tuple[Any, ...]:
        """Take the form's values into the session and show what they make."""
        try:
            session = replace(session, settings=settings_from(values, session.settings))
            return session, self.preview(session), *self._visible(session.settings)
        except PdfQAError as error:
            return session, error_html(error), *[gr.skip() for _ in self._visible(session.settings)]

    def preset(self, name: str, session: Session) -> tuple[Any, ...]:
        """Set the form to a preset."""
        settings = session.settings
        for section, fields in PRESETS.get(name, {}).items():
            settings = settings.changed(section, **fields)
        session = replace(session, settings=settings)
        return session, self.preview(session), *self._visible(settings), *values_of(settings)

    @staticmethod
    def _visible(settings: Settings) -> tuple[Any, ...]:
        chunker, retriever = settings.chunking.chunker, settings.retrieval.retriever
        return (
            gr.Group(visible=chunker == "snippets"),
            gr.Group(visible=chunker == "windows"),
            gr.Radio(info=CHUNKERS.get(chunker, "")),
            gr.Radio(info=RETRIEVERS.get(retriever, "")),
        )

    def build_index(self, session: Session, request: gr.Request, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Build the index of the form's recipe with progress; Stop keeps what is finished."""
        key = f"index-{request.session_hash}"
        try:
            settings_from(values, session.settings)
        except PdfQAError as error:
            yield error_html(error), gr.skip(), gr.skip(), gr.skip()
            return
        yield work_html(), gr.Button(visible=False), gr.Button(visible=True), gr.skip()
        message = ""
        try:
            for step in self.services.build_index(session.owner, session.settings, run=key):
                yield work_html(step), gr.skip(), gr.skip(), gr.skip()
        except PdfQAError as error:
            message = error_html(error)
        yield message, gr.Button(visible=True), gr.Button(visible=False), self.preview(session)

    def stop(self, request: gr.Request) -> None:
        """Stop building."""
        self.services.stop(run=f"index-{request.session_hash}")

    def search(self, question: str, other: str, session: Session) -> Iterator[tuple[str, Any]]:
        """Show what the recipe finds, beside another retriever when one is chosen."""
        if not question.strip():
            yield render("hits", columns=(), message=TRY), gr.skip()
            return
        documents = self.services.store.documents.list(session.owner)
        names = {d.id: d.filename for d in documents}
        if not any(d.state.usable for d in documents):
            yield render("hits", columns=(), message=READ_FIRST), gr.skip()
            return
        try:
            retrievers = [session.settings.retrieval.retriever, *([other] if other in RETRIEVERS else [])]
            columns = []
            for name in dict.fromkeys(retrievers):
                settings = session.settings.changed("retrieval", retriever=name)
                for step in self.services.build_index(session.owner, settings):
                    yield work_html(step), gr.skip()
                started = time.perf_counter()
                hits = self.services.search(session.owner, question, settings, document_ids=session.scope)
                elapsed = time.perf_counter() - started
                cards = tuple(self._card(hit, question, names, hits[0].score, session) for hit in hits)
                columns.append(Column(name, cards, round(1000 * elapsed)))
            empty = not any(column.hits for column in columns)
            message = "No passage matches. Try other words, or a retriever that compares meanings." if empty else ""
            yield render("hits", columns=columns, message=message), self.preview(session)
        except PdfQAError as error:
            yield error_html(error), gr.skip()

    def _card(self, hit: Hit, question: str, names: Mapping[str, str], best: float, session: Session) -> HitCard:
        image = self.services.thumbnail(session.owner, hit.passage.document_id, hit.passage.pages[0])
        scores = " · ".join(f"{name} {value:.3f}" for name, value in {hit.retriever: hit.score, **hit.parts}.items())
        return HitCard(
            hit.rank, place(hit, names), hit.passage.document_id, hit.passage.id, _bars(hit, best), scores,
            marked_words(hit.passage.text, question), base64.b64encode(image.data).decode(), image.mime,
        )  # fmt: skip

    def hit_clicked(self, session: Session, event: gr.EventData) -> str:
        """Show the page of a hit with its passage marked."""
        data = clicked(event)
        document_id, passage_id = data.get("document", ""), data.get("passage", "")
        passages = self.services.passages(session.owner, session.settings, (document_id,)) if passage_id else []
        passage = next((p for p in passages if p.id == passage_id), None)
        number = int(data.get("number", 0)) or (main_page(passage) if passage else 1)
        return page_html(self.services, session.owner, document_id, number, marks=passage.spans if passage else ())


def build(services: Services, session: gr.State) -> Shown:
    """Build the tab."""
    handlers = Handlers(services)
    settings = services.settings
    switch("retrieval-columns", "Recipe", "Test")
    with gr.Row(elem_classes=["pq-columns"], elem_id="retrieval-columns"):
        with gr.Column():
            preset = gr.Radio(list(PRESETS), label="Preset", info="A starting point; change anything below")
            form, groups = _form(services, settings)
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
                    ["nothing", *_ordered(services.names("retriever"), RETRIEVERS)],
                    value="nothing",
                    label="Compare with",
                    scale=2,
                )
                search = gr.Button("Search", variant="primary", scale=1, min_width=88, elem_id="retrieval-search")
            scope = gr.Dropdown(
                [], multiselect=True, label="Search in", info="Empty: all documents", elem_id="retrieval-scope"
            )
            hits = live_html(render("hits", columns=(), message=TRY), elem_id="retrieval-hits")
            page = live_html(elem_id="retrieval-page")
    shown = [session, preview, *groups, form["chunker"], form["retriever"]]
    fields = [form[name] for _, name in FIELDS]
    for field in fields:
        field.input(handlers.changed, [session, *fields], shown, show_progress="hidden", trigger_mode="always_last")
    preset.input(guarded(handlers.preset), [preset, session], [*shown, *fields], **QUIET)
    build_button.click(
        handlers.build_index, [session, *fields], [work, build_button, stop, preview], concurrency_limit=None, **QUIET
    )
    stop.click(handlers.stop, None, None, **AT_ONCE)
    for trigger in (question.submit, search.click, other.input):
        trigger(handlers.search, [question, other, session], [hits, preview], concurrency_limit=None, **QUIET)
    hits.click(guarded(handlers.hit_clicked), [session], page, **AT_ONCE)
    page.click(guarded(handlers.hit_clicked), [session], page, **AT_ONCE)
    scope.input(handlers.scope_changed, [scope, session], session, **AT_ONCE)
    return Shown(handlers.show, [session], [preview, scope])


def _ordered(names: Sequence[str], known: Mapping[str, str]) -> list[str]:
    """Return the names in the order in which the page explains them, others behind."""
    return sorted(names, key=lambda name: list(known).index(name) if name in known else len(known))


def _form(services: Services, settings: Settings) -> tuple[dict[str, Any], list[gr.Group]]:
    """Return the recipe's fields by setting name, and the groups that show only for some chunkers."""
    form: dict[str, Any] = {}
    chunking, retrieval = settings.chunking, settings.retrieval
    form["chunker"] = gr.Radio(
        _ordered(services.names("chunker"), CHUNKERS),
        value=chunking.chunker,
        label="Passages",
        info=CHUNKERS[chunking.chunker],
    )
    with gr.Group(visible=chunking.chunker == "snippets") as snippets, gr.Row():
        form["length"] = gr.Number(chunking.length, label="Length", precision=0)
        form["min_length"] = gr.Number(chunking.min_length, label="or from", precision=0)
        form["max_length"] = gr.Number(chunking.max_length, label="to", precision=0)
    with gr.Group(visible=chunking.chunker == "windows") as windows, gr.Row():
        form["size"] = gr.Number(chunking.size, label="Window size", precision=0)
        form["step"] = gr.Number(chunking.step, label="Step", precision=0)
    form["retriever"] = gr.Radio(
        _ordered(services.names("retriever"), RETRIEVERS),
        value=retrieval.retriever,
        label="Retriever",
        info=RETRIEVERS[retrieval.retriever],
    )
    form["k"] = gr.Slider(1, 20, value=retrieval.k, step=1, label="Passages found (k)")
    form["headings"] = gr.Checkbox(
        chunking.headings, label="Index with title and heading", info="Helps when documents resemble each other"
    )
    with gr.Accordion("Answering", open=False):
        form["reader"] = gr.Radio(
            list(services.names("reader")), value=settings.reading.reader, label="Reader",
            info="generative: the language model writes; extractive: the best sentences, word for word",
        )  # fmt: skip
        form["passages"] = gr.Slider(
            1, 10, value=settings.reading.passages, step=1, label="Passages read",
            info="More may help a larger model; each costs time before the first word",
        )  # fmt: skip
        form["confidence_threshold"] = gr.Slider(
            0, 1, value=settings.reading.confidence_threshold, step=0.01, label="Evidence needed",
            info="Below this the answer is “insufficient context”; 0: always answer",
        )  # fmt: skip
        form["rewriter"] = gr.Radio(
            list(services.names("rewriter")), value=settings.conversation.rewriter, label="Follow-up questions",
            info="none: searched as typed; concatenation: with terms of earlier questions; llm: rewritten by the model",
        )  # fmt: skip
        form["max_tokens"] = gr.Slider(
            16, 1024, value=settings.llm.max_tokens, step=16, label="Longest answer (tokens)"
        )
    with gr.Accordion("More", open=False):
        form["unit"] = gr.Radio(
            ["words", "tokens"], value=chunking.unit, label="Lengths in", info="tokens: of the embedding model"
        )
        with gr.Row():
            form["k1"] = gr.Number(retrieval.k1, label="BM25 k1", info="term saturation")
            form["b"] = gr.Number(retrieval.b, label="BM25 b", info="length normalisation")
        with gr.Row():
            form["candidates"] = gr.Number(retrieval.candidates, label="Candidates", info="per list", precision=0)
            form["rrf_k"] = gr.Number(retrieval.rrf_k, label="RRF constant", precision=0)
    return form, [snippets, windows]
