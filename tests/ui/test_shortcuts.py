"""The list of keys says what the page and its docs say."""

from __future__ import annotations

from pdfqa_core.protocols.annotation import CRITERIA
from pdfqa_core.ui import TABS
from pdfqa_core.ui.shortcuts import EVERYWHERE, OF_TABS, shortcuts_html
from tests.ui.serving import ROOT


def test_the_docs_name_every_key_that_works_everywhere():
    page = (ROOT / "docs" / "keys.md").read_text(encoding="utf-8")
    for keys, _ in EVERYWHERE:
        assert all(key in page for key in keys.split()), keys
    assert set(OF_TABS) < set(TABS)


def test_the_keys_of_all_criteria_are_listed():
    html = shortcuts_html(CRITERIA)
    for words in ("intent of the question: boolean", "answer: incorrect", "the others are not relevant"):
        assert words in html
    for key in "123YNQWERXCSB":
        assert f"<kbd>{key}</kbd>" in html
