"""JSON schema to GBNF, the grammar that llama.cpp's sampler obeys.

The part of JSON schema (https://json-schema.org/draft/2020-12) that replies need: texts, numbers, lists of a bounded
length, values to choose from, and objects with all of their properties. Nothing is ignored: any other keyword is
refused, so that a reply never breaks a rule that its caller wrote down. llama-cpp-python's own converter ignores rules
that it does not know and breaks on quotation marks in values.
The JSON is written in one line, as `json.dumps` does, so that a model cannot get lost in white space.
GBNF: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pdfqa_core.errors import ModelError

LONGEST_REPETITION = 2000  # llama.cpp allows no more

_ANNOTATIONS = {"title", "description", "default", "examples", "$schema", "$id", "$comment"}
_KEYWORDS: dict[str, set[str]] = {
    "string": set(),
    "integer": set(),
    "number": set(),
    "boolean": set(),
    "null": set(),
    "array": {"items", "minItems", "maxItems"},
    "object": {"properties", "required", "additionalProperties"},
}

# A lone half of a surrogate pair ("\ud83d") would be a text that cannot be written to a file.
_COMMON = r"""
character ::= [^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" code)
code ::= [0-9a-cefA-CEF] hex hex hex | [dD] [0-7] hex hex
hex ::= [0-9a-fA-F]
string ::= "\"" character* "\""
integer ::= "-"? ("0" | [1-9] [0-9]{0,14})
number ::= integer ("." [0-9]{1,15})? ([eE] [+-]? [0-9]{1,2})?
boolean ::= "true" | "false"
null ::= "null"
"""


def grammar_of(schema: Mapping[str, Any]) -> str:
    """Return a JSON schema as a GBNF grammar. Raises ModelError if the schema says what this cannot."""
    return f"root ::= {_rule(schema)}{_COMMON}"


def _refused(what: str) -> ModelError:
    return ModelError(f"The JSON schema cannot be turned into a grammar: {what}.", "Use a simpler one.")


def _rule(node: Any) -> str:
    """Return what a value that obeys `node` looks like."""
    if not isinstance(node, Mapping):
        raise _refused(f"{node!r} is no schema")
    said, kind = node.keys() - _ANNOTATIONS, node.get("type")
    if "enum" in said:
        _only(said, {"enum", "type"})
        return _enum(node["enum"])
    if not isinstance(kind, str) or kind not in _KEYWORDS:
        raise _refused(f"{kind!r} is no type")
    _only(said, _KEYWORDS[kind] | {"type"})
    if kind == "array":
        return _array(node)
    return _object(node) if kind == "object" else kind


def _only(said: set[str], known: set[str]) -> None:
    if unknown := sorted(said - known):
        raise _refused(f"{unknown[0]!r} is not supported here")


def _enum(values: Any) -> str:
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise _refused("enum is no list of values")
    return f"({' | '.join(map(_literal, values))})"


def _literal(value: Any, after: str = "") -> str:
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False) + after
    except (TypeError, ValueError) as error:
        raise _refused(f"{value!r} is no JSON") from error
    escaped = written.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _array(node: Mapping[str, Any]) -> str:
    item, low, high = _rule(node.get("items")), node.get("minItems", 0), node.get("maxItems")
    for size in (low, low if high is None else high):
        if type(size) is not int or not 0 <= size <= LONGEST_REPETITION:
            raise _refused(f"{size!r} is no whole number up to {LONGEST_REPETITION:,}")
    if high == 0 == low:
        return '"[]"'
    if high is not None and low > high:
        raise _refused(f"at least {low} and at most {high} is impossible")
    more = f'(", " {item}){{{max(low - 1, 0)},{"" if high is None else high - 1}}}'
    return f'"[" {item} {more} "]"' if low else f'"[" ({item} {more})? "]"'


def _object(node: Mapping[str, Any]) -> str:
    properties, required = node.get("properties"), node.get("required")
    if not isinstance(properties, Mapping) or not properties or not isinstance(required, Sequence):
        raise _refused("an object needs its properties, all of them required")
    if sorted(map(str, required)) != sorted(properties):
        raise _refused(f"of {', '.join(properties)} all have to be required, and nothing else")
    pairs = [f"{_literal(name, ': ')} {_rule(part)}" for name, part in properties.items()]
    return '"{" ' + ' ", " '.join(pairs) + ' "}"'
