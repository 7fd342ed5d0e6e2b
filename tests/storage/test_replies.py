"""Kept replies: across runs, threads and processes; a cache that never stands in the way."""

import pytest

from pdfqa_core.storage import runs as module
from pdfqa_core.storage.runs import StoredReplies


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


def test_the_oldest_replies_go_when_there_are_too_many(tmp_path, monkeypatch):
    found = StoredReplies(tmp_path / "r.sqlite")
    for number in range(5):
        found[str(number)] = "x"
    found.close()
    monkeypatch.setattr(module, "MOST_REPLIES", 3)
    assert list(StoredReplies(tmp_path / "r.sqlite")) == ["2", "3", "4"]
