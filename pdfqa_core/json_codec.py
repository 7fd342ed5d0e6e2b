"""Frozen dataclasses to JSON and back, exactly: `decode(T, encode(value)) == value`.

The types' own annotations say how to read a value back; a field that is absent takes its default, a name that is not
known is passed over, so that data written before a field was added can still be read.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import orjson
from pydantic import TypeAdapter, ValidationError

from pdfqa_core.errors import StorageError, UsageError
from pdfqa_core.text import clean_all
from pdfqa_core.types import Block, BlockKind, Box, Line, Page

# ----------------------------------------------------------------------------------------------------
# A page as bytes and back, exactly: compact JSON, compressed.


def encode_page(page: Page) -> bytes:
    """Return the page as compressed JSON; floats keep every digit."""
    data = [
        page.document_id,
        page.number,
        page.label,
        page.width,
        page.height,
        page.text,
        [[line.start, line.end, *line.box] for line in page.lines],
        [[block.start, block.end, block.kind.value, block.level] for block in page.blocks],
        page.source,
        page.warnings,
        page.confidence,
    ]
    return zlib.compress(json.dumps(data, separators=(",", ":")).encode("ascii"), level=6)


def decode_page(content: bytes) -> Page:
    """Return the page that `encode_page` wrote. Raises StorageError if the content is damaged."""
    try:
        data = json.loads(zlib.decompress(content))
        document_id, number, label, width, height, text, lines, blocks, source, warnings, *later = data
        return Page(
            document_id,
            number,
            label,
            width,
            height,
            text,
            tuple(Line(start, end, Box(*box)) for start, end, *box in lines),
            tuple(Block(start, end, BlockKind(kind), level) for start, end, kind, level in blocks),
            source,
            tuple(warnings),
            *later,  # the confidence, which pages stored by version 0.1 do not have
        )
    except (zlib.error, ValueError, TypeError) as error:
        raise StorageError(f"A stored page is damaged ({error}).", "Add the document again.") from error


# ----------------------------------------------------------------------------------------------------
# Frozen dataclasses to JSON and back, exactly: `decode(T, encode(value)) == value`.

T = TypeVar("T")
_UNCLEAN = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
_LONGEST_WHOLE = 2**63  # numbers below it fit into 64 bits, as databases and other programs have them
_TOKENS = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*+:)?|-?\d[\d.eE+-]*')


def plain(value: Any) -> Any:
    """Return `value` as JSON's own types: objects, lists, strings, numbers, booleans and null.

    Dates become ISO 8601, enumerations their values, NumPy numbers Python numbers. Raises UsageError for anything
    else.
    """
    return json.loads(encode(value))


def encode(value: Any) -> str:
    """Return `value` as one line of ASCII JSON (other characters are escaped, lone surrogates too)."""
    return json.dumps(value, separators=(",", ":"), default=_outer)


def encode_utf8(value: Any) -> bytes:
    """Return `value` as one line of JSON in UTF-8, in a fraction of `encode`'s time.

    A number that is none becomes null. What UTF-8 cannot hold (lone surrogates) is escaped, by `encode`.
    """
    try:
        return orjson.dumps(value, default=_outer, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return encode(value).encode()


def _outer(value: Any) -> Any:
    """Return what JSON does not know as what it does, without what is inside, which the encoder asks for next."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return list(value)
    raise UsageError(f"A value of type {type(value).__name__} cannot be written as JSON.")


def readable(text: str) -> str:
    """Return JSON that `encode` wrote with the texts in it clean: what earlier versions stored may not be."""
    return json.dumps(clean_all(json.loads(text))) if _UNCLEAN.search(text) else text


def decode(kind: type[T], text: str | bytes) -> T:
    """Return the value of type `kind` that `encode` wrote. Raises UsageError if the text does not hold one."""
    name = getattr(kind, "__name__", kind)
    try:
        return cast(T, restore(kind, json.loads(text)))
    except ValidationError as error:
        raise UsageError(f"This is not a valid {name}: {_said(error)}.") from error
    except ValueError as error:
        raise UsageError(f"This is not a valid {name}: {error}.") from error


def restore(hint: Any, data: Any) -> Any:
    """Return `data` (as `plain` makes it) as the type that `hint` names. Raises ValueError where it is none."""
    return _adapter(hint).validate_python(data)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def parse_json(data: bytes, name: str, line: int = 0, *, unique: bool = False, first: bool = False) -> Any:
    """Return what stands in a file of that name, or in one of its lines, as JSON's own types.

    NUL and lone surrogates are replaced. `unique` refuses an object that has a name twice, `first` takes the value that
    the text begins with. Raises UsageError that names file and line: not UTF-8, no JSON, NaN, a number that does not
    fit into 64 bits, nested too deeply.
    """
    where = f"{name}, line {line}" if line else name

    def refuse(constant: str) -> Any:
        raise UsageError(f"{where}: {constant} is no value.", "Write null or a number.")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise UsageError(f"{where}: {twice!r} is there twice.", "Keep one of them.")
        return found

    try:
        text = data.decode("utf-8-sig")
        decoder = json.JSONDecoder(
            parse_constant=refuse, parse_int=_whole, parse_float=_real, object_pairs_hook=once if unique else None
        )
        found = decoder.raw_decode(text.lstrip())[0] if first else decoder.decode(text)
        return clean_all(found) if _UNCLEAN.search(text) else found
    except _TooLargeError as error:
        number = str(error)
        field, row = _place_of(number, text)
        shown = number if len(number) < 30 else f"{number[:20]}… ({len(number):,} digits)"
        raise UsageError(
            f"{name}, line {line or row}: {field} is too large a number: {shown}.", "Correct it, or put it in quotes."
        ) from error
    except UnicodeDecodeError as error:
        line = line or data[: error.start].count(b"\n") + 1
        raise UsageError(f"{name}, line {line}: not UTF-8.", "Save the file as UTF-8.") from error
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}, line {line or error.lineno}: no valid JSON ({error.msg}).", "Correct it.") from error
    except RecursionError as error:
        raise UsageError(f"{name} is nested too deeply.", "Write plain lists and objects.") from error


class _TooLargeError(Exception):
    """A number that does not fit into 64 bits; its text is the message."""


def _whole(digits: str) -> int:
    if len(digits) < 19:
        return int(digits)
    if len(digits) > 20 or abs(int(digits)) >= _LONGEST_WHOLE:
        raise _TooLargeError(digits)
    return int(digits)


def _real(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _TooLargeError(digits)
    return number


def _place_of(number: str, text: str) -> tuple[str, int]:
    """Return the name of the field that holds a number, as far as there is one, and its line."""
    field = "a value"
    for token in _TOKENS.finditer(text):
        if token[0] == number:
            return field, text.count("\n", 0, token.start()) + 1
        if token[2]:
            field = repr(token[1][:100])
    return field, 1


_WORDS = (  # what the beginning of a pydantic error's name means
    ("missing", "is missing"), ("string", "is no text"), ("int", "is no whole number"), ("float", "is no number"),
    ("bool", "is neither true nor false"), ("datetime", "is no time"), ("enum", "is none of the values it can have"),
    ("tuple", "is no list"), ("list", "is no list"), ("dict", "is no object"), ("mapping", "is no object"),
    ("dataclass", "is no object"), ("too_", "has another length"), ("timezone", "has no time zone"),
)  # fmt: skip


def checked(kind: type[T], data: Any, name: str, hint: str) -> T:
    """Return what `parse_json` read in a file of that name as a value of a dataclass, every field of the right type.

    Absent fields take their defaults, others are passed over. Raises UsageError that names the file and the field.
    """
    try:
        return cast(T, _adapter(cast(Any, kind)).validate_json(encode_utf8(data), strict=True))
    except ValidationError as error:
        raise UsageError(f"{name} is not complete: {_said(error)}.", hint) from error


def _said(error: ValidationError) -> str:
    """Return which field is wrong, and what is wrong with it."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ", ".join(str(one) if isinstance(one, str) else f"number {one + 1}" for one in first["loc"])
    said = next((words for begins, words in _WORDS if first["type"].startswith(begins)), first["msg"].lower())
    null = " (null)" if first["input"] is None and first["type"] != "missing" else ""
    return f"{place or 'it'} {said}{null}"
