"""MaHuEval step by step: what is due, what is refused, how the pairs of conversations are compared."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import pytest
from sklearn.metrics import cohen_kappa_score

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.human_results import POOLED
from pdfqa_core.protocols.conversations import Doing, Plan
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from pdfqa_core.types import Stored
from tests.conftest import FakeLLM
from tests.services.helpers import LITERAL, METERS
from tests.serving_fakes import FakeModels
from tests.storage.conftest import turn

ADA, BEN = "Ada", "Ben"
PLAN = Plan((ADA, BEN), conversations=2, least=2, most=3, questions=("One?", "Two?", "Three?"))


@pytest.fixture
def services(tmp_path):
    with Services.open(tmp_path / "workspace", Settings(), FakeModels()) as opened:
        yield opened


@pytest.fixture
def study(services):
    return services.evaluation.mahueval.begin(LOCAL_OWNER, "MaHuEval", PLAN)


class Play:
    """Holds and rates conversations of a study."""

    def __init__(self, services, study):
        self.services, self.study, self.count = services, study, 0

    def step(self, name):
        return self.services.evaluation.mahueval.step(LOCAL_OWNER, self.study.id, name)

    def ask(self, name, question, *passages):
        self.count += 1
        asked = turn(f"t{self.count}", *(passages or ("Same.", f"Passage {self.count}.")), question=question)
        return self.services.evaluation.mahueval.record(LOCAL_OWNER, self.study.id, name, asked).turn

    def hold(self, name, first, turns=2):
        for number in range(turns):
            self.ask(name, first if number == 0 else f"{first} And {number}?")
        return self.services.evaluation.mahueval.finish(LOCAL_OWNER, self.study.id, name)

    def rate(self, name, answer="1"):
        service = self.services.studies
        while turn_id := service.next(LOCAL_OWNER, self.study.id, name):
            values = {(turn_id, "intent"): "boolean", (turn_id, "answer"): answer}
            values |= {(f"{turn_id}#{rank}", "passage"): answer for rank in (1, 2)}
            service.save(LOCAL_OWNER, self.study.id, name, turn_id, values)
        service.look_if_open(LOCAL_OWNER, self.study.id)


@pytest.fixture
def play(services, study):
    return Play(services, study)


def test_a_conversation_is_counted_finished_and_rated_before_the_next_begins(services, study, play):
    assert (play.step(ADA).doing, play.step(ADA).round, play.step(ADA).place) == (Doing.BEGIN, 1, 1)
    with pytest.raises(UsageError, match="No conversation is under way"):
        services.evaluation.mahueval.finish(LOCAL_OWNER, study.id, ADA)
    play.ask(ADA, "  How\nmany? ")
    assert play.step(ADA).doing is Doing.HOLD
    assert play.step(ADA).held.first_question == "How many?"
    with pytest.raises(UsageError, match="1 of at least 2 turns"):
        services.evaluation.mahueval.finish(LOCAL_OWNER, study.id, ADA)
    with pytest.raises(UsageError, match="question is empty"):
        play.ask(ADA, " ")
    play.ask(ADA, "And then?")
    play.ask(ADA, "And now?")
    with pytest.raises(UsageError, match="has its 3 turns"):
        play.ask(ADA, "More?")
    services.evaluation.mahueval.finish(LOCAL_OWNER, study.id, ADA)
    assert play.step(ADA).doing is Doing.RATE
    with pytest.raises(UsageError, match="Rate the turns"):
        play.ask(ADA, "Next?")
    assert services.studies.next(LOCAL_OWNER, study.id, BEN) == ""
    play.rate(ADA)
    assert (play.step(ADA).doing, play.step(ADA).place) == (Doing.BEGIN, 2)


def test_round_two_begins_with_the_others_first_questions(services, study, play):
    for first in ("A one?", "A two?"):
        play.hold(ADA, first)
        play.rate(ADA)
    assert play.step(ADA).doing is Doing.WAIT
    with pytest.raises(UsageError, match="has not begun"):
        play.ask(ADA, "B one?")
    for first in ("B one?", "B two?"):
        play.hold(BEN, first)
        play.rate(BEN)
    assert play.step(ADA).first_question == "B one?"
    assert play.ask(ADA, "something else").question == "B one?"
    assert play.step(BEN).first_question == "A one?"


def played(play):
    """Play the whole protocol; Ben finds every answer of the second round wrong."""
    for name, firsts in ((ADA, ("A one?", "A two?")), (BEN, ("B one?", "B two?"))):
        for place, first in enumerate(firsts):
            play.hold(name, first, turns=2 + place)
            play.rate(name)
    for name, value in ((ADA, "1"), (BEN, "0")):
        for _ in range(2):
            play.hold(name, "is given", turns=2)
            play.rate(name, value)


def test_pairs_are_compared_turn_by_turn_and_what_has_no_counterpart_is_counted(services, study, play):
    with pytest.raises(UsageError, match="signed in and rated everything"):
        services.evaluation.mahueval.overlap(LOCAL_OWNER, study.id, ADA)
    played(play)
    assert play.step(ADA).doing is play.step(BEN).doing is Doing.DONE
    overlap = services.evaluation.mahueval.overlap(LOCAL_OWNER, study.id, ADA)
    assert (overlap.pairs, overlap.counts.turns, overlap.counts.left_out) == (4, 8, 2)
    assert (overlap.counts.passages, overlap.counts.passages_left_out) == (16, 0)
    answer = next(one for one in overlap.all if one.criterion == "answer")
    ada, ben = ["1"] * 8, ["0"] * 4 + ["1"] * 4
    assert answer.n == 8
    assert answer.kappa == pytest.approx(cohen_kappa_score(ada, ben))
    assert next(one for one in overlap.first if one.criterion == "answer").n == 4
    shown = services.studies.reports.summary(LOCAL_OWNER, study.id, ADA)
    assert {row.criterion: row.n for row in shown.table}["answer"] == 8
    assert sum(one.judged.criterion.name == "answer" for one in shown.disagreements) == 4
    rows = services.studies.reports.results(LOCAL_OWNER, study.id, None)  # of each turn by who held it
    overall = {row.rater: row.summary for row in rows if (row.group, row.measure) == ("overall", "accuracy")}
    assert (overall[ADA].n, overall[ADA].unscored, overall[ADA].mean) == (9, 0, 1.0)
    assert (overall[BEN].n, overall[BEN].unscored, overall[BEN].mean) == (9, 0, pytest.approx(5 / 9))
    both = {(row.group, row.value, row.measure): row for row in rows if row.rater == POOLED}
    accuracy = both["overall", "", "accuracy"]
    assert (accuracy.summary.n, accuracy.conversations, accuracy.summary.mean) == (18, 8, pytest.approx(14 / 18))
    assert accuracy.summary.low < 14 / 18 < accuracy.summary.high  # over conversations
    assert both["overall", "", "HR@2"].summary.mean == pytest.approx(14 / 18)
    assert [both["turn", str(number), "accuracy"].summary.n for number in (1, 2, 3)] == [8, 8, 2]
    assert both["turn", "3", "HR@2"].summary.mean == 1.0


def test_the_script_plays_the_protocol_and_prints_the_tables_of_all_and_of_each(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["play_mahueval.py", "--conversations", "1", "--least", "2", "--most", "2"])
    runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "play_mahueval.py"), run_name="__main__")
    said = capsys.readouterr().out
    overall, by_turn = said.partition("Overall")[2].split("By turn")
    for table, counts in ((overall, ("4", "4", "8")), (by_turn, ("2", "2", "4"))):
        lines = [line for line in table.splitlines() if line.split()[:1] != ["Rater"]]
        for name, count in zip((ADA, BEN, POOLED), counts, strict=True):
            assert next(line for line in lines if name in line).partition(name)[2].split()[0] == count
    assert "HR@5" in said


def test_passages_are_paired_where_both_turns_found_them(services, study, play):
    plan = Plan((ADA, BEN), 1, 1, 1)
    small = Play(services, services.evaluation.mahueval.begin(LOCAL_OWNER, "Small", plan))
    for name, first in ((ADA, "A?"), (BEN, "B?")):
        small.ask(name, first)
        services.evaluation.mahueval.finish(LOCAL_OWNER, small.study.id, name)
        small.rate(name)
    for name in (ADA, BEN):
        small.count += 1
        other = next(one for one in services.evaluation.mahueval.roster(LOCAL_OWNER, small.study.id).held
                     if one.round == 1 and one.annotator != name).turns[0]  # fmt: skip
        first, second = other.answer.hits
        new = replace(first, passage=replace(first.passage, id=f"new{name}"))
        answer = replace(other.answer, hits=(replace(second, rank=1), replace(new, rank=2)))
        made = replace(other, id=f"x{small.count}", answer=answer)
        services.evaluation.mahueval.record(LOCAL_OWNER, small.study.id, name, made)
        services.evaluation.mahueval.finish(LOCAL_OWNER, small.study.id, name)
        small.rate(name, "1" if name == ADA else "0")
    overlap = services.evaluation.mahueval.overlap(LOCAL_OWNER, small.study.id, None)
    assert (overlap.counts.passages, overlap.counts.passages_left_out) == (2, 4)
    passage = next(one for one in overlap.all if one.criterion == "passage")
    assert (passage.n, passage.agreement) == (2, 0.5)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan((ADA,)), "two evaluators"), (Plan((ADA, " ada")), "two evaluators"),
        (Plan((ADA, BEN), conversations=0), "cannot have 0 conversations"),
        (Plan((ADA, BEN), least=9, most=8), "9 to 8 turns"),
    ],
)  # fmt: skip
def test_plans_that_cannot_be(services, plan, words):
    with pytest.raises(UsageError, match=words):
        services.evaluation.mahueval.begin(LOCAL_OWNER, "Bad", plan)
    assert services.studies.list(LOCAL_OWNER) == ()


def test_only_the_two_evaluators_hold_conversations(services, study, play):
    with pytest.raises(UsageError, match="Ada and Ben"):
        play.ask("Eve", "Who?")
    services.people.invitations.invite(LOCAL_OWNER, study.id, BEN)
    with pytest.raises(UsageError, match="own link"):
        play.ask(BEN, "Who?")


def test_an_invited_evaluator_asks_the_owners_documents(open_services):
    services = open_services(LITERAL, FakeLLM())
    study = services.evaluation.mahueval.begin(LOCAL_OWNER, "MaHuEval", PLAN)
    token = services.people.invitations.invite(LOCAL_OWNER, study.id, ADA).rpartition("=")[2]
    seat = services.people.invitations.take(study.id, token).owner
    events = list(services.evaluation.mahueval.ask(seat, study.id, ADA, METERS, LITERAL))
    assert isinstance(events[-1], Stored)
    assert events[-1].turn.answer.hits
    assert services.evaluation.mahueval.step(seat, study.id, ADA).held.turns[0].question == METERS
    assert [one.title for one in services.answers.conversations.list(LOCAL_OWNER)] == ["MaHuEval: Ada, round 1, 1"]


def test_a_study_goes_elsewhere_with_its_roster_and_goes_on_there(services, study, play, tmp_path):
    play.hold(ADA, "How many?")
    play.rate(ADA)
    play.ask(BEN, "Begun, not finished?")
    packed = services.studies.files.file(LOCAL_OWNER, study.id, None)
    with Services.open(tmp_path / "elsewhere", Settings(), FakeModels()) as other:
        other.studies.files.take_in(LOCAL_OWNER, packed.data, packed.name)
        here, there = (one.evaluation.mahueval.roster(LOCAL_OWNER, study.id) for one in (services, other))
        assert there.plan == here.plan
        assert there.held == tuple(one for one in here.held if one.finished)
        assert [(one.annotator, one.rated, len(one.turns)) for one in there.held] == [(ADA, 2, 2)]
        assert other.studies.files.file(LOCAL_OWNER, study.id, None).data == packed.data
        elsewhere = Play(other, study)
        elsewhere.count = 50
        elsewhere.hold(BEN, "There?")
        assert other.evaluation.mahueval.roster(LOCAL_OWNER, study.id).of(BEN)[0].finished
