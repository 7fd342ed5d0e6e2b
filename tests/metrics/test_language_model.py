"""Metrics by a language model: every item ends scored or unscored with a reason, and nothing is asked twice."""

import json
import threading

import pytest

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.interfaces import Message, Sampling
from pdfqa_core.metrics.entailment import (
    EntailmentItem,
    Hypothesis,
    LLMTagger,
    PairScore,
    Statement,
    Tag,
    entailment_scores,
    possible_statements,
    replace_pronouns,
    tag_schema,
)
from pdfqa_core.metrics.llm_judge import JudgeItem, judge_answers, judge_prompt
from pdfqa_core.metrics.refusal import classify_refusals, refusal_prompt
from pdfqa_core.metrics.replies import CachedLLM, for_each, reply_key
from pdfqa_core.streaming import complete
from tests.conftest import FakeLLM

ITEM = JudgeItem("Who wrote it?", ("Ann Lee",), "Ann")


class WithoutProbabilities(FakeLLM):
    """An engine that cannot tell probabilities."""

    def __init__(self):
        super().__init__()
        self.refused = 0

    def choose(self, messages, choices, *, stop=None):
        self.refused += 1
        raise ModelError("This server does not tell probabilities.")


# ------------------------------------------------------------------ the judge


def test_the_prompt_is_the_published_one():
    (message,) = judge_prompt(ITEM)
    assert message.content == (
        "Question: Who wrote it?\nGold Answer: Ann Lee\nPredicted Answer: Ann\nIs the predicted answer correct? Yes/No"
    )
    printed = judge_prompt(JudgeItem("How cold?", ("\u22125 °C",), "\u20135 °C, 10\u201320 km"))[0].content
    assert "Gold Answer: -5 °C" in printed
    assert "Predicted Answer: -5 °C, 10\u201320 km" in printed
    several = judge_prompt(JudgeItem("Who {0}?", ("Ann {x}", "Bob"), "{y}"))[0].content
    assert "Gold Answer: Ann {x} or Bob\nPredicted Answer: {y}" in several


def test_without_probabilities_the_first_word_decides_and_any_other_leaves_it_unscored():
    engine = WithoutProbabilities()
    engine.enqueue(["Yes, it is.", '"No"', "Perhaps", "Nothing", " ", '{"answer": "Yes"}', '{"answer": "Ja"}'])
    found = judge_answers([ITEM] * 7, engine)
    assert [decision.score for decision in found] == [1.0, 0.0, None, None, None, 1.0, None]
    assert engine.refused == 1  # it is not asked for probabilities again
    assert found[0].source == "first word"
    assert "neither Yes nor No: 'Perhaps'" in found[2].reason
    assert "it is empty" in found[4].reason


def test_no_gold_answer_and_a_prompt_that_is_too_long_are_unscored(fake_llm):
    fake_llm.decide({"Yes": 1.0})
    found = judge_answers([JudgeItem("q", (), "a"), JudgeItem("q", ("g",), "a " * 3000), ITEM], fake_llm)
    assert [decision.score for decision in found] == [None, None, 1.0]
    assert found[0].reason == "there is no gold answer"
    assert "do not fit the context of 2048" in found[1].reason
    assert len(fake_llm.history) == 1


# ------------------------------------------------------------------ refusals


def test_a_refusal_is_decided_by_the_first_three_segments(fake_llm):
    fake_llm.decide({"Yes": 0.9, "No": 0.1}, {"Yes": 0.2, "No": 0.8})
    sentences = [f"This is sentence number {n} of it." for n in range(5)]
    found = classify_refusals(["I cannot find that in the documents.", " ".join(sentences), " \n"], fake_llm)
    assert [decision.value for decision in found] == [True, False, True]
    assert found[2].source == "empty"
    assert len(fake_llm.history) == 2
    asked = refusal_prompt(" ".join(sentences))[0].content
    assert "sentence number 2" in asked
    assert "sentence number 3" not in asked


# ------------------------------------------------------------------ pronouns

TEXT = "Ann Lee wrote the first book. She sold it in early May. He bought all of it."


def sentences(*pieces):
    return json.dumps({"sentences": list(pieces)})


def test_pronouns_are_replaced_in_all_but_the_first_segment(fake_llm):
    fake_llm.enqueue([sentences("CHANGED", "Ann Lee sold the book in May.", "Bob bought all of it.")])
    long, short = replace_pronouns([TEXT, "She is a person alone here."], fake_llm)
    assert long.segments == ("Ann Lee wrote the first book.", "Ann Lee sold the book in May.", "Bob bought all of it.")
    assert short.segments == ("She is a person alone here.",)
    assert (long.reason, short.reason) == ("", "")
    assert len(fake_llm.history) == 1  # a text of one segment is not asked about


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ('{"sentences": ["a", "b"]}', "2 sentences, not 3"),
        ('{"sentences": ["a", "b", "c", "d"]}', "4 sentences, not 3"),
        ('{"sentences": ["a", "b"', "no JSON"),
        ('{"a": 1}', "no list"),
        ('["a", "b", "c"]', "no list of sentences"),
        ('{"sentences": ["a", 2, "c"]}', "no list of sentences"),
        ('{"sentences": ["a", " ", "c"]}', "empty sentence"),
        ("", "it is empty"),
    ],
)
def test_the_originals_are_kept_after_an_unusable_reply(fake_llm, reply, words):
    fake_llm.enqueue([reply])
    (kept,) = replace_pronouns([TEXT], fake_llm)
    assert kept.segments[1] == "She sold it in early May."
    assert words in kept.reason


# ------------------------------------------------------------------ entailment


def tagged(hypothesis, *tags):
    """A reply whose statements are the first words of the hypothesis."""
    words = hypothesis.split()
    return json.dumps({"statements": [{"statement": words[n], "tag": tag} for n, tag in enumerate(tags)]})


CURIE = "Marie Curie was born in Warsaw in 1867 to two teachers."


def test_a_statement_is_any_part_of_the_hypothesis_else_the_model_is_asked_for_clauses(fake_llm):
    parts = ("Marie Curie was born in Warsaw", "in 1867", "to two teachers.")
    tags = ("ENT", "CONT", "NEUT")
    chosen = [{"statement": part, "tag": tag} for part, tag in zip(parts, tags, strict=True)]
    copied = [{"statement": "I am smart.", "tag": "ENT"}]
    twice = [{"statement": "i am NOT smart", "tag": tag} for tag in ("CONT", "ENT")]
    fake_llm.enqueue([json.dumps({"statements": one}) for one in (chosen, copied, twice, copied, copied)])
    pairs = [("Marie Curie, of Warsaw, was born in 1868.", CURIE), *[("I am smart.", "I am not smart.")] * 2]
    first, second, third = LLMTagger(fake_llm).tag(pairs)
    assert tuple((one.text, one.tag) for one in first.statements) == tuple(zip(parts, tags, strict=True))
    assert first.score == pytest.approx(1 / 3)
    assert (second.score, len(second.statements)) == (0.0, 1)  # asked again
    assert third.score is None
    assert "no part of the hypothesis: 'I am smart.'" in third.reason
    assert len(fake_llm.history) == 5


def test_clauses_are_what_a_model_may_choose_from_that_writes_something_else():
    text = "The plan pays visits, vaccines and glasses."
    parts = possible_statements(text)
    assert parts == (
        text, "The plan pays visits,", "The plan pays visits, vaccines", "vaccines", "vaccines and glasses.",
        "and glasses.",
    )  # fmt: skip
    assert possible_statements("I am clever.") == ("I am clever.",)
    assert len(possible_statements(", ".join(["one thing"] * 40))) <= 21 + 1
    free, bound = (
        tag_schema(3, given)["properties"]["statements"]["items"]["properties"]["statement"] for given in ((), parts)
    )
    assert (free, bound) == ({"type": "string"}, {"type": "string", "enum": list(parts)})


def test_known_answers_of_hypotheses_and_pairs():
    def hypothesis(*tags):
        return Hypothesis("x", tuple(Statement("s", Tag(tag)) for tag in tags))

    assert hypothesis("NEUT").score == 0.0
    assert hypothesis("ENT").score == 1.0
    assert hypothesis("ENT", "CONT", "NEUT", "ENT").score == 0.5
    pair = PairScore((hypothesis("ENT"), hypothesis("ENT", "NEUT"), Hypothesis("y", reason="no JSON")))
    assert pair.value() == 0.75
    assert pair.value(unusable_as_zero=True) == 0.5
    assert PairScore((Hypothesis("y"),)).value() is None
    assert PairScore((Hypothesis("y"),)).value(unusable_as_zero=True) == 0.0
    assert PairScore().value() is None


def test_the_tagger_survives_unusable_replies(fake_llm):
    unusable = ("no", tagged(""), '{"statements": [{"statement": "x"}]}', "[]")
    fake_llm.enqueue([tagged("I am not smart.", "CONT"), *(one for one in unusable for _ in range(2))])
    fake_llm.enqueue([tagged("I am", "ENT")])
    pairs = [("I am smart.", "I am not smart."), *[("I am clever.", f"Hypothesis {n}.") for n in range(4)]]
    found = LLMTagger(fake_llm).tag([*pairs, ("I am clever.", "I am clever.")])
    assert [hypothesis.score for hypothesis in found] == [0.0, None, None, None, None, 1.0]
    assert [hypothesis.text for hypothesis in found][:2] == ["I am not smart.", "Hypothesis 0."]
    assert all(hypothesis.reason for hypothesis in found[1:5])
    asked = fake_llm.history[0][0].content
    assert "Premise: I am smart.\n\nHypothesis: I am not smart." in asked


class Script:
    """A tagger that finds entailed what stands in the premise word for word."""

    name = "script"

    def __init__(self):
        self.calls = []

    def tag(self, pairs, *, stop=None, on_done=None):
        self.calls.append(list(pairs))
        return [
            Hypothesis(text, (Statement(text, Tag.ENT if text.rstrip(".") in premise else Tag.NEUT),))
            for premise, text in pairs
        ]


def test_missing_texts_leave_their_pairs_unscored():
    whole = EntailmentItem("Why is that so?", ("Because of the rain.",), "Because of the rain.", "Because of the rain.")
    for missing, none, words in (
        ("contexts", {"entailment_context_answer"}, "the context is empty"),
        ("gold", {"entailment_gold_answer", "entailment_answer_gold", "entailment_f1"}, "the gold answer is empty"),
        ("answer", set(whole_names()), "the answer is empty"),
    ):
        kept = {name: getattr(whole, name) for name in ("question", "contexts", "gold", "answer")}
        (found,) = entailment_scores(
            [EntailmentItem(**{**kept, missing: () if missing == "contexts" else " "})], Script()
        )
        assert {name for name, value in found.metrics().items() if value is None} == none
        assert words in {found.context_answer.reason, found.gold_answer.reason, found.answer_gold.reason}


def whole_names():
    return ("entailment_context_answer", "entailment_gold_answer", "entailment_answer_gold", "entailment_f1")


def test_the_whole_pipeline_with_a_language_model(fake_llm):
    fake_llm.enqueue(
        [sentences("Ann wrote a book in May.", "Ann sold the book in June."), tagged("Ann wrote", "ENT", "NEUT")]
    )
    fake_llm.enqueue([tagged("Ann", "ENT"), tagged("Ann", "ENT"), "broken", "broken", tagged("It", "CONT")])
    fake_llm.decide({"Yes": 0.0, "No": 1.0}, {"Yes": 1.0, "No": 0.0})
    item = EntailmentItem(
        "Who wrote it?", ("Ann wrote a book.",), "It was written by Ann Lee.",
        "Ann wrote a book in May. She sold it in June.",
    )  # fmt: skip
    done = []
    (found,) = entailment_scores([item], LLMTagger(fake_llm), fake_llm, on_done=lambda *place: done.append(place))
    assert found.metrics() == {
        "entailment_context_answer": 0.75,
        "entailment_gold_answer": 1.0,  # of the one segment with a usable reply
        "entailment_answer_gold": 0.0,
        "entailment_f1": 0.0,
    }
    assert sum(one.score is None for one in found.gold_answer.hypotheses) == 1
    assert found.metrics(unusable_as_zero=True)["entailment_gold_answer"] == 0.5
    assert (found.answer_refused.value, found.gold_refused.value) == (False, True)
    assert found.answer_pronouns == ""
    assert "Ann sold the book in June." in fake_llm.history[2][0].content
    assert done == [(n, 5) for n in range(1, 6)]
    assert fake_llm.replies == []


# ------------------------------------------------------------------ replies


def test_a_repeated_run_asks_nothing(fake_llm):
    replies: dict[str, str] = {}
    fake_llm.decide({"Yes": 0.7, "No": 0.3})
    fake_llm.enqueue([tagged("h", "ENT")])
    for _ in range(2):
        llm = CachedLLM(fake_llm, replies)
        assert judge_answers([ITEM], llm)[0].probability == 0.7
        assert LLMTagger(llm).tag([("p", "h")])[0].score == 1.0
    assert (llm.asked, llm.remembered) == (0, 2)
    assert len(fake_llm.history) == 2
    assert (llm.name, llm.context_size) == ("fake", 2048)


def test_what_changes_a_reply_changes_its_key(fake_llm):
    replies: dict[str, str] = {}
    messages = [Message("user", "hello")]
    asked = 0
    for model in ("", "another file"):
        for options in ({}, {"schema": {"type": "string"}}, {"sampling": Sampling(temperature=0.5)}):
            for tokens in (5, 6):
                fake_llm.enqueue([f"reply {asked}"])
                llm = CachedLLM(fake_llm, replies, model=model)
                assert "".join(complete(llm, messages, max_tokens=tokens, **options)).strip() == f"reply {asked}"
                asked += 1
    assert len(replies) == asked == 12
    assert reply_key("m", "choose", messages, {}) != reply_key("m", "complete", messages, {})
    assert reply_key("m", "choose", messages, {}) != reply_key("m", "choose", [Message("system", "hello")], {})


def test_a_reply_that_was_stopped_is_not_kept(fake_llm):
    stop = threading.Event()
    fake_llm.enqueue(["one two three", "one two three"])
    llm = CachedLLM(fake_llm, {})
    stream = complete(llm, [Message("user", "x")], max_tokens=9, stop=stop)
    next(stream)
    stop.set()
    assert list(stream) == []
    assert "".join(complete(llm, [Message("user", "x")], max_tokens=9)) == "one two three "
    with pytest.raises(StoppedError):
        judge_answers([ITEM], llm, stop=stop)
    with pytest.raises(StoppedError):
        LLMTagger(llm).tag([("p", "h")], stop=stop)


def test_a_reply_of_another_model_that_the_engine_has_meanwhile_is_not_kept(fake_llm):
    replies: dict[str, str] = {}
    there = True
    llm = CachedLLM(fake_llm, replies, same=lambda: there)
    messages = [Message("user", "x")]
    fake_llm.decide({"Yes": 0.7, "No": 0.3}, {"Yes": 0.1, "No": 0.9})
    fake_llm.enqueue(["mine", "another's"])
    assert "".join(complete(llm, messages, max_tokens=9)).strip() == "mine"
    llm.choose(messages, ("Yes", "No"))
    kept = dict(replies)
    there = False
    other = [Message("user", "y")]
    assert "".join(complete(llm, other, max_tokens=9)).strip() == "another's"
    assert llm.choose(other, ("Yes", "No")) == {"Yes": 0.1, "No": 0.9}
    assert (replies, len(kept)) == (kept, 2)


@pytest.mark.parametrize("workers", [1, 4])
def test_an_engine_error_costs_one_item_and_three_in_a_row_the_run(workers):
    def ask(number):
        if number in broken:
            raise ModelError(f"error {number}")
        return str(number)

    broken = {1, 2, 4}
    assert for_each(range(6), ask, lambda reason: reason, workers=workers) == [
        "0", "error 1", "error 2", "3", "error 4", "5",
    ]  # fmt: skip
    broken = {1, 2, 3}
    with pytest.raises(ModelError, match="error 3"):
        for_each(range(6), ask, lambda reason: reason, workers=workers)


def test_the_strict_judge_takes_off_what_it_thinks_without_a_text(fake_llm):
    fake_llm.decide(
        {"Yes": 0.9, "No": 0.1}, {"Yes": 0.75, "No": 0.25}, {"Yes": 0.6, "No": 0.4}, {"Yes": 0.75, "No": 0.25}
    )
    first, second = judge_answers([ITEM, ITEM], fake_llm, prompt="strict")
    assert (first.value, first.probability) == (True, pytest.approx(0.75))  # odds 9 / 3
    assert (second.value, second.probability) == (False, pytest.approx(1 / 3))  # odds 1.5 / 3
    assert "There is no text." in fake_llm.history[1][0].content
