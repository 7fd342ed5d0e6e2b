from __future__ import annotations

import threading

import pytest

from pdfqa_core.errors import PdfQAError, StoppedError
from pdfqa_core.interfaces import Message, Usage
from pdfqa_core.models.language import CurrentLLM
from tests.conftest import FakeLLM

ASK = [Message("user", "one two")]


@pytest.fixture
def current(fake_llm: FakeLLM):
    fake_llm.enqueue(["red green blue"])
    return CurrentLLM(fake_llm)


def test_waiting_for_an_engine_can_be_stopped(current):
    stop = threading.Event()
    with current.alone("loading big"):
        stream = current.stream(ASK, max_tokens=9, stop=stop)
        next(stream)
        stop.set()
        assert list(stream) == [Usage(finish_reason="stopped")]
        with pytest.raises(StoppedError):
            current.choose(ASK, ["a", "b"], stop=stop)
    assert current.calls == 0


def test_replacing_waits_for_calls_under_way_and_can_be_stopped(current):
    stream = current.stream(ASK, max_tokens=9)
    next(stream)
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoppedError), current.alone("loading big", stop):
        raise AssertionError("a call is under way")
    stream.close()
    with current.alone("loading big"), pytest.raises(PdfQAError, match="Another model"), current.alone("loading more"):
        raise AssertionError("two engines at once")
    assert current.count_tokens(ASK) == 6
