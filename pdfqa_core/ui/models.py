"""The Models tab: the language model in use with its settings and speed, others to fetch, add and use, encoders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.llm.catalogue import read_catalogue, title_of
from pdfqa_core.llm.hardware import find_gpu, machine
from pdfqa_core.models import Changes, Speed, State
from pdfqa_core.models.files import quantisation
from pdfqa_core.models.language import api_key
from pdfqa_core.services import Services
from pdfqa_core.services.model_choice import ModelComparison, compare_models
from pdfqa_core.settings import LLMSettings
from pdfqa_core.types import Progress
from pdfqa_core.ui import encoders
from pdfqa_core.ui.components import (
    AT_ONCE,
    QUIET,
    clicked,
    error_html,
    gigabytes,
    live_html,
    render,
    switch,
)
from pdfqa_core.ui.documents import work_html
from pdfqa_core.ui.downloads import BUSY, CALM, download_words
from pdfqa_core.ui.evaluate_setup import brought, file_field
from pdfqa_core.ui.session import Session, Shown

TONES = {"fits": "ok", "tight": "warn", "too large": "bad"}
# Settings of the form, in its order: label, explanation, step of the number field (0: whole numbers).
NUMBERS: dict[str, tuple[str, str, float]] = {
    "context_size": ("Context", "in tokens; longer takes memory", 0),
    "threads": ("Threads", "0: as many as cores are idle", 0),
    "batch_size": ("Batch", "prompt tokens read at once", 0),
    "gpu_layers": ("GPU layers", "-1: as many as fit, 0: none", 0),
    "temperature": ("Temperature", "0: always the likeliest word", 0.1),
    "seed": ("Seed", "repeats a random answer", 0),
    "top_k": ("Top k", "words to draw from; 0: all", 0),
    "top_p": ("Top p", "their probability together", 0.05),
    "min_p": ("Min p", "least share of the best one's", 0.05),
    "repeat_penalty": ("Repeat penalty", "1: off", 0.05),
}


def _rounded(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"


def cards_html(services: Services) -> str:
    """Return the cards of all known models, those in use and wanted first."""
    used, files, demo = services.settings.llm, services.models.files, services.models.demo
    shown = [one for one in files.all(used) if not (demo and one.added)]
    first = (used.model, services.models.language.wanted.model)
    shown.sort(key=lambda one: first.index(one.name) if one.name in first else len(first))
    return render(
        "models_cards",
        files=shown,
        active=used.model if used.engine != "openai" else "",
        tones=TONES,
        downloads={one.name: files.downloads.get(one.name) for one in shown},
        download_words=download_words,
        suggested=[(words, one, _rounded(rate)) for words, one, rate in files.suggested(used)],
        expected={one.name: _rounded(files.expected_speed(one.size)) for one in shown},
        total=gigabytes(machine().memory.total),
        context=used.context_size,
        demo=demo,
        folder="" if demo else files.folder,
    )


def _facts(services: Services) -> str:
    """Return what runs and what it costs: file, form of its weights, size, memory and context."""
    used, file = services.settings.llm, services.models.language.file
    facts = [f"context {used.context_size:,} tokens"]
    if used.engine == "openai":
        return f"{facts[0]}, on {used.url}"
    found = next((one for one in services.models.files.all(used) if one.name == used.model), None)
    if found and found.memory:
        facts.append(f"{gigabytes(found.memory)} of memory")
    if offload := services.models.language.offload:
        facts.append(offload.words)
    if file is not None and file.is_file():
        form = quantisation(file)
        facts = [f"{file.name} ({form + ', ' if form else ''}{gigabytes(file.stat().st_size)})", *facts]
    return ", ".join(facts)


def active_html(services: Services) -> str:
    """Return the model in use and this machine."""
    used, language = services.settings.llm, services.models.language
    status, server = language.status, used.engine == "openai"
    words = status.words.partition(" · ")[0]  # what is downloaded stands on its card
    percent = words.rpartition(", ")[2].removesuffix("%").strip()
    return render(
        "models",
        title=(used.model or used.url) if server else title_of(used.model),
        status=status,
        facts=_facts(services),
        words=words,
        machine=machine(),
        gpu=find_gpu(),
        server=server,
        demo=services.models.demo,
        note=language.note or ("" if status.state.usable else status.detail),
        switching=State.SWITCHING,
        tone="ok" if status.state == State.READY else "warn" if status.state.usable else "bad",
        small=used.model == read_catalogue()[0].name and not server,
        wanted=language.wanted.model,
        wanted_title=title_of(language.wanted.model) if status.lacking else "",
        share=int(percent) if status.state.loading and percent.isdigit() else None,
    )


def form_values(services: Services) -> list[Any]:
    """Return the values of the settings form."""
    llm = services.settings.llm
    return [getattr(llm, name) for name in NUMBERS]


def read_form(values: Sequence[Any]) -> dict[str, Any]:
    """Return the settings of the form's values. Raises UsageError that names an empty field."""
    found: dict[str, Any] = {}
    for (name, (label, _, step)), value in zip(NUMBERS.items(), values, strict=True):
        if value is None:
            raise UsageError(f"“{label}” has no number.", "Type one.")
        found[name] = value if step else int(value)
    return found


class Handlers:
    """What the tab does. Each handler returns what changed in `outputs`: model, cards, message, timer."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.compared: dict[str, str] = {}  # the run in which models are compared, by owner

    def state(self, message: str = "") -> tuple[str, str, str, gr.Timer]:
        """Return the model in use, the cards, a message and when to look again."""
        busy = self.services.models.language.status.busy
        return active_html(self.services), cards_html(self.services), message, gr.Timer(BUSY if busy else CALM)

    def tick(self) -> tuple[Any, ...]:
        """Return the same, the message left alone."""
        active, cards, _, timer = self.state()
        return active, cards, timer

    def shown(self) -> tuple[Any, ...]:
        """Return what the tab shows when it is opened."""
        return *self.state(), *form_values(self.services)

    def clicked(self, event: gr.EventData) -> tuple[str, str, str, gr.Timer]:
        """Do what a button of a card says."""
        data = clicked(event)
        name = data.get("name", "")
        actions: dict[str, Callable[[Changes], Any]] = {
            "download": lambda changes: changes.download(name),
            "stop": lambda changes: changes.files.downloads.stop(name),
            "use": lambda changes: changes.use(name),
            "get": lambda changes: changes.get(name),
            "remove": lambda changes: changes.remove(name),
            "load": lambda changes: changes.language.load(),
            "unload": lambda changes: changes.language.unload(),
            "stop-loading": lambda changes: changes.language.stop_loading(),
        }
        return self.done(actions.get(data.get("action", ""), lambda _: None))

    def done(self, act: Callable[[Changes], Any], said: str = "") -> tuple[str, str, str, gr.Timer]:
        """Act and return the state; an error stands in the message."""
        try:
            act(self.services.models.changes())
        except PdfQAError as error:
            return self.state(error_html(error))
        return self.state(render("models_said", words=said) if said else "")

    def add(self, path: str) -> tuple[Any, ...]:
        """Add a file by its path."""
        try:
            added = self.services.models.changes().files.add(path)
        except PdfQAError as error:
            return *self.state(error_html(error)), gr.skip()
        return *self.state(render("models_said", words=f"Added {added}. Use it from its card.")), ""

    def apply(self, session: Session, *values: Any) -> tuple[Any, ...]:
        """Change the settings of the form, for this page's answers too."""
        try:
            now = self.services.models.changes().change(**read_form(values))
        except PdfQAError as error:
            return *self.state(error_html(error)), session
        llm = now.model_copy(update={"max_tokens": session.settings.llm.max_tokens})
        session = replace(session, settings=session.settings.model_copy(update={"llm": llm}))
        return *self.state(render("models_said", words="Settings are kept for this workspace.")), session

    # ------------------------------------------------------------ a server

    def server_models(self, url: str) -> tuple[Any, str]:
        """List the models of a server."""
        try:
            names = self.services.models.changes().server_models(url)
        except PdfQAError as error:
            return gr.skip(), error_html(error)
        if not names:
            return gr.skip(), render("models_said", words="It lists no models; type the name of one.")
        words = f"It offers {len(names)}: choose one."
        return gr.Dropdown(choices=names, value=names[0]), render("models_said", words=words)

    def try_server(self, url: str, model: str | None) -> Iterator[str]:
        """Ask a server a short question."""
        yield work_html(Progress("waiting for its answer"))
        try:
            yield render("models_said", words=self.services.models.changes().try_server(url, model or ""))
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            yield error_html(error)

    def use_server(self, url: str, model: str | None) -> tuple[Any, ...]:
        """Let a server answer."""
        active, cards, message, timer = self.done(
            lambda changes: changes.use_server(url, model or ""), "Questions go to this server now."
        )
        return active, cards, timer, message

    # ------------------------------------------------------------ speed

    @staticmethod
    def _key(request: gr.Request) -> str:
        return f"speed-{request.session_hash}"

    def speed(self, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Measure the model in use, with progress."""
        message, begun = "", work_html(Progress("beginning", 0, 100))
        try:
            changes = self.services.models.changes()
            with self.services.tasks.start(self._key(request)) as stop:  # first: it can be stopped once that is offered
                yield begun, gr.Button(visible=False), gr.Button(visible=True), gr.skip()
                for event in changes.speed_test(stop):
                    if isinstance(event, Speed):
                        message = render("models_speed", speed=event)
                    else:
                        yield work_html(event), gr.skip(), gr.skip(), gr.skip()
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            message = error_html(error)
        yield message, gr.Button(visible=True), gr.Button(visible=False), cards_html(self.services)

    def stop(self, request: gr.Request) -> None:
        """Stop measuring."""
        self.services.tasks.stop(self._key(request))

    # ------------------------------------------------------------ several models on the same questions

    def here(self) -> Any:
        """Return the choices of the comparison: the models whose files are here."""
        found = [one for one in self.services.models.files.all(self.services.settings.llm) if one.path]
        return gr.Dropdown(choices=[(one.title, one.name) for one in found])

    def compare(self, chosen: list[str] | None, upload: Any, session: Session) -> Iterator[tuple[Any, ...]]:
        """Put a file's questions, or those of the sample, to the models, with progress."""
        yield work_html(Progress("beginning")), gr.Button(visible=False), gr.Button(visible=True)
        said = ""
        try:
            self.services.models.changes()  # raises it where visitors may not
            self.compared.pop(session.owner, None)
            for event in compare_models(
                self.services.evaluation,
                self.services.documents,
                session.owner,
                chosen or [],
                brought(upload),
                session.settings,
                lambda run: self.compared.update({session.owner: run}),
            ):
                if isinstance(event, ModelComparison):
                    said = render("models_compare", found=event)
                else:
                    yield work_html(event), gr.skip(), gr.skip()
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            said = error_html(error)
        yield said, gr.Button(visible=True), gr.Button(visible=False)

    def stop_comparing(self, session: Session) -> None:
        """Stop; what was answered stays in the run, and the same comparison goes on from there."""
        if run := self.compared.get(session.owner):
            self.services.evaluation.stop(run)


def _form(services: Services) -> list[Any]:
    """Build the settings form; its fields in the order of `form_values`."""
    values = dict(zip(NUMBERS, form_values(services), strict=True))
    gpu = find_gpu() is not None
    fields: dict[str, Any] = {}

    def number(name: str) -> None:
        label, info, step = NUMBERS[name]
        fields[name] = gr.Number(
            values[name],
            label=label,
            info=info,
            precision=None if step else 0,
            step=step or 1,
            visible=gpu or name != "gpu_layers",
            elem_id=f"models-{name.replace('_', '-')}",
        )

    with gr.Row():
        number("context_size")
        number("threads")
    with gr.Row():
        number("temperature")
        number("seed")
    with gr.Accordion("More", open=False):
        with gr.Row():
            number("batch_size")
            number("gpu_layers")
        with gr.Row():
            number("top_k")
            number("top_p")
        with gr.Row():
            number("min_p")
            number("repeat_penalty")
    return [fields[name] for name in NUMBERS]


def _file_card() -> tuple[Any, ...]:
    """Build the card that adds a file: its path and the button."""
    with gr.Column(elem_classes=["pq-card"]):
        _heading("A file of this computer")
        with gr.Row():
            path = gr.Textbox(
                label="Path of a .gguf file",
                placeholder="/models/mine.gguf",
                scale=4,
                elem_id="models-path",
            )
            add = gr.Button("Add", scale=1, min_width=96, elem_id="models-add")
    return path, add


def _server_card(llm: LLMSettings) -> tuple[Any, ...]:
    """Build the card of a server: address, model, the buttons that list, test and use, and the message."""
    key = "A key is set for the one below." if api_key(llm.url) else "No key is set for it (PDFQA_LLM_API_KEY)."
    with gr.Column(elem_classes=["pq-card"]):
        _heading("A server", f"Anything that speaks the OpenAI protocol. Questions and passages are sent to it. {key}")
        with gr.Row():
            url = gr.Textbox(
                llm.url, label="Address", placeholder="http://127.0.0.1:8080/v1", scale=3, elem_id="models-url"
            )
            chosen = gr.Dropdown(
                [],
                value=llm.model if llm.url else None,
                label="Model",
                allow_custom_value=True,
                scale=2,
                elem_id="models-server-model",
            )
        with gr.Row():
            listing = gr.Button("List its models", elem_id="models-list")
            trying = gr.Button("Test", elem_id="models-try")
            serving = gr.Button("Use", variant="primary", elem_id="models-serve")
        answer = live_html(elem_id="models-server-message")
    return url, chosen, listing, trying, serving, answer


def _compare_card() -> tuple[Any, ...]:
    """Build the card that compares models: which, the file, the buttons and the table."""
    with gr.Column(elem_classes=["pq-card"]):
        _heading("Compare models on my questions", "Those of the sample, or a file of questions with gold answers.")
        chosen = gr.Dropdown([], multiselect=True, label="Models that are here", elem_id="models-compared")
        with gr.Accordion("My questions", open=False):
            upload = file_field("Questions", "models-questions")
            upload.visible = True
        with gr.Row():
            compare = gr.Button("Compare", elem_id="models-compare")
            stop = gr.Button("Stop", visible=False, elem_id="models-compare-stop", elem_classes=["pq-stop"])
        table = live_html(elem_id="models-comparison")
    return chosen, upload, compare, stop, table


def _heading(words: str, more: str = "") -> None:
    gr.HTML(render("models_heading", words=words, more=more), padding=False, apply_default_css=False)


def build(services: Services, session: gr.State) -> Shown:
    """Build the tab."""
    handlers, own = Handlers(services), not services.models.demo
    switch("models-columns", "In use", "Models")
    with gr.Row(elem_classes=["pq-columns"], elem_id="models-columns"):
        with gr.Column():
            active = live_html(elem_id="models-active")
            message = live_html(elem_id="models-message")
            with gr.Column(visible=own, elem_id="models-settings"):
                fields = _form(services)
                apply = gr.Button("Apply", elem_id="models-apply")
                _heading("Speed")
                measure = gr.Button("Test the speed (about 10 s)", elem_id="models-measure")
                stop = gr.Button("Stop", visible=False, elem_id="models-stop", elem_classes=["pq-stop"])
                speed = live_html(elem_id="models-speed")
        with gr.Column():
            cards = live_html(elem_id="models")
            with gr.Column(visible=own, elem_id="models-more"):
                compared, questions, comparing, halt, table = _compare_card()
                path, add = _file_card()
                url, chosen, listing, trying, serving, answer = _server_card(services.settings.llm)
            encoder_cards = encoders.build(services, session)
    timer = gr.Timer(CALM)
    outputs = [active, cards, message, timer]
    for html in (active, cards):
        html.click(handlers.clicked, None, outputs, **AT_ONCE)
    timer.tick(handlers.tick, None, [active, cards, timer], **AT_ONCE)
    for event in (add.click, path.submit):
        event(handlers.add, path, [*outputs, path], **QUIET)
    apply.click(handlers.apply, [session, *fields], [*outputs, session], **QUIET)
    measure.click(handlers.speed, None, [speed, measure, stop, cards], **QUIET)
    stop.click(handlers.stop, None, None, **AT_ONCE)
    comparing.click(handlers.compare, [compared, questions, session], [table, comparing, halt], **QUIET)
    halt.click(handlers.stop_comparing, session, None, **AT_ONCE)
    listing.click(handlers.server_models, url, [chosen, answer], **QUIET)
    trying.click(handlers.try_server, [url, chosen], answer, **QUIET)
    serving.click(handlers.use_server, [url, chosen], [active, cards, timer, answer], **QUIET)

    def shown(now: Session) -> tuple[Any, ...]:
        return *handlers.shown(), encoders.cards_html(services, now), handlers.here()

    return Shown(shown, [session], [*outputs, *fields, encoder_cards, compared])
