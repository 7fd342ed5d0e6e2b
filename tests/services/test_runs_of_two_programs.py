"""A run of an evaluation on a database that two programs share: one goes on where the other was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from pdfqa_core.errors import PdfQAError
from pdfqa_core.evaluation_types import RunState
from pdfqa_core.services import LOCAL_OWNER, RunRequest
from pdfqa_core.services.evaluation import WORK
from pdfqa_core.storage.work import Work
from tests.services.answering_server import answering, opened_with
from tests.services.helpers import until

ROOT = Path(__file__).resolve().parents[2]
ASKED = [f"What is number {number}?" for number in range(8)]
ROWS = [{"id": str(place), "question": question, "answer": "x"} for place, question in enumerate(ASKED)]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="SIGKILL is a Unix signal")


@pytest.fixture
def server():
    with answering(seconds=0.3) as one:
        yield one


@pytest.fixture
def opened(tmp_path, server, database_in_environment):
    """Services of this program, which takes up at once what another one leaves."""
    with opened_with(tmp_path / "workspace", server.settings) as services:
        services.tasks.workers.every = 0.2
        yield services


@contextmanager
def running_elsewhere(services, server, data):
    """Give a program that has begun a run, and the run's id, once some questions are answered."""
    program = [sys.executable, "-m", "tests.services.run_program", str(services.workspace), str(data)]
    other = subprocess.Popen([*program, server.settings.model_dump_json()], cwd=ROOT, stdout=subprocess.PIPE)
    try:
        run_id = other.stdout.readline().decode().strip()
        until(lambda: len(services.evaluation.runs.predictions(LOCAL_OWNER, run_id)) >= 2)
        yield other, run_id
    finally:
        other.kill()
        other.wait()
        other.stdout.close()


def stored(services):
    """Return when each answer was stored, by item."""
    with services._store.database.read() as connection:
        return {
            row.item_id: row.made_at for row in connection.execute(text("SELECT item_id, made_at FROM predictions"))
        }


@pytest.mark.both_databases
def test_a_killed_run_is_finished_by_the_other_program_and_no_answer_is_lost_or_made_twice(opened, server, write):
    opened.tasks.workers.take_up()
    with running_elsewhere(opened, server, write(ROWS)) as (other, run_id):
        opened.tasks.workers.take_up()  # the other program lives, so nothing is taken from it
        assert opened.evaluation.under_way(LOCAL_OWNER) == ("", None)
        with pytest.raises(PdfQAError, match="under way already"):
            opened.evaluation.start(LOCAL_OWNER, run_id)
        other.send_signal(signal.SIGKILL)
        assert other.wait() == -signal.SIGKILL
        server.seconds = 0.0
        before = stored(opened)
        assert 2 <= len(before) < len(ROWS)
        until(lambda: opened.evaluation.runs.get(LOCAL_OWNER, run_id).state is RunState.DONE)
    after = stored(opened)
    assert set(after) == {row["id"] for row in ROWS}
    assert after.items() >= before.items()  # not stored again
    asked = [sum(question in prompt for prompt in server.prompts) for question in ASKED]
    assert min(asked) == 1
    assert sum(asked) <= len(ASKED) + 1  # the one that was being answered may be asked again
    assert all(asked[int(item)] == 1 for item in before)
    until(lambda: Work(opened._store.database).claim([WORK], "anybody") is None)
    results = opened.evaluation.runs.get(LOCAL_OWNER, run_id).results
    assert [item.id for item in results.systems[0].items] == [row["id"] for row in ROWS]
    assert all(
        one.answer.startswith("It is number")
        for one in opened.evaluation.runs.predictions(LOCAL_OWNER, run_id).values()
    )


def test_a_run_is_stopped_from_the_other_program_and_taken_up_by_neither(opened, server, write):
    with opened_with(opened.workspace, server.settings) as other:
        other.tasks.workers.name, other.tasks.workers.every = "elsewhere/1/0", 0.2
        wanted = RunRequest("answers", write(ROWS), {"served": server.settings}, ("none",), options={"bertscore": "no"})
        run_id = other.evaluation.launch(LOCAL_OWNER, wanted).id
        until(lambda: len(opened.evaluation.runs.predictions(LOCAL_OWNER, run_id)) >= 2)
        opened.evaluation.stop_under_way(LOCAL_OWNER)
        until(lambda: not other.evaluation.under_way(LOCAL_OWNER)[0])
        assert other.evaluation.said(run_id).startswith("Stopped after ")
        server.seconds = 0.0
    done = len(opened.evaluation.runs.predictions(LOCAL_OWNER, run_id))
    assert 2 <= done < len(ROWS)
    opened.tasks.workers.take_up()
    assert opened.evaluation.under_way(LOCAL_OWNER) == ("", None)
    assert opened.evaluation.runs.get(LOCAL_OWNER, run_id).state is RunState.STOPPED
    opened.evaluation.start(LOCAL_OWNER, run_id)
    until(lambda: opened.evaluation.runs.get(LOCAL_OWNER, run_id).state is RunState.DONE)
    assert len(opened.evaluation.runs.predictions(LOCAL_OWNER, run_id)) == len(ROWS)
