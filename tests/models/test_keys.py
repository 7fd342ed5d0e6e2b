"""Which server is sent which key."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdfqa_core.models import LanguageModel, ModelFiles
from pdfqa_core.models.language import api_key
from pdfqa_core.settings import Settings


@pytest.mark.parametrize(
    ("url", "own", "key"),
    [
        ("https://api.openai.com/v1", "", "openai's"),
        ("http://127.0.0.1:8080/v1", "", ""),
        ("https://api.openai.com.example.org/v1", "", ""),
        ("https://api.openai.com/v1,http://127.0.0.1:8080/v1", "own", ""),
        ("http://[", "", ""),
        ("http://127.0.0.1:8080/v1", "own", "own"),
        ("https://api.openai.com/v1", "own", "own"),
    ],
)
def test_the_key_for_openai_is_sent_to_openai_alone(monkeypatch: pytest.MonkeyPatch, url: str, own: str, key: str):
    monkeypatch.setenv("OPENAI_API_KEY", "openai's")
    monkeypatch.setenv("PDFQA_LLM_API_KEY", own)
    assert api_key(url) == key


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://10.0.0.5:8080/v1", "own"),
        ("http://10.0.0.5:8080", "own"),
        ("http://10.0.0.7:8080/v1", ""),
        ("http://10.0.0.5:8081", ""),
        ("https://api.openai.com/v1", "openai's"),
    ],
)
def test_a_key_is_sent_to_the_server_that_it_was_set_with(monkeypatch: pytest.MonkeyPatch, url: str, key: str):
    monkeypatch.setenv("PDFQA_LLM_URL", "http://10.0.0.5:8080/v1")
    monkeypatch.setenv("PDFQA_LLM_API_KEY", "own")
    monkeypatch.setenv("OPENAI_API_KEY", "openai's")
    assert api_key(url) == key


def test_a_model_beside_the_one_in_use_takes_a_key_to_no_other_address(tmp_path: Path):
    settings = Settings().changed("llm", engine="openai", url="http://10.0.0.5:8080", model="m").llm
    language = LanguageModel(settings, ModelFiles(tmp_path), key=lambda url: "own")
    other = language.beside(settings.model_copy(update={"url": "http://10.0.0.7:8080"}))
    assert (other.key("http://10.0.0.5:8080"), other.key("http://10.0.0.7:8080")) == ("own", "")
    assert language.settings == settings
