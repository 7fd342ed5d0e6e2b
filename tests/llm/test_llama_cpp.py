"""The local engine: what it says when things are missing, and how many threads it takes."""

import sys
import threading

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.interfaces import Message
from pdfqa_core.llm import LlamaCpp, native
from pdfqa_core.streaming import complete


def test_a_missing_file_is_reported_and_the_queue_is_left(tmp_path):
    llm = LlamaCpp(tmp_path / "absent.gguf")
    with pytest.raises(ModelError, match="does not exist"):
        list(complete(llm, [Message("user", "x")], max_tokens=1))
    assert len(llm.lock.tickets) == 0
    assert not llm.loaded


def test_a_stop_before_the_start_loads_nothing(tmp_path):
    stop = threading.Event()
    stop.set()
    assert list(complete(LlamaCpp(tmp_path / "absent.gguf"), [Message("user", "x")], max_tokens=1, stop=stop)) == []


@pytest.mark.model
def test_a_damaged_file_is_reported(tmp_path):
    file = tmp_path / "damaged.gguf"
    file.write_bytes(b"GGUF" + bytes(range(200)))
    with pytest.raises(ModelError, match=r"damaged\.gguf does not load"):
        LlamaCpp(file).load()


def test_without_the_library_the_command_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    monkeypatch.setattr(native, "library", native.library.__wrapped__)
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(ModelError) as caught:
        LlamaCpp(path).load()
    assert "pip install llama-cpp-python" in caught.value.hint
