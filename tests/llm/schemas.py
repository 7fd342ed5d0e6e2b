"""Random JSON schemas, and a check of values against them that knows nothing of grammars."""

from __future__ import annotations

import random
from typing import Any

TEXTS = (
    "a", "", 'say "x"', "back\\slash", "ü🎉𝔸", "two\nlines", "tab\t", "[x]", "{y}", "(z)*", "root", "true", "null",
    "enum", "type", "properties", "$ref",
)  # fmt: skip
SIMPLE = ("string", "enum", "const", "integer", "boolean", "null", "number")


def random_schema(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    """Return a schema that a short reply can obey."""
    kind = rng.choice(SIMPLE if depth > 2 else (*SIMPLE, "array", "object", "object", "anyOf"))
    writers = {"string": _string, "enum": _enum, "const": _const, "integer": _integer}
    if kind in writers:
        return writers[kind](rng)
    inside = [random_schema(rng, depth + 1) for _ in range({"array": 1, "anyOf": 2, "object": 3}.get(kind, 0))]
    if kind == "array":
        low = rng.randint(0, 2)
        return {"type": "array", "items": inside[0], "minItems": low, "maxItems": low + rng.randint(0, 3)}
    if kind == "object":
        properties = dict(zip(rng.sample(TEXTS, rng.randint(1, 3)), inside, strict=False))
        required = [name for name in properties if rng.random() < 0.6]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"anyOf": inside} if kind == "anyOf" else {"type": kind}


def _string(rng: random.Random) -> dict[str, Any]:
    low = rng.randint(0, 3)
    return {"type": "string", "minLength": low, "maxLength": low + rng.randint(0, 8)}


def _enum(rng: random.Random) -> dict[str, Any]:
    return {"enum": rng.sample([*TEXTS, 1, -3, 2.5, True, False, None], 3)}


def _const(rng: random.Random) -> dict[str, Any]:
    return {"const": _enum(rng)["enum"][0]}


def _integer(rng: random.Random) -> dict[str, Any]:
    low = rng.choice([0, 1, 7, 100, -5, -2000])
    schema: dict[str, Any] = {"type": "integer"}
    if rng.random() < 0.8:
        schema[rng.choice(["minimum", "exclusiveMinimum"])] = low - rng.choice([0, 0.5])
    if rng.random() < 0.8:
        schema[rng.choice(["maximum", "exclusiveMaximum"])] = low + rng.choice([2, 9, 500, 5000])
    return schema


def obeys(value: Any, schema: dict[str, Any]) -> bool:
    """Whether the value obeys the schema."""
    if "anyOf" in schema:
        return any(obeys(value, part) for part in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        allowed = schema.get("enum", [schema.get("const")])
        return any(type(value) is type(one) and value == one for one in allowed)
    types = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
    kind = schema["type"]
    if kind == "number":
        return type(value) in (int, float)
    return type(value) is types[kind] and CHECKS.get(kind, lambda value, schema: True)(value, schema)


def _object_obeys(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    known = schema["properties"]
    named = value.keys() <= known.keys() and set(schema["required"]) <= value.keys()
    return named and all(obeys(part, known[name]) for name, part in value.items())


def _array_obeys(value: list[Any], schema: dict[str, Any]) -> bool:
    sized = schema["minItems"] <= len(value) <= schema["maxItems"]
    return sized and all(obeys(item, schema["items"]) for item in value)


def _string_obeys(value: str, schema: dict[str, Any]) -> bool:
    return bool(schema["minLength"] <= len(value) <= schema["maxLength"])


def _integer_obeys(value: int, schema: dict[str, Any]) -> bool:
    low, above = schema.get("minimum", value), schema.get("exclusiveMinimum", value - 1)
    high, below = schema.get("maximum", value), schema.get("exclusiveMaximum", value + 1)
    return bool(low <= value <= high and above < value < below)


CHECKS = {"object": _object_obeys, "array": _array_obeys, "string": _string_obeys, "integer": _integer_obeys}
