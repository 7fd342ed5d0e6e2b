"""While judging, all passages can be searched; one that was missed is marked by a rating of its own kind."""

from __future__ import annotations

import csv
import io

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.rating_tables import Columns
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.study_types import MISSED, missed_item
from tests.conftest import FakeLLM
from tests.services.helpers import LITERAL, METERS, asked, stored_of

ADA = "Ada"


@pytest.fixture
def work(open_services):
    services = open_services(LITERAL, FakeLLM())
    turn = stored_of(asked(services, METERS, LITERAL))
    study = services.studies.create(LOCAL_OWNER, "Pilot", [turn.conversation_id])
    services.studies.sign_in(LOCAL_OWNER, study.id, ADA)
    return services, study, turn.turn.id


def search(work, words, owner=LOCAL_OWNER, name=ADA):
    services, study, turn_id = work
    return services.evaluation.missed.search(owner, study.id, name, turn_id, words, LITERAL)


def mark(work, found, one, **how):
    services, study, turn_id = work
    services.evaluation.missed.mark(LOCAL_OWNER, study.id, ADA, turn_id, found, one.hit.passage.id, **how)


def test_a_missed_passage_is_marked_exported_and_taken_back(work):
    services, study, turn_id = work
    found = search(work, "refrigerant ammonia")
    missed = next(one for one in found if not one.shown)
    mark(work, found, missed)
    assert [one.hit.passage.id for one in search(work, "refrigerant ammonia") if one.marked] == [missed.hit.passage.id]
    data = services.studies.file(LOCAL_OWNER, study.id, "csv", ADA).data
    (row,) = csv.DictReader(io.StringIO(data.decode("utf-8-sig")))
    assert (row["item"], row["criterion"], row["value"]) == (missed_item(turn_id, missed.hit.passage.id), MISSED, "1")
    assert row["pages"] == missed.place
    assert row["passages"].split() == missed.hit.passage.text.split()
    mark(work, search(work, "refrigerant ammonia"), missed, relevant=False)
    assert services.evaluation.missed.marked(LOCAL_OWNER, study.id, ADA, turn_id) == {}


def test_what_the_answer_was_shown_is_rated_there(work):
    found = search(work, METERS)
    shown = next(one for one in found if one.shown)
    with pytest.raises(UsageError, match="was shown with the answer"):
        mark(work, found, shown)
    with pytest.raises(UsageError, match="no such passage"):
        mark(work, (), shown)


def test_marks_change_neither_progress_nor_agreement_and_come_back_from_a_table(work):
    services, study, _ = work
    found = search(work, "refrigerant ammonia")
    mark(work, found, next(one for one in found if not one.shown))
    rated = services.studies.rated(LOCAL_OWNER, study.id)
    assert (rated.progress[ADA].done, rated.progress[ADA].total) == (0, 1)
    services.studies.sign_in(LOCAL_OWNER, study.id, "Ben")
    assert services.studies.reports.agreement(LOCAL_OWNER, study.id, None) == ()
    table = services.studies.file(LOCAL_OWNER, study.id, "csv", None).data
    assert services.studies.files.add_ratings(LOCAL_OWNER, study.id, table, Columns()) == 1


def test_an_invited_person_searches_the_owners_documents(work):
    services, study, _ = work
    token = services.people.invitations.invite(LOCAL_OWNER, study.id, "Eve").rpartition("=")[2]
    seat = services.people.invitations.take(study.id, token).owner
    assert search(work, "refrigerant", seat, "Eve")
    for owner, name in ((seat, ADA), ("visitor-other", ADA)):
        with pytest.raises(UsageError):
            search(work, "refrigerant", owner, name)
