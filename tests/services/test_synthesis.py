"""Synthetic questions over a real workspace: guards, round trip, stop and resume, what is told."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pdfqa_core.errors import PdfQAError, StoppedError, UsageError
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.synthesis import Made, SynthesisPlan, SynthesisResult
from pdfqa_core.storage import Outcome
from pdfqa_core.synthesis import CONVERSATIONS, FEW_SHOT
from tests.conftest import FakeLLM
from tests.services.helpers import BM25, only, stored_pages

TWO = SynthesisPlan(per_document=2)
ODD = (  # replies, answers behind the questions that pass the guards
    "The harbour.", "What is this section about?", "Who owns zebras in Ankara?", "Zebras", "Who owns boats in Ankara?",
    "The",
)  # fmt: skip


class Asking(FakeLLM):
    """Asks about the rarest words of a passage, so that a search finds it, and answers with its first two words.

    `odd` replies come first.
    """

    def __init__(self, *odd):
        super().__init__()
        self.odd = list(odd)

    def write(self, schema, stop):
        if self.odd:
            yield self.odd.pop(0)
            return
        prompt = self.history[-1][0].content
        if prompt.endswith("as few as possible."):
            yield " ".join(prompt.split()[:2])
            return
        words = prompt.partition("\n\n")[0].split()
        longest = sorted({word.strip(".,;:()") for word in words if word.isalpha()}, key=len)[-6:]
        yield f"What is known of {' '.join(sorted(longest))}?"


def run(services, plan, settings=BM25):
    return list(services.training.synthesis.make(LOCAL_OWNER, plan, settings))


def questions(services, *outcomes):
    return services.training.synthesis.kept.list(LOCAL_OWNER, outcomes or tuple(Outcome))


def test_questions_are_made_of_drawn_passages_and_kept(open_services):
    services = open_services(BM25, Asking())
    events = run(services, TWO)
    result = events[-1]
    assert isinstance(result, SynthesisResult)
    assert (result.passages, result.done_before, result.outcomes, result.reasons) == (2, 0, {"new": 2}, {})
    kept = questions(services)
    assert [one.questions for one in events if isinstance(one, Made)] == [(kept[0],), (kept[1],)]
    for one in kept:
        assert (one.kind, one.model, one.seed, one.document_id) == ("zero-shot", "fake", 0, only(services).id)
        assert one.text.startswith("What is known of ")
        assert one.answer == one.made_answer == " ".join(one.passage.split()[:2])
        assert one.spans[0].document_id == only(services).id


def test_what_is_dropped_is_kept_with_its_reason(open_services):
    services = open_services(BM25, Asking(*ODD))
    result = run(services, SynthesisPlan(per_document=1, per_passage=4))[-1]
    assert result.outcomes == {"dropped": 4}
    assert [one.reason for one in questions(services, Outcome.DROPPED)] == [
        "not a question", "cannot be understood without the passage", "its answer does not stand in the passage",
        "a search does not find its passage",
    ]  # fmt: skip


def test_all_is_kept_where_nothing_is_to_be_dropped(open_services):
    llm = Asking("The harbour.", "Zebras", "", "What is this section about?", "Zebras")
    services = open_services(BM25, llm)
    result = run(services, SynthesisPlan(per_document=1, per_passage=3, keep_all=True))[-1]
    assert (result.outcomes, result.reasons) == ({"new": 2, "dropped": 1}, {"nothing was written": 1})
    assert {(one.text, one.answer) for one in questions(services, Outcome.NEW)} == {
        ("The harbour.", "Zebras"), ("What is this section about?", "Zebras")
    }  # fmt: skip


def test_what_guards_dropped_is_made_again_where_all_is_to_be_kept(open_services):
    llm = Asking(*ODD)
    services = open_services(BM25, llm)
    plan = SynthesisPlan(per_document=1, per_passage=4)
    assert run(services, plan)[-1].outcomes == {"dropped": 4}
    llm.odd = ["The harbour.", "Zebras", "What is this section about?", "Zebras"]
    assert run(services, replace(plan, keep_all=True))[-1].outcomes == {"new": 4}
    assert "The harbour." in {one.text for one in questions(services, Outcome.NEW)}
    assert questions(services, Outcome.DROPPED) == ()
    assert run(services, replace(plan, keep_all=True))[-1].done_before == 1


class Talking(Asking):
    """Holds a conversation about the words of each passage; `apart` is how many follow-ups say all of them again."""

    def __init__(self, apart=0):
        super().__init__()
        self.apart = apart

    def write(self, schema, stop):
        prompt = self.history[-1][0].content
        if "Write the next question" not in prompt:
            yield from super().write(schema, stop)
        elif self.apart:
            self.apart -= 1
            yield from (f"And now, {question}" for question in super().write(schema, stop))
        else:
            yield f"And what else{', indeed' * prompt.count('Answer: ')}?"


def test_conversations_are_lists_of_turns_with_passages_and_answers(open_services):
    services = open_services(BM25, Talking(apart=2))
    result = run(services, SynthesisPlan(CONVERSATIONS, per_document=2))[-1]
    kept = questions(services, Outcome.NEW)
    assert result.outcomes["new"] == len(kept) == 8
    assert result.reasons["a search finds its passage as well without the turns before"] == 2
    for talk in {one.conversation for one in kept}:
        turns = [one for one in kept if one.conversation == talk]
        assert [one.turn for one in turns] == [1, 2, 3, 4]
        assert all(one.answer in " ".join(one.passage.split()) for one in turns)
    accepted = services.training.synthesis.kept.decide(LOCAL_OWNER, kept[0].id, Outcome.ACCEPTED)
    talk = questions(services, Outcome.ACCEPTED)
    assert [one.conversation for one in talk] == [accepted.conversation] * 4
    assert services.answers.suggestions.accepted(LOCAL_OWNER) == (talk[0].text,)
    data, count = services.training.synthesis.questions_file(LOCAL_OWNER, [Outcome.ACCEPTED])
    rows = [json.loads(line) for line in data.splitlines()]
    assert [row.get("follow_up_of") for row in rows] == [None, *(row["id"] for row in rows[:-1])]
    assert (count, services.training.synthesis.beir_files(LOCAL_OWNER, [Outcome.ACCEPTED], BM25)[1]) == (4, 1)
    again = run(services, SynthesisPlan(CONVERSATIONS, per_document=3))[-1]
    assert (again.passages, again.done_before) == (3, 2)


PIER = (  # two passages that are long enough to ask about, and what else has their words; the same in German
    (
        "A ship pays nine crowns for each night at the pier. Lighters pay half of that. Nobody may stay for more "
        "than a week at a time, unless the tide holds a ship back."
    ),
    (
        "Ships at the pier pay every morning. The watchman walks along all berths with his book, takes the crowns "
        "for the night, and gives a receipt with his name on it."
    ),
    "Visitors stay in town for long.",
    "How long the stay in port is.",
    "Money is taken at the bank.",
    "Who takes the money home?",
)
STEG = (
    (
        "Ein Schiff zahlt neun Kronen für jede Nacht am Steg. Leichter zahlen davon die Hälfte. Niemand darf mehr "
        "als eine Woche am Stück bleiben, wenn nicht die Flut das Schiff noch festhält."
    ),
    (
        "Schiffe am Steg zahlen jeden Morgen. Der Wärter geht mit seinem Buch an allen Plätzen entlang, nimmt die "
        "Kronen für die Nacht und gibt eine Quittung mit seinem Namen."
    ),
    "Gäste bleiben lange in der Stadt.",
    "Wie lange sie bleiben.",
    "Geld nimmt die Bank.",
    "Wer nimmt Geld mit?",
)


@pytest.mark.parametrize(
    ("pages", "asked"),
    [
        (PIER, (
            ("What does a ship pay for a night at the pier?", "nine crowns"),
            ("What do lighters pay at the pier?", "half of that"),
            ("Who takes them?", "watchman"),
            ("When is he there?", "every morning"),
        )),
        (STEG, (
            ("Was zahlt ein Schiff für eine Nacht am Steg?", "neun Kronen"),
            ("Was zahlen Leichter am Steg?", "die Hälfte"),
            ("Wer nimmt sie?", "Der Wärter"),
            ("Wann ist er da?", "jeden Morgen"),
        )),
    ],
)  # fmt: skip
def test_a_follow_up_leans_on_the_turns_before_where_they_help_to_find_its_passage(open_services, pages, asked):
    llm = FakeLLM()
    settings = BM25.changed("chunking", chunker="paragraphs")
    services = open_services(settings, llm, empty=True)
    for name, texts in (("pier", pages[:2]), *((text[:4], [text]) for text in pages[2:])):
        stored_pages(services, f"{name}.pdf", *texts)
    llm.enqueue([*(text for draft in asked for text in draft), "No more."])  # no conversation begins with the second
    run(services, SynthesisPlan(CONVERSATIONS, per_document=0, turns=3), settings)
    first, in_full, *others = asked
    assert [(one.text, one.passage) for one in questions(services, Outcome.NEW)] == [
        (first[0], pages[0]), *((question, pages[1]) for question, _ in others)
    ]  # fmt: skip
    assert {one.text: one.reason for one in questions(services, Outcome.DROPPED)} == {
        in_full[0]: "a search finds its passage as well without the turns before", "No more.": "not a question"
    }  # fmt: skip


def test_a_conversation_of_less_than_three_turns_is_dropped(open_services):
    services = open_services(BM25, Talking(apart=99))
    result = run(services, SynthesisPlan(CONVERSATIONS, per_document=1))[-1]
    assert result.outcomes == {"dropped": 5}
    assert {(one.conversation, one.reason) for one in questions(services)} == {
        ("", "too few turns of its conversation are left"),
        ("", "a search finds its passage as well without the turns before"),
    }  # fmt: skip


def test_a_run_that_was_stopped_goes_on_and_a_larger_one_adds(open_services):
    services = open_services(BM25, Asking())
    making = services.training.synthesis.make(LOCAL_OWNER, TWO, BM25, task="making")
    while not isinstance(next(making), Made):
        pass
    services.tasks.stop("making")
    with pytest.raises(StoppedError, match="start again to go on"):
        list(making)
    assert len(questions(services)) == 1
    result = run(services, TWO)[-1]
    assert (result.passages, result.done_before) == (2, 1)
    assert run(services, SynthesisPlan(per_document=3))[-1].done_before == 2
    assert len({one.passage_id for one in questions(services)}) == 3
    assert run(services, SynthesisPlan(per_document=2, seed=1))[-1].done_before == 0


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (SynthesisPlan(kind="magic"), "kind of question called 'magic'"),
        (SynthesisPlan(kind=FEW_SHOT), "need 1 to 8 examples"),
        (SynthesisPlan(per_passage=0), "cannot be made"),
        (SynthesisPlan(per_document=-1), "cannot be made"),
        (SynthesisPlan(CONVERSATIONS, turns=9), "9 turns cannot be made"),
    ],
)
def test_what_cannot_be_done_is_told(open_services, plan, words):
    with pytest.raises(UsageError, match=words):
        run(open_services(BM25, Asking()), plan)


def test_without_documents_there_is_nothing_to_make(open_services):
    with pytest.raises(PdfQAError, match="no passages"):
        run(open_services(BM25, Asking(), empty=True), TWO)
