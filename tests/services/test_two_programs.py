"""Two programs on one database: the work of one that is killed is done by the other, nothing is lost or done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pdfqa_core.errors import ConflictError
from pdfqa_core.programs import is_gone, this_program
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.tasks import Workers
from pdfqa_core.storage.work import MOST_TRIES, Piece, Work
from tests.services.helpers import until

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.both_databases
NAMES = ["one.pdf", "two.pdf", "three.pdf", "four.pdf"]


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is a Unix signal")
def test_what_a_killed_program_was_reading_is_read_by_the_other_one(open_services, make_pdf, tmp_path):
    services = open_services(empty=True)
    services.tasks.workers.every = 0.2
    services.documents.jobs.resume()
    files = [str(make_pdf([f"The page of {name}."], name=name)) for name in NAMES]
    program = [sys.executable, "-m", "tests.services.worker_program", str(services.workspace), *files]
    other = subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline() == b"one\n"
        work = Work(services._store.database, is_gone)
        (piece,) = work.claimed("reading")
        assert services.tasks.workers.elsewhere("reading") == {piece}
        before = {one.document_id: one.read_at for one in services.documents.kept.readings(LOCAL_OWNER)}
        assert len(before) == 1
        services.tasks.workers.take_up()  # the other program lives, so nothing is taken from it
        assert services.documents.jobs.of(LOCAL_OWNER) == ()
    finally:
        other.send_signal(signal.SIGKILL)
        assert other.wait() == -signal.SIGKILL
        other.stdout.close()
    until(lambda: services.documents.jobs.of(LOCAL_OWNER) and services.documents.jobs.of(LOCAL_OWNER)[0].ended)
    readings = services.documents.kept.readings(LOCAL_OWNER)
    assert sorted(one.filename for one in services.documents.kept.list(LOCAL_OWNER)) == sorted(NAMES)
    assert len(readings) == len(NAMES)
    assert {one.document_id: one.read_at for one in readings}.items() >= before.items()  # not read again
    assert work.claim(["reading"], "anybody") is None
    assert list((services.workspace / "incoming").iterdir()) == []


def test_a_run_is_under_way_in_one_program_only(open_services):
    first, second = open_services(empty=True), open_services(empty=True)
    second.tasks.workers.name = "elsewhere/1/0"
    first.tasks.workers.begin(Piece("a run", "run", LOCAL_OWNER, "{}"))
    with pytest.raises(ConflictError, match="under way already"):
        second.tasks.workers.begin(Piece("a run", "run", LOCAL_OWNER, "{}"))
    assert second.tasks.workers.elsewhere("run") == {"a run"}
    assert first.tasks.workers.elsewhere("run") == frozenset()
    first.tasks.workers.finish("a run")
    second.tasks.workers.begin(Piece("a run", "run", LOCAL_OWNER, "{}"))


def test_a_program_is_told_of_work_that_another_one_took_and_gives_up_what_kills_it(open_services, caplog):
    database = open_services(empty=True)._store.database
    work, lost, taken = Work(database), threading.Event(), []
    slow = Workers(work, "slow", every=0.05)
    slow.register("reading", taken.append, lambda _piece: lost.set(), lambda: True)
    slow.begin(Piece("one", "reading", "me", ""))
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE work SET worker = 'fast'")
    assert lost.wait(20)
    work.renew("fast", lease=-1)
    with database.write() as connection:
        connection.exec_driver_sql(f"UPDATE work SET tries = {MOST_TRIES}")
    slow.take_up()
    slow.close()
    assert taken == []
    assert "is given up" in caplog.text
    assert work.claimed("reading") == frozenset()


def test_a_worker_is_known_to_be_gone_only_where_that_is_certain():
    host, process, _began = this_program().rsplit("/", 2)
    assert not is_gone(this_program())
    assert is_gone(f"{host}/{process}/1.00")
    assert not is_gone(f"another-host/{process}/1.00")
    assert not is_gone("nonsense")
