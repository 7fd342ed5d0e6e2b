"""What a run keeps of an answer that is not sure, and what those read who rate it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pdfqa_core.evaluation_types import CitedPlace, Prediction, RunSystem
from pdfqa_core.protocols import NONE, Case, CaseFile
from pdfqa_core.services.run_asking import AskedSystem
from pdfqa_core.services.run_export import REFUSED, study_items
from pdfqa_core.settings import Settings
from pdfqa_core.types import Answer, Citation, Done, Span

FILE = CaseFile("data", (Case("a", "Why?"),))
LINES = Citation(1, "p", Span("d", 3, 5, 14), "Because\nof it.", False)


class Stop:
    def is_set(self) -> bool:
        return False


def predicted(answer: Answer) -> Prediction:
    reader = SimpleNamespace(read=lambda *given, **named: iter([Done(answer)]))
    answers = SimpleNamespace(closed_book=lambda settings: reader)
    system = RunSystem("s", Settings().model_dump_json(), "", evidence=NONE)
    asked = AskedSystem(system, Settings(), FILE, "me", answers, None, {"d": "a.pdf"}, lambda: None)
    return asked.predict(FILE.cases[0], {}, Stop())


@pytest.mark.parametrize(("of", "outcome"), [({"perhaps": True}, "perhaps"), ({"refused": True}, "nothing")])
def test_a_run_keeps_what_came_of_a_question_with_the_lines(of, outcome):
    kept = predicted(Answer("It is so.", nearest=LINES, **of))
    assert (kept.answer, kept.outcome) == ("It is so.", outcome)
    assert kept.quote == CitedPlace("a.pdf#page=3", "a.pdf", 3, False, LINES.quote, 5, 14)


def test_a_sure_answer_has_no_lines():
    kept = predicted(Answer("It is so.", nearest=LINES))
    assert (kept.outcome, kept.quote) == ("answer", None)


def rated(prediction: Prediction) -> str:
    (item,) = study_items(FILE, {("s", "a"): prediction}, {})
    return item.answer


def test_who_rates_an_answer_that_is_not_sure_reads_the_lines_first_and_nothing_else():
    lines = CitedPlace("a.pdf#page=3", "a.pdf", 3, quote=LINES.quote)
    assert rated(Prediction("a", "It is so.", perhaps=True, quote=lines)) == "“Because of it.”\n\nIt is so."
    assert rated(Prediction("a", "Because of it.", perhaps=True, quote=lines)) == "“Because of it.”"
    assert rated(Prediction("a", "It is so.")) == "It is so."
    assert rated(Prediction("a", "", refused=True, quote=lines)) == REFUSED
