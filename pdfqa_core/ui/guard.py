"""One guard for all handlers of the page: an error is shown in words, beside what caused it.

Each column of a tab ends in a place for such words, which stays in view. A handler that fails changes nothing else on
the page; the words go when something in the same column is done with success.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any

import gradio as gr
from gradio.blocks import Block
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.text import clean, clean_all
from pdfqa_core.ui.api_access import Access, Told
from pdfqa_core.ui.components import error_html, live_html
from pdfqa_core.whole_files import in_words

# ----------------------------------------------------------------------------------------------------
# Requests that Gradio does not foresee: answered with a sentence, and one line in the log instead of a traceback.

SAID = "This request was not understood."
LONGEST = 300  # characters of a line in the log
_log = logging.getLogger(__name__)


class Unforeseen:
    """Middleware that answers a request which breaks what answers it: with 400, or the end of what was begun.

    Such are the name of an endpoint that there is not, and a stream that nobody has begun.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:  # whatever was sent, it is answered
            if scope["type"] != "http":
                raise
            told = in_words(error)
            if isinstance(told, PdfQAError) and not begun:
                _log.warning("%s", told)
                await PlainTextResponse(f"{told}\n", 507)(scope, receive, send)
                return
            words = " ".join(f"{scope['method']} {scope['path']}: {type(error).__name__}: {error}".split())
            _log.warning("a request was not understood: %s", clean(words)[:LONGEST])
            if begun:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await PlainTextResponse(f"{SAID}\n", 400)(scope, receive, send)


# ----------------------------------------------------------------------------------------------------
# One guard for all handlers of the page: an error is shown in words, beside what caused it.

CHOICES = (str, int, float)
# What Gradio does not check itself. A dropdown may hold several choices, and texts that are none.
KINDS: dict[type, tuple[type, ...]] = {
    gr.Textbox: (str,),
    gr.Checkbox: (bool,),
    gr.Dropdown: CHOICES,
    gr.Radio: CHOICES,
}
LONGEST_WORDS = 300  # characters of an error in the log
BY_ITSELF = {"load", "change", "tick", "then", "success", "failure"}  # events that nobody's hand has caused


class GuardedBlocks(gr.Blocks):
    """A page that answers values which no page of the program sends with one sentence, and a line in the log.

    Gradio refuses them before a handler is called, and would print a traceback for each. `access` tells whom calls of
    other programs act for.
    """

    access: Access

    async def process_api(self, *arguments: Any, **others: Any) -> Any:
        """Answer one request as Gradio does."""
        try:
            return await super().process_api(*arguments, **others)
        except gr.Error as error:
            raise Told(error.message) from None
        except Exception as error:  # noqa: BLE001 - whatever was sent, it is answered
            told = in_words(error)
            if isinstance(told, PdfQAError):
                raise Told(str(told)) from None
            words = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_WORDS]
            _log.warning("a request was not understood: %s", clean(words))
            raise Told("This request was not understood. Load the page again.") from None


def guard(page: gr.Blocks) -> None:
    """Guard all handlers of a page. Called at its end, inside its `with`."""
    places = _places(page)
    origins = {one._id: one for one in page.fns.values()}
    for one in page.fns.values():
        if one.fn is None:
            continue
        first = one
        while first.trigger_after is not None:
            first = origins[first.trigger_after]
        cause = next((page.blocks[block] for block, _ in first.targets if block in page.blocks), None)
        place = _nearest(cause, places) or places[page._id]
        by_hand = one.trigger_after is None and not {event for _, event in one.targets} & BY_ITSELF
        one.api_visibility = "private"
        count = len(one.outputs)
        one.outputs = [*one.outputs, place]
        kinds = [KINDS.get(type(block)) for block in one.inputs]
        one.fn = guarded(one.fn, count, place, "" if by_hand else gr.skip(), kinds)


def _places(page: gr.Blocks) -> Mapping[int, gr.HTML]:
    """Make the places for errors, one for the page and one for each tab and column.

    Returns them by the id of where they stand.
    """
    places = {page._id: _place()}
    for tab in [block for block in page.blocks.values() if isinstance(block, gr.Tab)]:
        columns = [block for block in blocks_in(tab) if "pq-columns" in (block.parent.elem_classes or ())]
        for column in columns or [tab]:
            with column:
                places[column._id] = _place()
        places.setdefault(tab._id, places[(columns or [tab])[0]._id])
    return places


def _place() -> gr.HTML:
    return live_html(classes="pq-problem")


def blocks_in(block: Any) -> Iterator[Any]:
    """Yield the blocks inside of a block, at any depth."""
    for child in getattr(block, "children", ()):
        yield child
        yield from blocks_in(child)


def _nearest(block: Block | None, places: Mapping[int, gr.HTML]) -> gr.HTML | None:
    """Return the place of the column, tab or page around a block."""
    while block is not None:
        if block._id in places:
            return places[block._id]
        block = block.parent
    return None


def _or(results: Iterator[Any], nothing: Any) -> Iterator[Any]:
    """Yield the results, `nothing` where there are none: Gradio empties the outputs of a generator without a value."""
    first = next(results, nothing)
    yield first
    yield from results


def _received(arguments: Sequence[Any], kinds: Sequence[tuple[type, ...] | None]) -> Sequence[Any]:
    """Return what a browser sent with clean texts. Raises UsageError for what no page of the program sends."""
    sent = [one for one in arguments if not isinstance(one, gr.Request | gr.EventData)]  # Gradio puts them in between
    for value, kind in zip(sent, kinds, strict=False):
        parts = value if isinstance(value, list) and kind is CHOICES else [value]
        strange = [one for one in parts if kind is not None and one is not None and not isinstance(one, kind)]
        if strange:
            _log.warning("a request was not understood: %s in place of a text or a choice", type(strange[0]).__name__)
            raise UsageError("This request was not understood.", "Load the page again.")
    found: Sequence[Any] = clean_all(tuple(arguments))
    return found


def guarded(
    handler: Callable[..., Any], count: int, place: gr.HTML, success: Any, kinds: Sequence[tuple[type, ...] | None] = ()
) -> Callable[..., Any]:
    """Return a handler (a function or a generator) that fills one output more, `place`: with an error, or `success`.

    `count` is the number of outputs without that one, `kinds` the types of the inputs that have one. Texts arrive clean
    (see `characters`). An unexpected error is logged once, with its traceback.
    """

    def nothing_but(html: Any) -> Any:
        return [*[gr.skip() for _ in range(count)], html] if count else html

    def told(error: Exception) -> Any:
        return nothing_but(error_html(error))

    def done(result: Any) -> Any:
        if not count:
            return success
        if isinstance(result, Mapping) and any(isinstance(key, Block) for key in result):
            return {**result, place: success}
        if count == 1:
            return [result, success]
        return [*(result if isinstance(result, list | tuple) else [gr.skip()] * count), success]

    if inspect.isgeneratorfunction(handler):

        @wraps(handler)
        def stream(*arguments: Any) -> Iterator[Any]:
            try:
                yield from _or(map(done, handler(*_received(arguments, kinds))), nothing_but(success))
            except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
                yield told(error)

        return stream

    @wraps(handler)
    def call(*arguments: Any) -> Any:
        try:
            return done(handler(*_received(arguments, kinds)))
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            return told(error)

    return call
