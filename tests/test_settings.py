from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.services.recipes import check
from pdfqa_core.settings import Settings, load, models_path, read_settings, workspace_path

SECTIONS = tuple(Settings.model_fields)


def test_the_defaults_are_valid_and_name_strategies_that_exist():
    assert load({}) == Settings()
    assert load(Settings().model_dump()) == Settings()
    check(Settings())


# ------------------------------------------------------------------ wrong values


@pytest.mark.parametrize(
    ("section", "values", "words"),
    [
        ("extraction", {"max_pages": 0}, "extraction.max_pages: Input should be greater than or equal to 1"),
        ("extraction", {"memory_mb": "much"}, "extraction.memory_mb"),
        ("chunking", {"unit": "letters"}, "chunking.unit"),
        ("chunking", {"step": 500}, "chunking: step (500) is above size (120)"),
        ("chunking", {"min_length": 40}, "chunking: min_length and max_length go together"),
        ("chunking", {"min_length": 90, "max_length": 50}, "chunking: min_length (90) is above max_length (50)"),
        ("retrieval", {"k": 0}, "retrieval.k"),
        ("retrieval", {"b": 1.5}, "retrieval.b"),
        ("llm", {"temperature": -1}, "llm.temperature"),
        ("llm", {"seed": -1}, "llm.seed"),
        ("llm", {"top_k": -1}, "llm.top_k"),
        ("llm", {"top_p": 0}, "llm.top_p"),
        ("llm", {"min_p": 1.1}, "llm.min_p"),
        ("llm", {"repeat_penalty": 0}, "llm.repeat_penalty"),
        ("llm", {"context_size": 100}, "llm.context_size"),
        ("reading", {"passages": -1}, "reading.passages"),
        ("reading", {"confidence_threshold": 2}, "reading.confidence_threshold"),
        ("reading", {"refusal": "magic"}, "reading.refusal"),
        ("conversation", {"turns": -1}, "conversation.turns"),
        ("server", {"port": 70000}, "server.port"),
        ("server", {"colour": "red"}, "server.colour: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_value_names_its_field(section, values, words):
    with pytest.raises(UsageError) as raised:
        load({section: values})
    assert words in raised.value.what
    with pytest.raises(UsageError) as again:
        Settings().changed(section, **values)
    assert words in again.value.what


@pytest.mark.parametrize(
    ("section", "field"),
    [
        ("extraction", "extractor"), ("chunking", "chunker"), ("chunking", "read_by"), ("retrieval", "retriever"),
        ("reading", "reader"), ("conversation", "rewriter"), ("llm", "engine"),
    ],
)  # fmt: skip
def test_an_unknown_strategy_is_a_usage_error_with_the_choices(section, field):
    with pytest.raises(UsageError, match=r"called 'magic'.*Choose one of: \w+"):
        check(Settings().changed(section, **{field: "magic"}))


# ------------------------------------------------------------------ fingerprint

OTHER = {  # another valid value for every setting
    "extraction": {
        "extractor": "x", "tables": False, "visual_pages": "all", "workers": 7, "max_file_mb": 7, "max_pages": 7,
        "max_characters": 7000, "memory_mb": 700, "seconds": 7, "page_seconds": 7,
    },
    "chunking": {
        "chunker": "snippets", "unit": "tokens", "length": 77, "size": 77, "step": 17, "headings": False,
        "unmodified": True, "tables": "in-text",
        "read_by": "x", "min_length": (5, {"max_length": 70}), "max_length": (71, {"min_length": 5}),
    },
    "retrieval": {
        "retriever": "bm25", "k": 7, "k1": 1.7, "b": 0.7, "idf": "okapi",
        "language": "german", "stemming": True, "stop_words": False,
        "spelling": False, "embedding_model": "x", "embedding_precision": "exact", "candidates": 7,
        "clamp": False, "rrf_k": 7, "weight": 0.7,
        "exact_below": 7, "index": "lance", "late_model": "x", "first_stage": "bm25", "reranker": "x",
        "rerank_candidates": 7, "per_page": 7, "merge_overlaps": False,
    },
    "llm": {
        "engine": "openai", "model": "x", "models_folder": "x", "url": "x",
        "context_size": 777, "threads": 7,
        "gpu_layers": 7, "batch_size": 77, "max_tokens": 7, "temperature": 0.7, "seed": 7,
        "top_k": 7, "top_p": 0.7, "min_p": 0.7, "repeat_penalty": 1.7,
    },
    "reading": {
        "reader": "extractive", "passages": 7, "refusal": "model", "confidence_threshold": 0.7, "sure_threshold": 0.7,
        "citation_threshold": 0.7, "partly_threshold": 0.7, "check_meaning": False, "prompt_tokens": 77, "plain": True,
        "instruction": "x",
    },
    "conversation": {"rewriter": "none", "turns": 7},
    "server": {
        "host": "0.0.0.0", "hosts": "docs.example.org", "port": 7, "demo": True, "visitor_mb": 7, "visitor_hours": 7,
        "visitor_pages": 7, "visitor_seconds": 77, "total_mb": 7, "per_minute": 7, "proxied": True,
        "mode": "simple", "proxies": "10.0.0.7", "user_header": "X-Forwarded-User", "mcp": True,
    },
}  # fmt: skip


def test_another_value_is_known_for_every_setting():
    fields = {section: set(Settings.model_fields[section].annotation.model_fields) for section in SECTIONS}
    assert {section: set(values) for section, values in OTHER.items()} == fields


@pytest.mark.parametrize(("section", "name"), [(section, name) for section in OTHER for name in OTHER[section]])
def test_the_fingerprint_tells_settings_apart_except_where_page_and_files_lie(section, name):
    value = OTHER[section][name]
    value, more = value if isinstance(value, tuple) else (value, {})
    changed = Settings().changed(section, **{name: value, **more})
    assert changed != Settings()
    assert (changed.fingerprint() == Settings().fingerprint()) is (section == "server" or name == "models_folder")


# ------------------------------------------------------------------ file and environment


@pytest.fixture
def toml(tmp_path):
    def write(text):
        (tmp_path / "pdfqa.toml").write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_the_file_beats_the_defaults_and_the_environment_beats_the_file(toml):
    folder = toml('[llm]\nmodel = "qwen"\nseed = 4\n[server]\nport = 1111\nhost = "::1"\n')
    found = read_settings(folder, {})
    assert (found.llm.model, found.llm.seed, found.server.port, found.server.host) == ("qwen", 4, 1111, "::1")
    found = read_settings(folder, {"PDFQA_MODEL": "smollm2-135m", "GRADIO_SERVER_PORT": "2222"})
    assert (found.llm.model, found.llm.seed, found.server.port) == ("smollm2-135m", 4, 2222)


@pytest.mark.parametrize(
    ("environ", "port"),
    [({"PORT": "81"}, 81), ({"GRADIO_SERVER_PORT": "82"}, 82), ({"PORT": "81", "GRADIO_SERVER_PORT": "82"}, 82)],
)
def test_the_port_of_the_environment(tmp_path, environ, port):
    assert read_settings(tmp_path, environ).server.port == port


def test_a_space_is_a_demo_on_all_interfaces_unless_told_otherwise(tmp_path):
    server = read_settings(tmp_path, {"SPACE_ID": "me/it"}).server
    assert (server.demo, server.host) == (True, "0.0.0.0")
    assert not read_settings(tmp_path, {"SPACE_ID": "me/it", "PDFQA_DEMO": "0"}).server.demo
    named = read_settings(tmp_path, {"SPACE_ID": "me/it", "GRADIO_SERVER_NAME": "127.0.0.1"})
    assert named.server.host == "127.0.0.1"


@pytest.mark.parametrize(("value", "demo"), [("1", True), ("yes", True), ("0", False), ("False", False), ("no", False)])
def test_the_demo_variable(tmp_path, value, demo):
    assert read_settings(tmp_path, {"PDFQA_DEMO": value}).server.demo is demo


def test_a_server_is_asked_for_no_model_that_nobody_named(toml, tmp_path):
    local = Settings().changed("llm", threads=2)
    server = local.changed("llm", engine="openai", url="http://localhost:8080/v1")
    assert load({"llm": {"engine": "openai"}}).llm.model == server.llm.model == ""
    assert server.changed("llm", engine="llama_cpp").llm.model == local.llm.model == "auto"
    assert server.changed("llm", model="big").changed("llm", seed=1).llm.model == "big"
    toml('[llm]\nengine = "openai"\nurl = "http://localhost:8080/v1"\n')
    assert read_settings(tmp_path, {}).llm.model == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[llm\n", "is not valid TOML"),
        ("[retrieval]\nk = 0\n", "retrieval.k"),
        ("[retrival]\nk = 1\n", "retrival"),
        ('llm = "big"\n', "llm: "),
    ],
)
def test_a_wrong_file_is_told(toml, text, words):
    with pytest.raises(UsageError, match=words):
        read_settings(toml(text), {"PDFQA_MODEL": "smollm2-135m"})


# ------------------------------------------------------------------ what was chosen on the Models tab


def test_what_was_chosen_on_the_page_beats_the_file_and_the_environment_beats_both(toml):
    folder = toml('[llm]\nmodel = "qwen"\nseed = 4\nthreads = 3\n')
    chosen = {"llm": {"engine": "openai", "url": "http://x/v1", "model": "big", "threads": 2}, "added": ["/a.gguf"]}
    (folder / "models.json").write_text(json.dumps(chosen))
    llm = read_settings(folder, {}).llm
    assert (llm.engine, llm.model, llm.url, llm.seed, llm.threads) == ("openai", "big", "http://x/v1", 4, 2)
    llm = read_settings(folder, {"PDFQA_MODEL": "smollm2-135m"}).llm
    assert (llm.engine, llm.model, llm.url, llm.threads) == ("llama_cpp", "smollm2-135m", "", 2)


@pytest.mark.parametrize("text", ["{", "[]", '{"llm": 1}', '{"llm": {"threads": -1}}', '{"llm": {"colour": "red"}}'])
def test_damaged_choices_are_told(tmp_path, text):
    (tmp_path / "models.json").write_text(text)
    with pytest.raises(UsageError, match=r"models\.json|llm\."):
        read_settings(tmp_path, {})


# ------------------------------------------------------------------ workspace


def test_the_workspace_variable_wins(tmp_path):
    environ = {"PDFQA_WORKSPACE": str(tmp_path / "mine"), "SPACE_ID": "me/it"}
    assert workspace_path(environ) == tmp_path / "mine"
    assert workspace_path({"PDFQA_WORKSPACE": "~/mine"}) == Path.home() / "mine"


def test_a_space_keeps_its_data_where_it_stays(monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) == "/data" and mode == os.W_OK)
    assert workspace_path({"SPACE_ID": "me/it"}) == Path("/data")
    assert workspace_path({}) != Path("/data")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert workspace_path({"SPACE_ID": "me/it"}) == workspace_path({})


def test_model_files_lie_where_every_workspace_of_the_user_finds_them(monkeypatch):
    named = Settings().changed("llm", models_folder="~/weights").llm
    assert models_path(named, {}) == Path.home() / "weights"
    assert models_path(named, {"PDFQA_MODELS": "/m"}) == Path("/m")
    llm = Settings().llm
    assert models_path(llm, {"XDG_CACHE_HOME": "/c"}) == Path("/c/pdfqa/models")
    assert models_path(llm, {}) == Path.home() / ".cache" / "pdfqa" / "models"
    monkeypatch.setattr(os, "access", lambda path, mode: True)
    assert models_path(llm, {"SPACE_ID": "me/it"}) == Path("/data/models")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert models_path(llm, {"SPACE_ID": "me/it"}) == models_path(llm, {})


def test_settings_of_earlier_versions_are_passed_over_in_files_and_stored_runs():
    told = {"llm": {"adapter": False, "max_tokens": 77}, "conversation": {"new_topic": 0.7, "turns": 7}}
    told["server"] = {"index_address": "s3://bucket"}
    assert load(told) == load({"llm": {"max_tokens": 77}, "conversation": {"turns": 7}})
    with pytest.raises(UsageError, match=r"llm\.adaptor"):
        load({"llm": {"adaptor": False}})
