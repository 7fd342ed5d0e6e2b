"""What Ctrl-C and SIGTERM do to `pdfqa serve`; the whole program is in tests/ui/test_serving_safely.py."""

from __future__ import annotations

import signal
import threading

import pytest

from pdfqa_core.cli import serve
from pdfqa_core.cli.serve import _until_told

SIGNALS = (signal.SIGINT, signal.SIGTERM)


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


def test_an_end_that_takes_too_long_is_cut_off_and_said(monkeypatch: pytest.MonkeyPatch, caplog):
    left = threading.Event()
    monkeypatch.setattr(serve, "LONGEST_END", 0.01)
    monkeypatch.setattr(serve, "_leave", left.set)
    serve._end_in_time()
    assert left.wait(60)
    assert "did not stop within 0.01 seconds" in caplog.text
