"""Synthetic questions over a real workspace: guards, round trip, stop and resume, what is told."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import PdfQAError, StoppedError, UsageError
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.synthesis import Made, SynthesisPlan, SynthesisResult
from pdfqa_core.storage import Outcome
from pdfqa_core.synthesis import FEW_SHOT, RULES
from tests.conftest import FakeLLM
from tests.services.helpers import BM25, only

TWO = SynthesisPlan(per_document=2)


class Asking(FakeLLM):
    """Asks about the rarest words of the passage it is shown, so that a search finds it; `odd` replies come first."""

    def __init__(self, *odd):
        super().__init__()
        self.odd = list(odd)

    def write(self, schema, stop):
        if self.odd:
            yield self.odd.pop(0)
            return
        words = self.history[-1][0].content.split()
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
        assert one.spans[0].document_id == only(services).id


def test_what_is_dropped_is_kept_with_its_reason(open_services):
    services = open_services(BM25, Asking("The harbour.", "What is this section about?", "Who owns zebras in Ankara?"))
    result = run(services, SynthesisPlan(per_document=1, per_passage=3))[-1]
    assert result.outcomes == {"dropped": 3}
    assert [one.reason for one in questions(services, Outcome.DROPPED)] == [
        "not a question", "cannot be understood without the passage", "a search does not find its passage"
    ]  # fmt: skip


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


def test_rules_need_no_model_and_say_so(open_services):
    services = open_services(BM25)
    result = run(services, SynthesisPlan(kind=RULES, per_document=0, per_passage=3))[-1]
    kept = questions(services)
    assert {(one.kind, one.model) for one in kept} == {("rules", "")}
    assert result.outcomes["new"] == len(questions(services, Outcome.NEW)) >= 5


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (SynthesisPlan(kind="magic"), "kind of question called 'magic'"),
        (SynthesisPlan(kind=FEW_SHOT), "need 1 to 8 examples"),
        (SynthesisPlan(per_passage=0), "cannot be made"),
        (SynthesisPlan(per_document=-1), "cannot be made"),
    ],
)
def test_what_cannot_be_done_is_told(open_services, plan, words):
    with pytest.raises(UsageError, match=words):
        run(open_services(BM25, Asking()), plan)


def test_without_documents_there_is_nothing_to_make(open_services):
    with pytest.raises(PdfQAError, match="no passages"):
        run(open_services(BM25, Asking(), empty=True), TWO)
