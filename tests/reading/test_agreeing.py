"""The second look at an answer's sentences, with a model that says what a test wants it to say."""

import math
import threading
from dataclasses import dataclass, field

import pytest

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.llm.current import CurrentLLM
from pdfqa_core.reading import GenerativeReader
from pdfqa_core.reading.agreeing import BELIEVED, DOUBTED, MOST, WORDS, agreed, says_so
from pdfqa_core.reading.checking import Checker
from pdfqa_core.streaming import result_of
from pdfqa_core.types import Hit, Passage, Progress, Span, Support
from tests.conftest import FakeLLM
from tests.reading.helpers import read

WORKS = "The heat pump uses 68 kg of ammonia. The works were built in 2019 by the town of Kestrel Bay."
COPY = "The heat pump uses 68 kg of ammonia."
FREE = "The refrigerant in the machine is ammonia, of which it needs 68 kg."


@dataclass
class Model:
    """Says yes with the log-odds that `odds` has for a statement."""

    odds: dict[str, float] = field(default_factory=dict)
    adapted: bool = True
    error: Exception | None = None
    prompts: list[str] = field(default_factory=list)

    def choose_adapted(self, messages, choices, *, stop=None):
        self.prompts.append(messages[0].content)
        if self.error is not None:
            raise self.error
        (odds,) = [value for statement, value in self.odds.items() if f"Statement: {statement}\n" in self.prompts[-1]]
        yes = 1 / (1 + math.exp(-odds))
        return {choices[0]: yes, choices[1]: 1 - yes}


def hit(text, rank=1, language="english"):
    return Hit(Passage(f"p{rank}", (Span("d", rank, 0, len(text)),), text, language=language), 1.0 / rank, rank, "")


def looked(model, text, hits, question="", stop=None):
    checked = result_of(Checker().check(text, hits, question=question))
    return checked, result_of(agreed(model, text, checked, hits, stop=stop))


def supports(checked):
    return [one.support for one in checked.sentences]


def test_a_tick_that_the_model_doubts_is_taken_away_with_its_citations():
    rules, both = looked(Model({COPY: DOUBTED - 0.1}), COPY, [hit(WORKS)])
    assert supports(rules) == [Support.SUPPORTED]
    assert [citation.verified for citation in rules.citations] == [True]
    assert supports(both) == [Support.PARTLY]
    assert [citation.verified for citation in both.citations] == [False]


def test_a_sentence_in_other_words_gets_one_where_the_model_believes_it():
    rules, both = looked(Model({FREE: BELIEVED + 0.1}), FREE, [hit(WORKS)])
    assert supports(rules) == [Support.PARTLY]
    assert supports(both) == [Support.SUPPORTED]
    assert both.citations[0].verified


@pytest.mark.parametrize("odds", [DOUBTED + 0.1, 0.0, BELIEVED - 0.1])
def test_between_the_two_the_rules_decide(odds):
    model = Model({COPY: odds, FREE: odds})
    for text in (COPY, FREE):
        rules, both = looked(model, text, [hit(WORKS)])
        assert both == rules


def test_a_number_that_no_passage_has_gets_no_tick_from_the_model():
    text = "The heat pump of the works uses 70 kg of ammonia."
    rules, both = looked(Model({text: 9.0}), text, [hit(WORKS)])
    assert rules.sentences[0].numbers
    assert both == rules


@pytest.mark.parametrize(
    "text", ["Yes, the heat pump uses 68 kg of ammonia.", "84.", "Nobody knows what bells the church will ring."]
)
def test_yes_and_no_short_sentences_and_what_no_passage_says_are_not_asked_about(text):
    model = Model()
    rules, both = looked(model, text, [hit(WORKS)], "How much ammonia is in the heat pump?")
    assert both == rules
    assert model.prompts == []


def test_pages_in_other_languages_are_not_asked_about():
    text = "Die Wärmepumpe verwendet 68 kg Ammoniak."
    model = Model()
    rules, both = looked(model, text, [hit(text + " Sie steht im Werk.", language="german")])
    assert supports(rules) == [Support.SUPPORTED]
    assert both == rules
    assert model.prompts == []


@pytest.mark.parametrize("llm", [object(), Model(adapted=False), Model(error=ModelError("no file", "restore it"))])
def test_without_an_adapter_the_rules_alone_decide(llm):
    rules, both = looked(llm, COPY, [hit(WORKS)])
    assert both == rules


def test_what_is_not_asked_about_any_more_after_a_stop_loses_its_tick():
    stop = threading.Event()
    rules, both = looked(Model(error=StoppedError()), f"{COPY} {COPY}", [hit(WORKS)], stop=stop)
    assert supports(rules) == [Support.SUPPORTED] * 2
    assert supports(both) == [Support.PARTLY] * 2


def test_so_many_sentences_are_asked_about_and_no_more():
    model = Model({COPY: 3.0})
    looked(model, " ".join([COPY] * (MOST + 3)), [hit(WORKS)])
    assert len(model.prompts) == MOST


def test_it_is_shown_the_cited_passages_a_long_one_around_the_quote():
    long = " ".join(f"Filler number {n} says nothing that matters here." for n in range(WORDS))
    text = f"{long} {WORKS} {long}"
    model = Model({COPY: 3.0})
    looked(model, COPY, [hit("The fish are counted every spring by two people.", 1), hit(text, 2)])
    (prompt,) = model.prompts
    assert COPY in prompt.split("Statement:")[0]
    assert "fish" not in prompt
    assert len(prompt.split()) < 2 * WORDS
    assert prompt.startswith('Passage 1:\n"""\n')


def test_marks_of_a_prompt_inside_a_passage_or_a_statement_do_not_end_it():
    model = Model({'a " b': 0.0})
    says_so(model, 'a """ b', ['x """ y <|im_end|> z'])
    assert model.prompts[0].count('"""') == 2
    assert "<|im_end|>" not in model.prompts[0]


class Adapted(FakeLLM):
    """A model that writes what a test enqueues, and whose adapter gives every sentence these log-odds."""

    adapted = True

    def __init__(self, odds):
        super().__init__()
        self.odds = odds
        self.asked = 0

    def choose_adapted(self, messages, choices, *, stop=None):
        self.asked += 1
        yes = 1 / (1 + math.exp(-self.odds))
        return {choices[0]: yes, choices[1]: 1 - yes}


@pytest.mark.parametrize(
    ("odds", "support"), [(DOUBTED - 1, Support.PARTLY), (0.0, Support.SUPPORTED), (BELIEVED + 1, Support.SUPPORTED)]
)
def test_the_generative_reader_takes_the_second_look_after_it_has_written(odds, support):
    llm = Adapted(odds)
    llm.enqueue([COPY])
    _, answer, events = read(GenerativeReader(CurrentLLM(llm)), "Which refrigerant is used?", [hit(WORKS)])
    assert answer.text == COPY
    assert [one.support for one in answer.sentences] == [support]
    assert [citation.verified for citation in answer.citations] == [support is Support.SUPPORTED]
    assert [e.phase for e in events if isinstance(e, Progress)][-1] == "comparing with the passages"
    assert llm.asked == 1


def test_an_answer_that_is_put_aside_is_not_looked_at():
    llm = Adapted(9.0)
    llm.enqueue(["Nobody knows what bells the church will ring.", "Ask the vicar about all of the bells."])
    _, answer, _ = read(GenerativeReader(llm), "Which refrigerant is used?", [hit(WORKS)])
    assert answer.refused
    assert llm.asked == 0


def test_a_row_of_a_table_is_left_to_the_rules():
    table = "| Region | 2022 | 2023 |\n| --- | --- | --- |\n| Japan | 25,977 | 24,257 |\n| Europe | 95,118 | 94,294 |"
    model = Model()
    rules, both = looked(model, "Net sales of Japan were 24,257 in 2023.", [hit(table)])
    assert rules.citations[0].quote.startswith("|")
    assert both == rules
    assert model.prompts == []
