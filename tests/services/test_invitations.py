"""Who is invited comes in once by a link, again by the browser's token, reads one study, and rates under one name."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs

import pytest
from sqlalchemy import select, update

from pdfqa_core.errors import UsageError
from pdfqa_core.services.accounts import NOBODY, InvitationService
from pdfqa_core.storage.tables import UtcDateTime, invitations, metadata, skips
from pdfqa_core.study_types import Role, Skip
from tests.services.helpers import studies_of
from tests.storage.conftest import turn

OWNER = "visitor-" + "o" * 43
OTHER = "visitor-" + "x" * 43


@pytest.fixture
def study(store):
    conversation = store.conversations.create(OWNER, "Heat pump")
    for number in range(2):
        asked = turn(f"t{number}", "A passage.", question=f"Question {number}?")
        asked = replace(asked, answer=replace(asked.answer, model="SYSTEM", settings_fingerprint="RECIPE"))
        store.conversations.append_turn(OWNER, conversation.id, asked)
    return store.studies.create(OWNER, "Pilot", [conversation.id], 1)


@pytest.fixture
def service(store):
    return InvitationService(store.invitations, store.studies)


@pytest.fixture
def rating(store):
    return studies_of(store)


def token(link):
    return parse_qs(link.removeprefix("?"))["invite"][0]


def come(service, study, name, role=Role.ANNOTATOR):
    return service.take(study.id, token(service.invite(OWNER, study.id, name, role)))


def finish(rating, owner, study, name, value="1"):
    for turn_id in study.turn_ids:
        values = {(turn_id, "intent"): "boolean", (turn_id, "answer"): value, (f"{turn_id}#1", "passage"): value}
        rating.save(owner, study.id, name, turn_id, values)


def test_a_link_lets_one_browser_in_once(service, study):
    link = service.invite(OWNER, study.id, " Ada ")
    assert len(token(link)) * 6 >= 128
    entry = service.take(study.id, token(link))
    assert (entry.seat.name, entry.seat.role, entry.seat.owner) == ("Ada", Role.ANNOTATOR, OWNER)
    with pytest.raises(UsageError, match=r"used before.*Ask the owner of the study for a new one"):
        service.take(study.id, token(link))
    assert service.come_back(entry.token) == entry
    assert service.come_back("") is service.come_back("x" * 43) is None


def test_no_token_and_no_password_is_stored(service, study, store):
    link = service.invite(OWNER, study.id, "Ada")
    password = service.make_password(OWNER, study.id, "Ada")
    entry = service.take(study.id, token(link))
    with store.database.read() as connection:
        kept = str(connection.execute(select(invitations)).all())
    assert not any(secret in kept for secret in (token(link), entry.token, password))
    assert "$argon2id$" in kept


def test_a_password_lets_in_again_and_elsewhere(service, study):
    service.invite(OWNER, study.id, "Ada")
    with pytest.raises(UsageError, match="do not belong together"):
        service.sign_in(study.id, "Ada", "")  # there is no password that was not made
    password = service.make_password(OWNER, study.id, "Ada")
    first = service.sign_in(study.id, "ADA", password)
    second = service.sign_in(study.id, "Ada", password)
    assert service.come_back(first.token) is None
    assert service.come_back(second.token) == second
    for name, wrong in (("Ada", password[:-1]), ("Ben", password)):
        with pytest.raises(UsageError, match="do not belong together"):
            service.sign_in(study.id, name, wrong)
    newer = service.make_password(OWNER, study.id, "Ada")
    with pytest.raises(UsageError, match="do not belong together"):
        service.sign_in(study.id, "Ada", password)
    assert service.sign_in(study.id, "Ada", newer).seat.name == "Ada"


def test_renewing_and_withdrawing_end_what_was_before(service, study, rating):
    entry = come(service, study, "Ada")
    newer = service.renew(OWNER, study.id, "Ada")
    assert service.come_back(entry.token) is None
    with pytest.raises(UsageError, match="let in no more"):
        rating.save(entry.owner, study.id, "Ada", "t0", {("t0", "answer"): "1"})
    again = service.take(study.id, token(newer))
    service.withdraw(OWNER, study.id, "Ada")
    assert service.come_back(again.token) is None
    assert service.list(OWNER, study.id) == ()
    assert rating.rated(OWNER, study.id).progress == {}
    with pytest.raises(UsageError, match="not valid"):
        service.take(study.id, token(newer))


def test_what_somebody_rated_stays_when_they_are_withdrawn(service, study, rating):
    entry = come(service, study, "Ada")
    finish(rating, entry.owner, study, "Ada")
    service.withdraw(OWNER, study.id, "Ada")
    assert len(rating.rated(OWNER, study.id).ratings) == 6


def test_only_the_owner_invites(service, study):
    entry = come(service, study, "Ada")
    for stranger in (OTHER, entry.owner, NOBODY, ""):
        for call in (
            lambda who: service.invite(who, study.id, "Eve"), lambda who: service.renew(who, study.id, "Ada"),
            lambda who: service.make_password(who, study.id, "Ada"), lambda who: service.list(who, study.id),
            lambda who: service.withdraw(who, study.id, "Ada"),
        ):  # fmt: skip
            with pytest.raises(UsageError, match=r"Only the owner|no such study"):
                call(stranger)
    assert [one.name for one in service.list(OWNER, study.id)] == ["Ada"]


def test_an_invited_person_reads_one_study_and_not_whose_it_is(service, study, store, rating):
    conversation = store.conversations.create(OWNER, "Other")
    store.conversations.append_turn(OWNER, conversation.id, turn("u0"))
    other = store.studies.create(OWNER, "Other", [conversation.id])
    entry = come(service, study, "Ada")
    assert [one.id for one in rating.list(entry.owner)] == [study.id]
    assert OWNER not in str(rating.list(entry.owner))
    assert OWNER not in str(rating.item(entry.owner, study.id, "Ada", "t0"))
    with pytest.raises(UsageError, match="no such study"):
        rating.rated(entry.owner, other.id)
    assert rating.list(NOBODY) == ()
    for change in (
        lambda: rating.create(entry.owner, "Mine", [conversation.id]),
        lambda: store.studies.put(entry.owner, store.studies.copy(OWNER, study.id)),
        lambda: rating.kept.take_out(entry.owner, study.id, ["t0"]), lambda: rating.add(entry.owner, study.id, "u0"),
    ):  # fmt: skip
        with pytest.raises(UsageError):
            change()


def test_nobody_rates_under_anothers_name(service, study, rating):
    ada, ben = come(service, study, "Ada"), come(service, study, "Ben")
    for owner in (ben.owner, OWNER):
        for call in (
            lambda who: rating.sign_in(who, study.id, "ada"),
            lambda who: rating.save(who, study.id, "Ada", "t0", {("t0", "answer"): "1"}),
            lambda who: rating.item(who, study.id, "Ada", "t0"), lambda who: rating.next(who, study.id, "Ada"),
        ):  # fmt: skip
            with pytest.raises(UsageError, match="invited"):
                call(owner)
    finish(rating, ada.owner, study, "Ada")
    assert [one.annotator for one in rating.rated(ada.owner, study.id).visible("Ada")] == ["Ada"] * 6
    for owner, viewer in ((ben.owner, "Ada"), (ben.owner, None), (OWNER, "Ada"), (OWNER, "")):
        assert rating.rated(owner, study.id).visible(viewer) == ()


def test_agreement_waits_for_everybody_who_is_invited_and_then_viewers_see_it(service, study, rating, store):
    ada, ben = come(service, study, "Ada"), come(service, study, "Ben")
    eve = come(service, study, "Eve", Role.VIEWER)
    service.invite(OWNER, study.id, "Zoë")
    finish(rating, ada.owner, study, "Ada")
    finish(rating, ben.owner, study, "Ben", "0")
    assert rating.reports.summary(eve.owner, study.id, "").waiting == ("Zoë",)
    assert rating.reports.summary(eve.owner, study.id, "").table == ()
    with pytest.raises(UsageError, match="signed in and rated everything"):
        rating.file(eve.owner, study.id, "csv", "")
    service.withdraw(OWNER, study.id, "Zoë")
    assert [row.n for row in rating.reports.summary(eve.owner, study.id, "").table] == [2, 2, 2]
    with pytest.raises(UsageError, match="you decide nothing here"):
        rating.reports.decide(eve.owner, study.id, "", "t0", "answer", "1")
    with pytest.raises(UsageError, match="invited as “Eve”"):
        rating.save(eve.owner, study.id, "Eve", "t0", {("t0", "answer"): "1"})


def test_a_file_names_no_system_before_everybody_has_finished(service, study, rating):
    ada, ben = come(service, study, "Ada"), come(service, study, "Ben")
    finish(rating, ada.owner, study, "Ada")
    early = rating.file(ada.owner, study.id, "jsonl", "Ada").data.decode()
    assert "SYSTEM" not in early
    assert "RECIPE" not in early
    finish(rating, ben.owner, study, "Ben")
    assert "SYSTEM" in rating.file(ada.owner, study.id, "jsonl", "Ada").data.decode()


@pytest.mark.parametrize("used", ["", "came in", "was invited", "skipped"])
def test_a_shared_study_goes_with_its_visitor_when_nobody_used_it(service, study, store, used):
    ada = service.take(study.id, token(service.invite(OWNER, study.id, "Ada")))
    service.make_password(OWNER, study.id, "Ada")
    store.owners.set_preference(ada.owner, "theme", "dark")
    store.studies.skip(Skip(study.id, "t0", "Ada", "unclear", 1.0, datetime.now(UTC)))
    long_ago, now = datetime.now(UTC) - timedelta(days=300), datetime.now(UTC)
    with store.database.write() as connection:
        for table in metadata.sorted_tables:
            for column in [one for one in table.c if isinstance(one.type, UtcDateTime)]:
                connection.execute(update(table).where(column.is_not(None)).values({column.name: long_ago}))
        match used:
            case "came in":
                connection.execute(update(invitations).values(used_at=now))
            case "was invited":
                connection.execute(update(invitations).values(invited_at=now))
            case "skipped":
                connection.execute(update(skips).values(skipped_at=now))
    gone = store.owners.purge(24, ())
    if used:
        assert gone == (ada.owner,)  # their preferences alone
        assert service.come_back(ada.token) is not None
        return
    assert set(gone) == {OWNER, ada.owner}
    assert service.come_back(ada.token) is None
    with store.database.read() as connection:
        left = [table.name for table in metadata.sorted_tables if connection.execute(select(table)).first() is not None]
    assert left == []
