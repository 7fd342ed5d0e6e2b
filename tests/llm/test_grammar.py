"""JSON schema to grammar. That the embedded model obeys such grammars is tested in test_model.py."""

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.llm.grammar import grammar_of


def root(schema):
    return grammar_of(schema).splitlines()[0].removeprefix("root ::= ")


def test_texts_are_written_as_they_are_and_escaped():
    grammar = grammar_of({"type": "string", "enum": ['say "yes"', "a\\b", "🎉 ü", "two\nlines", 5, None]})
    assert r'"\"say \\\"yes\\\"\""' in grammar
    assert r'"\"a\\\\b\""' in grammar
    assert '"\\"🎉 ü\\""' in grammar
    assert r'"\"two\\nlines\"" | "5" | "null"' in grammar


def test_names_of_properties_survive_even_if_they_are_keywords():
    schema = {"type": "object", "properties": {"enum": {"type": "boolean"}, 'a "b"': {"type": "integer"}}}
    assert root({**schema, "required": ['a "b"', "enum"], "additionalProperties": False}) == (
        r'"{" "\"enum\": " boolean ", " "\"a \\\"b\\\"\": " integer "}"'
    )


@pytest.mark.parametrize(
    ("low", "high", "body"),
    [
        (0, None, '"[" (null (", " null){0,})? "]"'), (1, None, '"[" null (", " null){0,} "]"'),
        (0, 1, '"[" (null (", " null){0,0})? "]"'), (2, 3, '"[" null (", " null){1,2} "]"'), (0, 0, '"[]"'),
    ],
)  # fmt: skip
def test_the_length_of_arrays(low, high, body):
    bounds = {"minItems": low} | ({} if high is None else {"maxItems": high})
    assert root({"type": "array", "items": {"type": "null"}, **bounds}) == body


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "no such type"}, "no type"), ({"type": 7}, "no type"), ({"type": {}}, "no type"), ({}, "no type"),
        ({"$ref": "#/$defs/word"}, "no type"), ({"type": ["integer", "null"]}, "no type"),
        ({"type": "string", "pattern": "^a$"}, "'pattern' is not supported"),
        ({"type": "string", "maxLength": 3}, "'maxLength' is not supported"),
        ({"type": "number", "minimum": 0}, "'minimum' is not supported"),
        ({"enum": ["a"], "properties": {}}, "'properties' is not supported"),
        ({"type": "array", "items": {"type": "null"}, "uniqueItems": True}, "'uniqueItems' is not supported"),
        ({"type": "array", "items": {"type": "null"}, "minItems": 3, "maxItems": 1}, "impossible"),
        ({"type": "array", "items": {"type": "null"}, "maxItems": 10**6}, "up to 2,000"),
        ({"type": "array", "items": {"type": "null"}, "minItems": True}, "up to 2,000"),
        ({"type": "array", "items": 7}, "no schema"), ({"type": "array"}, "no schema"),
        ({"enum": []}, "list of values"), ({"enum": "ab"}, "list of values"),
        ({"enum": [float("nan")]}, "no JSON"), ({"enum": [{1, 2}]}, "no JSON"),
        ({"type": "object"}, "needs its properties"), ({"type": "object", "properties": [], "required": []}, "needs"),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": []}, "of a all have to be required"),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a", "b"]}, "of a all have"),
    ],
)  # fmt: skip
def test_what_cannot_be_said_is_refused(schema, words):
    with pytest.raises(ModelError, match="cannot be turned into a grammar") as caught:
        grammar_of(schema)
    assert words in caught.value.what
