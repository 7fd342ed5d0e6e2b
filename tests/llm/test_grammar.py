"""JSON schema to grammar. That the embedded model obeys such grammars is tested in test_model.py."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.errors import ModelError
from pdfqa_core.llm.grammar import _ranges, grammar_of


def root(schema):
    return grammar_of(schema).splitlines()[0].removeprefix("root ::= ")


@given(st.integers(-(10**6), 10**6), st.integers(0, 10**6), st.data())
def test_the_digits_of_a_range_match_its_integers_only(low, width, data):
    high = low + width
    patterns = [pattern.replace('"', "").replace(" ", "") for pattern in _ranges(low, high)]
    matcher = re.compile("|".join(patterns))
    near = data.draw(st.integers(low - 20, high + 20))
    for value in (low - 1, low, high, high + 1, near, near * 10, near // 10):
        assert bool(matcher.fullmatch(str(value))) is (low <= value <= high)


def test_bounds_may_be_fractions_and_exclusive():
    assert root({"type": "integer", "minimum": 0.5, "maximum": 3.5}) == "([1-3])"
    assert root({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 3}) == "([1-2])"
    assert root({"type": "integer", "exclusiveMinimum": 0.5, "exclusiveMaximum": 3.5}) == "([1-3])"
    assert root({"type": "integer"}) == "integer"


def test_texts_are_written_as_they_are_and_escaped():
    grammar = grammar_of({"type": "string", "enum": ['say "yes"', "a\\b", "🎉 ü", "two\nlines"]})
    assert r'"\"say \\\"yes\\\"\""' in grammar
    assert r'"\"a\\\\b\""' in grammar
    assert '"\\"🎉 ü\\""' in grammar
    assert r'"\"two\\nlines\""' in grammar


def test_names_of_properties_survive_even_if_they_are_keywords():
    schema = {"type": "object", "properties": {"enum": {"type": "boolean"}}, "required": ["enum"]}
    assert root(schema) == r'"{" ("\"enum\": " part-0) "}"'


def test_what_is_not_required_may_be_left_out_with_its_comma():
    schema = {"properties": {name: {"type": "null"} for name in "abc"}, "required": ["b"]}
    a, b, c = (rf'"\"{name}\": " part-0' for name in "abc")
    assert root(schema) == f'"{{" ({a} ", " {b} (", " {c})? | {b} (", " {c})?) "}}"'
    nothing_required = root({**schema, "required": []})
    assert nothing_required.endswith(')? "}"')
    assert root({"type": "object", "additionalProperties": False}) == '"{}"'


@pytest.mark.parametrize(
    ("low", "high", "body"),
    [
        (0, None, '"[" (part-0 (", " part-0)*)? "]"'), (1, None, '"[" part-0 (", " part-0)* "]"'),
        (0, 1, '"[" (part-0 (", " part-0){0,0})? "]"'), (2, 3, '"[" part-0 (", " part-0){1,2} "]"'), (0, 0, '"[]"'),
    ],
)  # fmt: skip
def test_the_length_of_arrays(low, high, body):
    bounds = {"minItems": low} | ({} if high is None else {"maxItems": high})
    assert root({"type": "array", "items": {"type": "null"}, **bounds}) == body


def test_definitions_and_alternatives_are_followed():
    schema = {"anyOf": [{"$ref": "#/$defs/word"}, {"type": "null"}], "$defs": {"word": {"enum": ["a b"]}}}
    assert r'"\"a b\""' in grammar_of(schema)
    assert root({"type": ["integer", "null"]}) == "(part-0 | part-1)"


def test_a_definition_may_hold_itself():
    tree = {"type": "array", "items": {"$ref": "#/$defs/tree"}}
    grammar = grammar_of({"$ref": "#/$defs/tree", "$defs": {"tree": tree}})
    assert 'definition-0 ::= "[" (part-0' in grammar


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#/$defs/absent"}, "stands nowhere"), ({"$ref": "http://x"}, "stands nowhere"),
        ({"$ref": []}, "stands nowhere"),
        ({"type": "no such type"}, "no type"), ({"type": 7}, "no type"), ({"type": {}}, "no type"),
        ({"minimum": 1}, "without a type"),
        ({"type": "string", "pattern": "^a$"}, "'pattern' is not supported"),
        ({"type": "number", "minimum": 0}, "'minimum' is not supported"),
        ({"anyOf": [{"type": "null"}], "properties": {}}, "'properties' is not supported"),
        ({"type": "array", "uniqueItems": True}, "'uniqueItems' is not supported"),
        ({"type": "integer", "minimum": 2, "maximum": 1}, "no integer is between"),
        ({"type": "integer", "minimum": "2"}, "minimum is no number"),
        ({"type": "string", "minLength": 3, "maxLength": 1}, "impossible"),
        ({"type": "string", "maxLength": 10**6}, "up to 2,000"), ({"type": "array", "minItems": -1}, "up to 2,000"),
        ({"enum": []}, "list of values"), ({"enum": "ab"}, "list of values"), ({"anyOf": {}}, "list of schemas"),
        ({"const": float("nan")}, "no JSON"), ({"const": {1, 2}}, "no JSON"),
        ({"properties": {"a": True}, "required": ["b"]}, "'b' is required"), ({"properties": []}, "not what it should"),
        ({"items": 7}, "no schema"),
    ],
)  # fmt: skip
def test_what_cannot_be_said_is_refused(schema, words):
    with pytest.raises(ModelError, match="cannot be turned into a grammar") as caught:
        grammar_of(schema)
    assert words in caught.value.what
