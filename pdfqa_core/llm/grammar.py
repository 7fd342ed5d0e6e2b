"""JSON schema to GBNF, the grammar that llama.cpp's sampler obeys.

A part of JSON schema (https://json-schema.org/draft/2020-12) in which nothing is ignored: a keyword that is not
listed here is refused, so that a reply never breaks a rule that its caller wrote down. llama-cpp-python's own converter
ignores the bounds of integers and breaks on quotes in names.
The JSON is written in one line, as `json.dumps` does, so that a model cannot get lost in white space.
GBNF: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pdfqa_core.errors import ModelError

LONGEST_REPETITION = 2000  # llama.cpp allows no more
LARGEST = 10**15 - 1  # of integers without a bound; exact in every JSON reader

_ANNOTATIONS = {"title", "description", "default", "examples", "$schema", "$id", "$comment", "$defs", "definitions"}
_KEYWORDS: dict[str, set[str]] = {
    "string": {"minLength", "maxLength"},
    "integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
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
integer ::= "-"? whole
whole ::= "0" | [1-9] [0-9]{0,14}
number ::= integer ("." [0-9]{1,15})? ([eE] [+-]? [0-9]{1,2})?
boolean ::= "true" | "false"
null ::= "null"
value ::= string | number | boolean | null | array | object
array ::= "[" (value (", " value)*)? "]"
object ::= "{" (string ": " value (", " string ": " value)*)? "}"
"""


def grammar_of(schema: Mapping[str, Any]) -> str:
    """Return a JSON schema as a GBNF grammar. Raises ModelError if the schema says what this cannot."""
    writer = _Writer(schema)
    root = writer.rule(schema)
    return "\n".join([f"root ::= {root}", *(f"{name} ::= {body}" for name, body in writer.rules.items())]) + _COMMON


def _refused(what: str) -> ModelError:
    return ModelError(f"The JSON schema cannot be turned into a grammar: {what}.", "Use a simpler one.")


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _dumped(value: Any) -> str:
    try:
        return _literal(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise _refused(f"{value!r} is no JSON") from error


class _Writer:
    """The named rules of one grammar; `rule` returns the right side of another."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.rules: dict[str, str] = {}
        self._schema = schema
        self._targets: dict[str, str] = {}
        self._alone: dict[str, Callable[[Any], str]] = {
            "$ref": self._reference,
            "const": _dumped,
            "enum": self._enum,
            "anyOf": self._any,
            "oneOf": self._any,
        }

    def rule(self, node: Any) -> str:
        """Return what a value that obeys `node` looks like."""
        if node is True or node == {}:
            return "value"
        if not isinstance(node, Mapping):
            raise _refused(f"{node!r} is no schema")
        said = node.keys() - _ANNOTATIONS
        for keyword, write in self._alone.items():
            if keyword in said:
                _only(said, {keyword, "type"})
                return write(node[keyword])
        if isinstance(kinds := node.get("type"), list):
            return self._any([{**node, "type": kind} for kind in kinds])
        return self._typed(node, said) if said else "value"

    def _typed(self, node: Mapping[str, Any], said: set[str]) -> str:
        kind = node.get("type", "object" if "properties" in node else "array" if "items" in node else None)
        if not isinstance(kind, str) or kind not in _KEYWORDS:
            raise _refused(f"{kind!r} is no type" if "type" in node else f"{', '.join(sorted(said))} without a type")
        _only(said, _KEYWORDS[kind] | {"type"})
        if said <= {"type"}:
            return str(kind)
        writers = {"string": self._string, "integer": self._integer, "array": self._array, "object": self._object}
        return writers[kind](node)

    def _reference(self, reference: Any) -> str:
        reference = str(reference)
        if reference in self._targets:
            return self._targets[reference]
        target: Any = self._schema
        for step in reference.split("/")[1:]:
            target = target.get(step) if isinstance(target, Mapping) else None
        if not reference.startswith("#") or target is None:
            raise _refused(f"{reference!r} stands nowhere")
        name = self._targets[reference] = f"definition-{len(self._targets)}"
        self.rules[name] = self.rule(target)
        return name

    def _enum(self, values: Any) -> str:
        if not isinstance(values, Sequence) or isinstance(values, str) or not values:
            raise _refused("enum is no list of values")
        return f"({' | '.join(map(_dumped, values))})"

    def _any(self, nodes: Any) -> str:
        if not isinstance(nodes, Sequence) or isinstance(nodes, str) or not nodes:
            raise _refused("anyOf is no list of schemas")
        return f"({' | '.join(self._named(node) for node in nodes)})"

    def _named(self, node: Any) -> str:
        """Return the name of a rule for `node`, so that the grammar stays readable and shares what is the same."""
        body = self.rule(node)
        for name, known in self.rules.items():
            if known == body:
                return name
        name = f"part-{len(self.rules)}"
        self.rules[name] = body
        return name

    def _string(self, node: Mapping[str, Any]) -> str:
        low, high = _size(node, "minLength"), _size(node, "maxLength")
        return rf'"\"" character{_times(low or 0, high)} "\""'

    def _integer(self, node: Mapping[str, Any]) -> str:
        bounds = {key: _number(node, key) for key in _KEYWORDS["integer"] if key in node}
        low = max(math.ceil(bounds.get("minimum", -LARGEST)), math.floor(bounds.get("exclusiveMinimum", -LARGEST)) + 1)
        high = min(math.floor(bounds.get("maximum", LARGEST)), math.ceil(bounds.get("exclusiveMaximum", LARGEST)) - 1)
        if low > high:
            raise _refused(f"no integer is between {low} and {high}")
        return f"({' | '.join(_ranges(low, high))})"

    def _array(self, node: Mapping[str, Any]) -> str:
        item = self._named(node.get("items", {}))
        low, high = _size(node, "minItems") or 0, _size(node, "maxItems")
        if high == 0:
            return '"[]"'
        more = f'(", " {item}){_times(max(low - 1, 0), None if high is None else high - 1)}'
        return f'"[" {item} {more} "]"' if low else f'"[" ({item} {more})? "]"'

    def _object(self, node: Mapping[str, Any]) -> str:
        properties, required = node.get("properties", {}), node.get("required", [])
        if not isinstance(properties, Mapping) or not isinstance(required, Sequence) or isinstance(required, str):
            raise _refused("properties or required is not what it should be")
        if unknown := [name for name in required if name not in list(properties)]:
            raise _refused(f"{unknown[0]!r} is required but not described")
        if not properties:
            return self._map(node.get("additionalProperties", True))
        keys = [_literal(json.dumps(name, ensure_ascii=False) + ": ") for name in properties]
        pairs = [f"{key} {self._named(part)}" for key, part in zip(keys, properties.values(), strict=True)]
        needed = [name in required for name in properties]
        return '"{" ' + _members(pairs, needed) + ' "}"'

    def _map(self, values: Any) -> str:
        if values is False:
            return '"{}"'
        pair = f'string ": " {self._named(values)}'
        return f'"{{" ({pair} (", " {pair})*)? "}}"'


def _only(said: set[str], known: set[str]) -> None:
    if unknown := sorted(said - known):
        raise _refused(f"{unknown[0]!r} is not supported here")


def _number(node: Mapping[str, Any], keyword: str) -> float:
    value = node[keyword]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _refused(f"{keyword} is no number")
    return value


def _size(node: Mapping[str, Any], keyword: str) -> int | None:
    if keyword not in node:
        return None
    value = _number(node, keyword)
    if value != int(value) or not 0 <= value <= LONGEST_REPETITION:
        raise _refused(f"{keyword} is no whole number up to {LONGEST_REPETITION:,}")
    return int(value)


def _times(low: int, high: int | None) -> str:
    if high is not None and low > high:
        raise _refused(f"at least {low} and at most {high} is impossible")
    return "*" if not low and high is None else f"{{{low},{'' if high is None else high}}}"


def _members(pairs: Sequence[str], needed: Sequence[bool]) -> str:
    """Return the members of an object in their order: any of those that are not needed may be left out."""
    later = [f'", " {pair}' if need else f'(", " {pair})?' for pair, need in zip(pairs, needed, strict=True)]
    starts = []
    for place, pair in enumerate(pairs):
        starts.append(" ".join([pair, *later[place + 1 :]]))
        if needed[place]:
            return f"({' | '.join(starts)})"
    return f"({' | '.join(starts)})?"


def _ranges(low: int, high: int) -> Iterator[str]:
    """Yield patterns of digits that together match the integers from `low` to `high`."""
    if low < 0:
        yield from (f'"-" {pattern}' for pattern in _ranges(max(1, -high), -low))
        low = 0
    while low <= high:
        end = _end_of_block(low, high)
        yield _block(str(low), str(end))
        low = end + 1


def _end_of_block(low: int, high: int) -> int:
    """Return the last number of a stretch from `low`, at most to `high`, in which one digit and those after it vary."""
    unit = 1
    while low and low % (unit * 10) == 0 and low + unit * 10 - 1 <= high:
        unit *= 10
    steps = min(10 - low // unit % 10, (high + 1 - low) // unit)
    return low + steps * unit - 1


def _block(low: str, high: str) -> str:
    digits = [f'"{a}"' if a == b else f"[{a}-{b}]" for a, b in zip(low, high, strict=True)]
    return " ".join(digits)
