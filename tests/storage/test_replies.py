"""Kept replies: across runs, threads and processes; a cache that never stands in the way."""

import sqlite3
import threading

import pytest

from pdfqa_core.metrics.llm_judge import JudgeItem, judge_answers
from pdfqa_core.models.metrics import remembering
from pdfqa_core.settings import LLMSettings
from pdfqa_core.storage import cache_file
from pdfqa_core.storage import replies as module
from pdfqa_core.storage.replies import StoredReplies


def test_replies_are_there_after_the_file_was_closed(tmp_path):
    path = tmp_path / "below" / "replies.sqlite"
    first = StoredReplies(path)
    first["k"] = "a reply with “quotes”, \x00 and \ud800"
    first["k2"] = ""
    first["k2"] = "again"
    first.close()
    second = StoredReplies(path)
    assert dict(second) == {"k": "a reply with “quotes”, \x00 and ?", "k2": "again"}
    assert len(second) == 2
    del second["k"]
    assert "k" not in second
    for missing in (lambda: second["k"], lambda: second.__delitem__("k")):
        with pytest.raises(KeyError):
            missing()
    second.close()


def test_a_damaged_file_is_begun_anew(tmp_path):
    path = tmp_path / "replies.sqlite"
    path.write_bytes(b"this is no database at all" * 100)
    found = StoredReplies(path)
    assert dict(found) == {}
    found["k"] = "v"
    found.close()
    assert dict(StoredReplies(path)) == {"k": "v"}


def test_where_nothing_can_be_written_replies_stay_in_memory(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    found = StoredReplies(blocked / "replies.sqlite")
    found["k"] = "v"
    assert found["k"] == "v"
    assert blocked.read_text() == "in the way"


def test_a_locked_file_costs_only_that_reply(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_file, "BUSY_SECONDS", 0.05)
    path = tmp_path / "replies.sqlite"
    found = StoredReplies(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    found["k"] = "v"
    assert "k" not in found
    other.execute("ROLLBACK")
    other.close()
    found["k"] = "v"
    assert found["k"] == "v"


def test_the_oldest_replies_go_when_there_are_too_many(tmp_path, monkeypatch):
    found = StoredReplies(tmp_path / "r.sqlite")
    for number in range(5):
        found[str(number)] = "x"
    found.close()
    monkeypatch.setattr(module, "MOST_REPLIES", 3)
    assert list(StoredReplies(tmp_path / "r.sqlite")) == ["2", "3", "4"]


def test_threads_share_the_file(tmp_path):
    found = StoredReplies(tmp_path / "r.sqlite")

    def work(name):
        for number in range(30):
            found[f"{name}{number}"] = str(number)
            assert found[f"{name}{number}"] == str(number)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 120


def test_a_judge_that_remembers_across_runs_of_the_program(tmp_path, fake_llm):
    item = JudgeItem("q", ("g",), "a")
    fake_llm.decide({"Yes": 0.8, "No": 0.2})
    for run in range(2):
        llm = remembering(fake_llm, tmp_path, LLMSettings())
        assert judge_answers([item], llm)[0].probability == 0.8
        assert (llm.asked, llm.remembered) == ((1, 0), (0, 1))[run]
    other = remembering(fake_llm, tmp_path, LLMSettings(model="another"))
    assert judge_answers([item], other)[0].probability == 0.5
    assert len(fake_llm.history) == 2
