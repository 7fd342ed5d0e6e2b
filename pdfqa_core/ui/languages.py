"""What the page says of the languages of documents, and of an encoder that does not know them."""

from __future__ import annotations

from dataclasses import dataclass

from pdfqa_core import languages
from pdfqa_core.models.encoder_files import knows
from pdfqa_core.services import Reading, Services
from pdfqa_core.ui.session import Session


@dataclass(frozen=True, slots=True)
class EncoderHint:
    """What is to be said of the encoder; `offered`: another one can be had on the Models tab."""

    words: str
    offered: bool


def language_words(reading: Reading | None) -> str:
    """Return the language of a reading as it stands in a document's row; "" where it is not known."""
    return languages.title(reading.language) if reading is not None else ""


def encoder_hint(services: Services, session: Session) -> EncoderHint | None:
    """Return what to say where documents are in languages that the recipe's encoder does not know; None for nothing."""
    settings = session.settings
    if not services.indexes.needs_embeddings(settings):
        return None
    found = services.documents.readable(session.owner, settings)
    encoder = settings.retrieval.embedding_model
    foreign = sorted({languages.title(r.language) for _, r in found if not knows(encoder, r.language)})
    if not foreign:
        return None
    named = foreign[0] if len(foreign) == 1 else f"{', '.join(foreign[:-1])} and {foreign[-1]}"
    are, their = ("is", "its") if len(foreign) == 1 else ("are", "their")
    words = f"The encoder knows English only: {named} {are} found by {their} words, hardly by meaning."
    return EncoderHint(words, not services.models.demo)
