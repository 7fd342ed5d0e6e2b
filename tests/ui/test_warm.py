"""An app that is a fork behaves as one from the command line: what it is told, what it prints, how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.ui.serving import ROOT, clean_environment, running, serve_command
from tests.ui.warm import Warm

pytestmark = pytest.mark.linux


def temporary_folders(folder: Path) -> list[str]:
    """Return the names of the app's folders for uploads; it removes its own at its end."""
    return [path.name for path in folder.glob("pdfqa-*")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_in_order_when_told_to_and_leaves_nothing(tmp_path: Path, number: int):
    with running(tmp_path) as app:
        assert isinstance(app.process, Warm)
        assert app.process.poll() is None
        assert temporary_folders(app.temporary)[0].startswith(f"pdfqa-{app.process.pid}-")
        assert os.getpgid(app.process.pid) == os.getpgid(0)
        app.process.send_signal(number)
        assert app.process.wait(timeout=20) == 0
    assert temporary_folders(app.temporary) == []


def test_two_run_at_once_and_one_that_is_killed_says_by_which_signal(tmp_path: Path):
    with running(tmp_path / "one") as one, running(tmp_path / "two") as two:
        assert one.url != two.url
        one.process.kill()
        assert one.process.wait(timeout=20) == -signal.SIGKILL
        assert two.process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            two.process.wait(0.01)


def test_what_it_prints_and_its_exit_status_are_those_of_the_command(tmp_path: Path):
    command = serve_command(tmp_path / "workspace", "--port", "none", "–")
    environment = clean_environment(TMPDIR=str(tmp_path))
    real = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    forked = Warm(command[3:], ROOT, environment)
    assert forked.stdout.read() == (real.stdout + real.stderr).decode()
    assert forked.wait(timeout=20) == real.returncode == 2
