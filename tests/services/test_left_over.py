"""What a killed program left in the workspace goes at the next start, but not what another one is at work on."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select

from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.storage.database import work
from tests.services.helpers import built, only

ROOT = Path(__file__).resolve().parents[2]
LEAVING = """
import sys, time
from pathlib import Path
from pdfqa_core.storage import Store
from pdfqa_core.whole_files import unfinished_name
workspace = Path(sys.argv[1])
store = Store.open(workspace)
store.files.store(b"%PDF an upload that no document came of")
(store.files.folder / ("0" * 64 + "-half.tmp")).write_bytes(b"of nobody")
for folder in ("", "indexes/x", "training/mine", "models/encoders", "incoming", "run_data"):
    (workspace / folder).mkdir(parents=True, exist_ok=True)
    unfinished_name(workspace / folder).write_bytes(b"half")
unfinished_name(workspace / "models").mkdir()
print("begun", flush=True)
time.sleep(600)
"""


def files(workspace):
    return {path.relative_to(workspace).as_posix() for path in workspace.rglob("*") if path.is_file()}


@pytest.mark.linux
def test_it_goes_at_the_next_start(open_services):
    services = open_services()
    built(services)
    kept = services.documents.original(LOCAL_OWNER, only(services).id).path
    services.close()
    before = files(services.workspace)
    command = [sys.executable, "-c", LEAVING, str(services.workspace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"begun\n"
        there = files(services.workspace)
        open_services().close()
        logs = {"pdfqa.sqlite-wal", "pdfqa.sqlite-shm"}
        assert files(services.workspace) | logs == there | logs  # it is at work
        child.send_signal(signal.SIGKILL)
    open_services().close()
    assert files(services.workspace) == before | {f"pdfs/{'0' * 64}-half.tmp"}  # which it did not record
    assert kept.exists()


def test_an_upload_is_noted_before_it_comes_into_the_workspace(open_services, letter, monkeypatch):
    """A copy that nobody noted would lie there for ever, had the program been killed."""
    services, noted = open_services(), []

    def move(source, target):
        with services.tasks.workers._work._database.read() as connection:
            noted.extend(connection.scalars(select(work.c.content)))
        real(source, target)

    real = shutil.move
    monkeypatch.setattr(shutil, "move", move)
    batch = services.documents.jobs.begin(LOCAL_OWNER, [letter], keep=True, extraction=services.settings.extraction)
    list(batch.events())
    assert [str(path) in noted[0] for path in batch.copies] == [True]
    assert list((services.workspace / "incoming").iterdir()) == []
