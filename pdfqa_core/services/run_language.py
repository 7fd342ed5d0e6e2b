"""The language model of a run: put into use, waited for, guarded while it answers, and the one before put back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Sequence

from pdfqa_core.errors import ModelError, PdfQAError, StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.models import State
from pdfqa_core.models.language import LanguageModel, engine_settings
from pdfqa_core.settings import LLMSettings
from pdfqa_core.types import Progress

MODEL_SECONDS = 600.0  # that a model may take to be loaded
_log = logging.getLogger(__name__)


def use(language: LanguageModel, wanted: LLMSettings, stop: StopSignal) -> Generator[Progress, None, None]:
    """Put the model of a system into use, and wait until it is there. Raises ModelError, StoppedError."""
    wanted = language.named(wanted)
    if language.status.state is State.SWITCHING:  # a run that was paused put the one before it back
        yield from _loaded(language, stop)
    if engine_settings(language.settings) == engine_settings(wanted):
        return
    language.use(wanted)
    try:
        yield from _loaded(language, stop)
    except StoppedError:
        language.stop_loading()
        raise
    if engine_settings(language.settings) != engine_settings(wanted):
        raise ModelError(f"{wanted.model} is not in use.", language.note or language.status.detail)


def same(language: LanguageModel) -> Callable[[], None]:
    """Return what raises ModelError once another model than the one now in use is."""
    used = engine_settings(language.settings)

    def check() -> None:
        if engine_settings(language.settings) != used:
            raise ModelError(
                "Another language model was chosen while the run went on, so that it was ended.",
                "What is done is kept. Go on with the run to load its own model and answer the rest.",
            )

    return check


def put_back(language: LanguageModel, before: LLMSettings, of_run: Sequence[LLMSettings]) -> None:
    """Put the model from before a run into use again, unless somebody chose another one meanwhile."""
    until = time.monotonic() + MODEL_SECONDS
    while language.loading and time.monotonic() < until:  # where a run is stopped, the one before comes back by itself
        time.sleep(0.1)
    used = engine_settings(language.settings)
    if used == engine_settings(before) or used not in [engine_settings(language.named(one)) for one in of_run]:
        return
    try:
        language.use(before)
    except PdfQAError as error:  # its file is gone, or somebody chooses one at this moment
        _log.warning("The language model from before the run is not back in use: %s", error)


def _loaded(language: LanguageModel, stop: StopSignal) -> Generator[Progress, None, None]:
    """Wait until no model is being loaded. Raises StoppedError."""
    until = time.monotonic() + MODEL_SECONDS
    while language.status.state.loading and time.monotonic() < until:
        if stop.is_set():
            raise StoppedError
        yield Progress(language.status.words)
        time.sleep(0.2)
