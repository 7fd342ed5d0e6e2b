"""Functions as named endpoints of Gradio: typed, checked, for the owner of the request, errors as our sentences."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, Literal, get_type_hints

import gradio as gr
from gradio.events import api
from pydantic import TypeAdapter, ValidationError

from pdfqa_core.characters import clean_all
from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.ui.api_access import Access

_AT_ONCE = 8  # calls that are answered at the same time; others wait in the queue
_UNEXPECTED = "Something unexpected happened ({}). It is in the program's log."
_log = logging.getLogger(__name__)


class Told(gr.Error):
    """An error that reaches the caller as the sentence that it is."""

    def __init__(self, message: str) -> None:
        super().__init__(message, print_exception=False)

    def __str__(self) -> str:
        return str(self.message)


def endpoint(
    function: Callable[..., Any], access: Access, *, name: str = "", queue: bool = True,
    visibility: Literal["public", "undocumented"] = "public",
) -> None:  # fmt: skip
    """Offer a function `(owner, …)` or a generator under its name: without `owner`, which is who asks.

    Its docstring describes it, "Args:" its parameters. Called inside the `with` of the page.
    """
    handler = _handler(function, access)
    api(
        handler, api_name=name or function.__name__, queue=queue, api_visibility=visibility,
        concurrency_limit=_AT_ONCE, concurrency_id="api",
    )  # fmt: skip


def _handler(function: Callable[..., Any], access: Access) -> Callable[..., Any]:
    hints = get_type_hints(function)
    signature = inspect.signature(function)
    given = [one for one in signature.parameters.values() if one.name not in ("self", "owner")]
    checks = {one.name: TypeAdapter(hints[one.name]) for one in given}

    def prepared(arguments: tuple[Any, ...]) -> tuple[str, Mapping[str, Any]]:
        *values, request = arguments
        owner = access.owner(request)
        return owner, {name: _checked(name, checks[name], value) for name, value in zip(checks, values, strict=True)}

    if inspect.isgeneratorfunction(function):

        @wraps(function)
        def stream(*arguments: Any) -> Iterator[Any]:
            try:
                owner, values = prepared(arguments)
                yield from function(owner, **values)
            except Exception as error:  # noqa: BLE001 - whatever happens, the caller is told
                raise _told(error, function.__name__) from None

        return _typed(stream, given, hints)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            owner, values = prepared(arguments)
            return function(owner, **values)
        except Exception as error:  # noqa: BLE001 - whatever happens, the caller is told
            raise _told(error, function.__name__) from None

    return _typed(call, given, hints)


def _typed(handler: Callable[..., Any], given: list[inspect.Parameter], hints: Mapping[str, Any]) -> Callable[..., Any]:
    """Give a handler the signature that Gradio reads types from: what is given, and the request at the end."""
    made: Any = handler
    result = hints["return"]
    if inspect.isgeneratorfunction(handler):
        (result,) = result.__args__  # of Iterator[…]: what each step of the stream is
    request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=gr.Request)
    # all are positional; a default before the request, which has none, would not be allowed
    request = request.replace(default=None) if any(one.default is not one.empty for one in given) else request
    typed = [one.replace(annotation=hints[one.name]) for one in given]
    made.__signature__ = inspect.Signature([*typed, request], return_annotation=result)
    made.__annotations__ = {**{one.name: hints[one.name] for one in given}, "request": gr.Request, "return": result}
    del made.__wrapped__
    return handler


def _checked(name: str, check: TypeAdapter[Any], value: Any) -> Any:
    try:
        return clean_all(check.validate_python(value, strict=True))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f", {part}" for part in first["loc"])
        raise UsageError(f"“{name}”{where} is not what is expected: {first['msg']}.", "See the API's types.") from None


def _told(error: Exception, name: str) -> Told:
    if isinstance(error, PdfQAError):
        return Told(str(error))
    _log.error("the endpoint %s failed", name, exc_info=error)
    return Told(_UNEXPECTED.format(type(error).__name__))
