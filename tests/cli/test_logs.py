"""Logs as lines for people or for programs."""

from __future__ import annotations

import json
import logging

import pytest

from pdfqa_core.cli.terminal import begin


@pytest.mark.parametrize("form", ["json", ""])
def test_lines_of_json_hold_a_whole_message_each_and_others_are_for_people(monkeypatch, capsys, form):
    monkeypatch.setattr(logging, "root", logging.RootLogger(logging.NOTSET))
    begin({"PDFQA_LOG": form})
    log = logging.root
    log.info("not said")
    log.warning("two\nlines %s", "ü\x00\ud800" if form else "ü")
    try:
        raise ZeroDivisionError
    except ZeroDivisionError as error:
        log.error("failed", exc_info=error)
    lines = capsys.readouterr().err.splitlines()
    if not form:
        assert lines[:2] == ["WARNING root: two", "lines ü"]
        return
    first, second = map(json.loads, lines)
    assert (first["level"], first["logger"], first["message"]) == ("WARNING", "root", "two\nlines ü\ufffd\ufffd")
    assert first["time"].endswith("+00:00")
    assert "ZeroDivisionError" in second["error"]
