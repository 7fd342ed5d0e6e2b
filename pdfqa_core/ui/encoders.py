"""The encoders on the Models tab: what compares meanings, others to fetch and use, those of several languages first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import gradio as gr

from pdfqa_core.errors import PdfQAError
from pdfqa_core.models import Changes
from pdfqa_core.models.files import title_of_encoder
from pdfqa_core.models.trained import EMBEDDING, LATE
from pdfqa_core.services import Services
from pdfqa_core.ui.components import AT_ONCE, clicked, error_html, live_html, render
from pdfqa_core.ui.downloads import BUSY, CALM, download_words
from pdfqa_core.ui.recipe import Place
from pdfqa_core.ui.session import Session

BUNDLED = "all-MiniLM-L6-v2"


def cards_html(services: Services, session: Session) -> str:
    """Return the cards of the bundled encoder, those of the catalogue, and models that were trained here."""
    files = services.models.files.encoders
    trained = files.trained()
    return render(
        "models_encoders",
        files=files.all(),
        trained=trained,
        trained_names=[one.name for one in trained],
        used=session.settings.retrieval.embedding_model,
        bundled=BUNDLED,
        downloads={one.entry.name: files.downloads.get(one.entry.name) for one in files.all()},
        download_words=download_words,
        demo=services.models.demo,
    )


def known_models(services: Services) -> dict[Place, list[tuple[str, str]]]:
    """Return label and name of the models here that a recipe can use, by setting; visitors of a demo choose none."""
    if services.models.demo:
        return {}
    files = services.models.files.encoders
    fetched = [(one.entry.title, one.entry.name) for one in files.all() if one.path]
    trained = [(one.setting, (f"{one.name}, trained here", one.name)) for one in files.trained()]
    found: dict[Place, list[tuple[str, str]]] = {("retrieval", setting): [] for setting in (EMBEDDING, LATE)}
    found["retrieval", EMBEDDING] += fetched
    for setting, one in trained:
        found["retrieval", setting].append(one)
    return found


class Handlers:
    """What the cards do. Each handler returns the cards, and when to look again."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def _timer(self) -> gr.Timer:
        return gr.Timer(BUSY if self.services.models.files.encoders.downloads.under_way() else CALM)

    def tick(self, session: Session) -> tuple[str, gr.Timer]:
        """Show how far downloads are."""
        return cards_html(self.services, session), self._timer()

    def clicked(self, session: Session, event: gr.EventData) -> tuple[str, str, Session, gr.Timer]:
        """Do what a button of a card says."""
        data = clicked(event)
        name = data.get("name", "")
        actions: dict[str, Callable[[Changes], object]] = {
            "download": lambda changes: changes.files.encoders.download(name),
            "stop": lambda changes: changes.files.encoders.downloads.stop(name),
            "use": lambda changes: changes.use_encoder(name),
            "remove": lambda changes: changes.remove_encoder(name, session.settings.retrieval),
        }
        action, message = data.get("action", ""), ""
        try:
            if (act := actions.get(action)) is not None:
                act(self.services.models.changes())
            if action == "use":
                session, message = self._using(session, name)
        except PdfQAError as error:
            message = error_html(error)
        return cards_html(self.services, session), message, session, self._timer()

    def _using(self, session: Session, name: str) -> tuple[Session, str]:
        """Return the session with another encoder, whose index is made in the background, and what to say of it."""
        settings = session.settings.changed("retrieval", embedding_model=name)
        self.services.index.preparation.want(session.owner, settings)
        title = title_of_encoder(name) if name else BUNDLED
        words = f"{title} is used now. The meaning of the documents is read anew in the background; until it is, they "
        return replace(session, settings=settings), render("models_said", words=f"{words}are found by their words.")


def build(services: Services, session: gr.State) -> gr.HTML:
    """Build the cards; whoever opens the tab fills them by `cards_html`."""
    handlers = Handlers(services)
    message = live_html(elem_id="models-encoders-message")
    cards = live_html(elem_id="models-encoders")
    timer = gr.Timer(CALM)
    cards.click(handlers.clicked, session, [cards, message, session, timer], **AT_ONCE)
    timer.tick(handlers.tick, session, [cards, timer], **AT_ONCE)
    return cards
