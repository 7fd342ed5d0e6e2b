"""Which server is sent which key."""

from __future__ import annotations

import pytest

from pdfqa_core.models.language import api_key


@pytest.mark.parametrize(
    ("url", "own", "key"),
    [
        ("https://api.openai.com/v1", "", "openai's"),
        ("https://api.openai.com/v1, https://api.openai.com/v2", "", "openai's"),
        ("http://127.0.0.1:8080/v1", "", ""),
        ("https://api.openai.com.example.org/v1", "", ""),
        ("https://api.openai.com/v1,http://127.0.0.1:8080/v1", "", ""),
        ("http://[", "", ""),
        ("http://127.0.0.1:8080/v1", "own", "own"),
        ("https://api.openai.com/v1", "own", "own"),
    ],
)
def test_the_key_for_openai_is_sent_to_openai_alone(monkeypatch: pytest.MonkeyPatch, url: str, own: str, key: str):
    monkeypatch.setenv("OPENAI_API_KEY", "openai's")
    monkeypatch.setenv("PDFQA_LLM_API_KEY", own)
    assert api_key(url) == key
