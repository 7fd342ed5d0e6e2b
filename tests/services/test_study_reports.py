"""The reports on a study: what they show, and to whom."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.human_results import ACCURACY, CONVERSATION, INTENT, OVERALL, TURN
from pdfqa_core.services.studies import StudyService
from pdfqa_core.services.study_reports import REPORTS, StudyReports
from pdfqa_core.storage import Store
from pdfqa_core.storage.database import row_of
from pdfqa_core.storage.tables import adjudications
from pdfqa_core.study_types import Adjudication
from tests.storage.conftest import NOW, turn


@pytest.fixture
def reports(studies: StudyService) -> StudyReports:
    return studies.reports


def two_talks(store: Store, studies: StudyService, turns: int = 2, owner: str = "me") -> str:
    """Make a study of two conversations with the same title; return its id."""
    made = []
    for place in "ab":
        conversation = store.conversations.create(owner, "Talk")
        made.append(conversation.id)
        for number in range(1, turns + 1):
            store.conversations.append_turn(owner, conversation.id, turn(f"{place}{number}", "one", "two"))
    return studies.create(owner, "Pilot", made).id


def rate(studies: StudyService, study_id: str, name: str, values: dict[str, str], owner: str = "me") -> None:
    """Sign in and rate: by turn the first letter of the intent, the answer, and each of the two passages ("e110")."""
    studies.sign_in(owner, study_id, name)
    intents = {"e": "extractive", "a": "abstractive", "b": "boolean"}
    for turn_id, (intent, answer, *passages) in values.items():
        given = {(turn_id, "intent"): intents[intent], (turn_id, "answer"): answer}
        given |= {(f"{turn_id}#{rank}", "passage"): value for rank, value in enumerate(passages, start=1)}
        studies.save(owner, study_id, name, turn_id, given)


def adjudicate(store: Store, study_id: str, turn_id: str, value: str) -> None:
    decision = Adjudication(study_id, turn_id, "answer", value, "", NOW)
    with store.database.write() as connection:
        connection.execute(adjudications.insert().values({**row_of(adjudications, decision), "turn_id": turn_id}))


ADA = {"a1": "e110", "a2": "b001", "b1": "e111", "b2": "a100"}
BEN = {"a1": "e110", "a2": "a001", "b1": "e010", "b2": "a101"}


def both_rated(store: Store, studies: StudyService) -> str:
    study_id = two_talks(store, studies)
    rate(studies, study_id, "Ada", ADA)
    rate(studies, study_id, "Ben", BEN)
    return study_id


def test_no_number_is_told_before_everybody_has_finished(
    store: Store, studies: StudyService, reports: StudyReports
) -> None:
    study_id = two_talks(store, studies)

    def expect_hidden() -> None:
        for viewer in ("", "Ada", "Ben"):
            with pytest.raises(UsageError, match="once two people or more have signed in and rated everything"):
                reports.results("me", study_id, viewer)
            for report, (kind, *_) in REPORTS.items():
                with pytest.raises(UsageError, match="once two people or more"):
                    reports.file("me", study_id, report, kind, viewer)

    expect_hidden()
    rate(studies, study_id, "Ada", ADA)
    expect_hidden()
    rate(studies, study_id, "Ben", {"a1": "e110"})
    expect_hidden()
    assert reports.results("me", study_id, None)  # the owner, at the command line
    rate(studies, study_id, "Ben", BEN)
    assert reports.results("me", study_id, "") == reports.results("me", study_id, "Ada")
    studies.sign_in("me", study_id, "Cleo")
    expect_hidden()
    with pytest.raises(UsageError, match="no such study"):
        reports.results("you", study_id, None)


def test_each_annotator_and_what_both_say(store: Store, studies: StudyService, reports: StudyReports) -> None:
    study_id = both_rated(store, studies)
    rows = reports.results("me", study_id, "")
    means = {(r.rater, r.group, r.value, r.measure): (r.summary.mean, r.summary.n) for r in rows}
    assert means["Ada", OVERALL, "", ACCURACY] == (0.75, 4)
    assert means["Ben", OVERALL, "", ACCURACY] == (0.5, 4)
    assert means["majority", OVERALL, "", ACCURACY] == (pytest.approx(2 / 3), 3)  # they differ on b1
    assert means["Ada", OVERALL, "", "HR@2"] == (0.75, 4)
    assert means["majority", TURN, "2", "HR@1"] == (0, 2)
    assert means["majority", TURN, "2", "HR@2"] == (1, 1)  # of b2 they differ on the second passage
    assert means["Ben", INTENT, "abstractive", ACCURACY] == (0.5, 2)
    assert means["majority", INTENT, "not agreed", ACCURACY] == (0, 1)
    assert {value for _, group, value, _ in means if group == CONVERSATION} == {"Talk (1)", "Talk (2)"}


def test_a_new_rating_changes_what_is_remembered(store: Store, studies: StudyService, reports: StudyReports) -> None:
    study_id = both_rated(store, studies)
    before = reports.results("me", study_id, None)
    assert reports.results("me", study_id, None) is before
    studies.save("me", study_id, "Ben", "b2", {("b2", "answer"): "0"})  # what was submitted last can be corrected
    after = reports.results("me", study_id, None)
    accuracy = [r.summary.mean for r in after if (r.rater, r.group, r.measure) == ("Ben", OVERALL, ACCURACY)]
    assert accuracy == [0.25]
