"""What Ctrl-C and SIGTERM do to `pdfqa serve`; the whole program is in tests/ui/test_serving_safely.py."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from pdfqa_core.cli.serve import _until_told

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SLOW_END = """
from pdfqa_core.cli import serve
import time
serve.LONGEST_END = 0.2
serve._end_in_time()
time.sleep(60)
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_is_an_event_and_the_second_is_left_to_the_system(number: signal.Signals):
    before = [signal.getsignal(one) for one in SIGNALS]
    with _until_told() as told:
        assert not told.is_set()
        signal.raise_signal(number)
        assert told.is_set()
        assert signal.getsignal(number) is signal.SIG_DFL
    assert [signal.getsignal(one) for one in SIGNALS] == before


def test_handlers_are_put_back_after_an_error_too():
    before = [signal.getsignal(one) for one in SIGNALS]
    with pytest.raises(ValueError, match="port"), _until_told():
        raise ValueError("port")
    assert [signal.getsignal(one) for one in SIGNALS] == before


@pytest.mark.skipif(os.name != "posix", reason="exit statuses as of POSIX")
def test_a_second_signal_ends_the_process_at_once():
    code = (
        "import signal; from pdfqa_core.cli.serve import _until_told\n"
        "with _until_told() as told:\n"
        "    signal.raise_signal(signal.SIGTERM); print(told.is_set(), flush=True)\n"
        "    signal.raise_signal(signal.SIGTERM); print('still here')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "True\n")


def test_an_end_that_takes_too_long_is_cut_off_and_said():
    done = subprocess.run([sys.executable, "-c", SLOW_END], capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0
    assert "did not stop within 0.2 seconds" in done.stderr
