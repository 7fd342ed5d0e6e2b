import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.llm.grammar import grammar_of

pytest.importorskip("llama_cpp")


def test_texts_are_written_as_they_are_and_escaped():
    grammar = grammar_of({"type": "string", "enum": ['say "yes"', "a\\b", "🎉 ü", "two\nlines"]})
    assert r'"\"say \\\"yes\\\"\""' in grammar
    assert r'"\"a\\\\b\""' in grammar
    assert '"\\"🎉 ü\\""' in grammar
    assert r'"\"two\\nlines\""' in grammar


def test_names_of_properties_survive_even_if_they_are_keywords():
    schema = {"type": "object", "properties": {"enum": {"type": "boolean"}}, "required": ["enum"]}
    assert r'"\"enum\""' in grammar_of(schema)


def test_a_short_range_of_integers_is_listed():
    grammar = grammar_of({"type": "array", "items": {"type": "integer", "minimum": -1, "maximum": 2}})
    assert '"-1" | "0" | "1" | "2"' in grammar


def test_definitions_and_alternatives_are_followed():
    schema = {"anyOf": [{"$ref": "#/$defs/word"}, {"type": "null"}], "$defs": {"word": {"enum": ["a b"]}}}
    assert r'"\"a b\""' in grammar_of(schema)


@pytest.mark.parametrize("schema", [{"$ref": "#/$defs/absent"}, {"type": "no such type"}])
def test_what_cannot_be_said_is_refused(schema):
    with pytest.raises(ModelError, match="schema"):
        grammar_of(schema)
