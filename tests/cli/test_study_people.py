"""`pdfqa study invite`, `begin` and `roster`."""

from __future__ import annotations

import json

import pytest

from pdfqa_core.cli import main
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.storage import Store
from tests.storage.conftest import turn


@pytest.fixture
def call(tmp_path, capsys):
    def run(*arguments):
        code = main([*arguments, "--workspace", str(tmp_path / "workspace"), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def study(tmp_path):
    with Store.open(tmp_path / "workspace") as store:
        conversation = store.conversations.create(LOCAL_OWNER, "Heat pump")
        store.conversations.append_turn(LOCAL_OWNER, conversation.id, turn("t0"))
        return store.studies.create(LOCAL_OWNER, "Pilot", [conversation.id]).id


def test_people_are_invited_listed_and_taken_back(call, study):
    code, made = call("study", "invite", "Ada", "--url", "https://here.example/")
    assert code == 0
    assert made["link"].startswith(f"https://here.example/?tab=annotate&study={study}&invite=")
    assert call("study", "invite", "Ada") == (2, {"error": {
        "what": "“Ada” is invited already.", "hint": "Renew the link of that invitation."}})  # fmt: skip
    newer = call("study", "invite", "Ada", "--renew")[1]["link"]
    assert newer not in made["link"]
    password = call("study", "invite", "Ada", "--password")[1]
    assert len(password["password"]) >= 16
    assert password["link"].endswith("&enter=1")
    assert call("study", "invite", "Eve", "--viewer")[0] == 0
    people = call("study", "invite")[1]["people"]
    assert [(one["name"], one["role"], one["came_in"]) for one in people] == [
        ("Ada", "annotator", None), ("Eve", "viewer", None),
    ]  # fmt: skip
    assert call("study", "invite", "Ada", "--withdraw") == (0, {"withdrawn": "Ada"})
    assert [one["name"] for one in call("study", "invite")[1]["people"]] == ["Eve"]


def test_mahueval_is_begun_and_what_remains_is_shown(call, tmp_path):
    questions = tmp_path / "questions.txt"
    questions.write_text("One?\n\nTwo?\nOne?\n", encoding="utf-8")
    begin = ("study", "begin", "MaHuEval", "--evaluators", "Ada, Ben", "--conversations", "2")
    assert call(*begin, "--questions", str(questions)) == (0, {"study": "MaHuEval"})
    assert call(*begin)[1]["error"]["what"] == "There is a study called 'MaHuEval' already."
    assert call("study", "roster") == (0, {"study": "MaHuEval", "held": [], "left": {"Ada": 4, "Ben": 4},
                                           "overlap": None})  # fmt: skip
