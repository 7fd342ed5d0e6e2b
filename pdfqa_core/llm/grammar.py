"""JSON schema to GBNF, the grammar that llama.cpp's sampler obeys.

llama-cpp-python's converter does most of it. It breaks on quotes and on characters beyond U+FFFF in names and enum
values, and ignores the bounds of integers, so texts go through it as plain placeholders and short ranges as enums.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pdfqa_core.errors import ModelError
from pdfqa_core.llm.native import library

LONGEST_RANGE = 1000  # integers between a minimum and a maximum that are listed one by one

_SCHEMAS = ("items", "additionalProperties", "not")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("$defs", "definitions")


class _Texts:
    """The texts of a schema and their placeholders."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def placeholder(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return self._names.setdefault(value, f"text{len(self._names)}x")

    def restore(self, grammar: str) -> str:
        for text, name in self._names.items():
            inner = json.dumps(text, ensure_ascii=False)[1:-1]
            literal = inner.replace("\\", "\\\\").replace('"', '\\"')
            grammar = grammar.replace(f'\\"{name}\\"', f'\\"{literal}\\"')
        return grammar

    def schema(self, node: Any) -> Any:
        """Return the schema with placeholders for texts and with short ranges of integers as enums."""
        if not isinstance(node, Mapping):
            return node
        if node.get("type") == "integer" and "minimum" in node and "maximum" in node:
            low, high = int(node["minimum"]), int(node["maximum"])
            if 0 <= high - low <= LONGEST_RANGE:
                return {"enum": list(range(low, high + 1))}
        return {key: self._part(key, value) for key, value in node.items()}

    def _part(self, key: str, value: Any) -> Any:
        if key in ("enum", "required"):
            value = [self.placeholder(entry) for entry in value]
        elif key == "const":
            value = self.placeholder(value)
        elif key == "properties":
            value = {self.placeholder(name): self.schema(part) for name, part in value.items()}
        elif key in _NAMED:
            value = {name: self.schema(part) for name, part in value.items()}
        elif key in _SCHEMAS:
            value = self.schema(value)
        elif key in _LISTS:
            value = [self.schema(part) for part in value]
        return value


def grammar_of(schema: Mapping[str, Any]) -> str:
    """Return a JSON schema as a GBNF grammar.

    Raises ModelError if the schema uses what grammars cannot say, or if llama-cpp-python is not installed.
    """
    library()
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    texts = _Texts()
    try:
        return texts.restore(str(json_schema_to_gbnf(json.dumps(texts.schema(schema)))))
    except (ValueError, KeyError, TypeError, AttributeError, NotImplementedError, AssertionError) as error:
        raise ModelError(f"The JSON schema cannot be turned into a grammar: {error}.", "Use a simpler one.") from error
