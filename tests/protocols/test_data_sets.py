"""Data sets in the forms that they are published in, and files that another command takes."""

import json

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold import GoldPlace, read_gold
from pdfqa_core.protocols.retrieval import resolve

SQUAD = {
    "data": [{"title": "Storks", "paragraphs": [{"context": "Storks eat frogs. They nest on roofs.", "qas": [
        {"id": "a", "question": "What do storks eat?", "answers": [{"text": "frogs"}, {"text": "frogs"}]},
        {"id": "b", "question": "Who owns them?", "answers": [], "is_impossible": True},
    ]}]}]
}  # fmt: skip
QUAC = {
    "data": [{"title": "Storks", "section_title": "Life", "paragraphs": [{
        "id": "d", "context": "Storks eat frogs. CANNOTANSWER", "qas": [
            {"id": "d1", "question": "What do they eat?", "followup": "y", "yesno": "x",
             "answers": [{"text": "frogs"}]},
            {"id": "d2", "question": "Do they fly?", "followup": "n", "yesno": "y",
             "answers": [{"text": "CANNOTANSWER"}]},
        ]}]}]
}  # fmt: skip
COQA = {
    "data": [{"id": "s", "story": "Anna has a red hat.", "questions": [{"input_text": "Who?"}, {"input_text": "What?"}],
              "answers": [{"input_text": "Anna"}, {"input_text": "unknown"}],
              "additional_answers": {"0": [{"input_text": "She"}, {"input_text": "unknown"}]}}]
}  # fmt: skip
HOTPOT = [{"_id": "h", "question": "Who?", "answer": "Ann", "type": "bridge", "supporting_facts": [["T", 1], ["U", 0]],
           "context": [["T", ["One. ", "Two."]], ["U", ["Three."]], ["V", ["Four."]]]}]  # fmt: skip
CLAPNQ = [{"id": "c", "input": "why?", "passages": [{"title": "T", "text": "Because."}], "output": [{"answer": ""}]}]
MTRAG = [{
    "task_id": "t<::>2", "conversation_id": "t", "answerability": ["UNANSWERABLE"], "Question Type": ["Factoid"],
    "input": [{"speaker": "user", "text": "One?"}, {"speaker": "agent", "text": "Yes."},
              {"speaker": "agent", "text": "Sure."},
              {"speaker": "user", "text": "Two?"}],
    "contexts": [{"document_id": "d", "text": "A text."}], "targets": [{"text": "I do not know."}],
}]  # fmt: skip
CAST = [{"number": 1, "turn": [
    {"number": 1, "raw_utterance": "What is it?", "passage": "A bird.", "canonical_result_id": "D1", "passage_id": 4},
    {"number": 2, "raw_utterance": "Where?", "passage": ""},
]}]  # fmt: skip
ASQA = [{"sample_id": "s", "ambiguous_question": "Who?",
         "qa_pairs": [{"question": "Who, now?", "short_answers": ["Ann"]}],
         "annotations": [{"long_answer": "It was Ann."}]}]  # fmt: skip


@pytest.fixture
def read(tmp_path):
    def go(value, name="data.json"):
        path = tmp_path / name
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return read_gold(path)

    return go


def test_squad_2_with_its_paragraphs_and_what_they_do_not_answer(read):
    file = read(SQUAD)
    first, second = file.questions
    assert (first.references, first.places) == (("frogs",), (GoldPlace("Storks, paragraph 1"),))
    assert (second.answerable, second.references, second.places) == (False, (), ())
    assert [passage.text for passage in file.corpus] == ["Storks eat frogs. They nest on roofs."]
    assert first.contexts == file.corpus


def test_quac_and_coqa_are_conversations(read):
    first, second = read(QUAC).questions
    assert (first.follow_up_of, second.follow_up_of, second.answerable, second.kind) == ("", "d1", False, "yes or no")
    assert first.contexts[0].text == "Storks eat frogs."
    file = read(COQA)
    first, second = file.questions
    assert (first.references, second.references, second.answerable) == (("Anna", "She"), (), False)
    assert second.follow_up_of == first.id == "s.1"
    items = resolve(file, (), lambda *_: None).items
    assert items[1].history == (("Who?", "Anna"),)
    assert items[1].conversation == "s.1"


def test_hotpotqa_brings_its_paragraphs(read):
    (row,) = read(HOTPOT).questions
    assert [context.id for context in row.contexts] == ["T", "U", "V"]
    assert row.contexts[0].text == "One. Two."
    assert (row.places, row.kind) == ((GoldPlace("T"), GoldPlace("U")), "bridge")


def test_clapnq_mtrag_cast_and_asqa(read):
    (row,) = read(CLAPNQ).questions
    assert (row.question, row.answerable, row.contexts[0].text) == ("why?", False, "Because.")
    (row,) = read(MTRAG).questions
    assert (row.history, row.question, row.answerable) == ((("One?", "Yes. Sure."),), "Two?", False)
    assert (row.kind, row.conversation) == ("Factoid", "t")
    first, second = read(CAST).questions
    assert (first.places, first.references) == ((GoldPlace("D1-4"),), ("A bird.",))
    assert (second.follow_up_of, second.contexts) == ("1_1", ())
    (row,) = read(ASQA).questions
    assert (row.question, row.references) == ("Who?", ("It was Ann.",))


def test_a_recorded_answer_stands_beside_the_gold_one(read):
    row = {
        "question": "Which?", "truth": "A [a.pdf#page=2]", "answer": "B [a.pdf#page=3]", "human": "No",
        "context": ["One.", "Two."], "type": "fact",
    }  # fmt: skip
    (found,) = read(json.dumps(row), "rows.jsonl").questions
    assert (found.references, found.recorded, found.human) == (("A",), "B", False)
    assert found.places == (GoldPlace("a.pdf", 2),)
    assert [context.text for context in found.contexts] == ["One.", "Two."]
    assert found.kind == "fact"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"data": [{"paragraphs": [{"context": "x", "qas": [{"id": "1"}]}]}]}, "row 1: question is missing"),
        ({"data": [{"paragraphs": [{"context": 3, "qas": []}]}]}, "row 1: context is int, no text"),
        ({"data": [{"id": "s", "story": ""}]}, "row 1: story is empty"),
        ([{**HOTPOT[0], "context": [["T"]]}], "row 1: context is no list of"),
        ([HOTPOT[0], {**HOTPOT[0], "_id": "h"}], "row 2: the id 'h' is used in row 1 already"),
        ([{**CLAPNQ[0], "passages": "x"}], "row 1: passages is no list of objects"),
        ([{**MTRAG[0], "input": MTRAG[0]["input"][:2]}], "row 1: input does not end with a question"),
        ([{"number": 1, "turn": [{"raw_utterance": None}]}], "row 1: raw_utterance is missing"),
        ([{"question": "x", "contexts": [3]}], "row 1: the contexts are no texts"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_row_and_field(read, value, message):
    with pytest.raises(UsageError) as caught:
        read(value)
    assert message in caught.value.what


@pytest.mark.parametrize(
    ("name", "value", "command"),
    [
        ("p.json", {"answer": {"a": "yes"}, "sp": {}}, "pdfqa evaluate hotpotqa --data p.json"),
        ("p.json", [{"answer": "x", "citations": [1]}], "pdfqa evaluate answers --data p.json"),
        ("p.json", {"results": [{"query": "x"}]}, "pdfqa evaluate entailment --data p.json"),
        ("p.json", {"s1": "one", "s2": "two"}, "pdfqa evaluate asqa --data p.json"),
        ("p.json", {"protocol": "answers", "measures": [], "systems": []}, "pdfqa evaluate answers --load p.json"),
        ("r.csv", "item,annotator,criterion,value\n1,A,c,1\n", "pdfqa agreement r.csv"),
    ],
)
def test_a_file_of_another_command_names_that_command(read, name, value, command):
    with pytest.raises(UsageError, match="there is no question; the file holds") as caught:
        read(value, name)
    assert command in caught.value.hint
