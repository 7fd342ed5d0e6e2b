"""Logs as lines for people or for programs."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys

import pytest

from pdfqa_core.cli.logs import JsonLines

CODE = (
    "import logging\nfrom pdfqa_core.cli.logs import begin\nbegin()\nlog = logging.getLogger('pdfqa_core.test')\n"
    "log.info('not said')\nlog.warning('two\\nlines %s', 'ü')\n"
    "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    log.error('failed', exc_info=error)\n"
)


def said(**environment: str) -> list[str]:
    environ = {**os.environ, "PYTHONIOENCODING": "utf-8", **environment}
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=True, env=environ
    )
    return done.stderr.splitlines()


def test_lines_of_json_hold_a_whole_message_each():
    first, second = map(json.loads, said(PDFQA_LOG="json"))
    assert (first["level"], first["logger"], first["message"]) == ("WARNING", "pdfqa_core.test", "two\nlines ü")
    assert first["time"].endswith("+00:00")
    assert "ZeroDivisionError" in second["error"]


def test_without_the_variable_they_are_for_people():
    assert said(PDFQA_LOG="")[:2] == ["WARNING pdfqa_core.test: two", "lines ü"]


@pytest.mark.parametrize("message", ["a\x00b", "\ud800"])
def test_a_line_can_always_be_written(message: str):
    record = logging.LogRecord("x", logging.WARNING, "", 1, message, (), None)
    assert "\ufffd" in json.loads(JsonLines().format(record).encode().decode())["message"]
