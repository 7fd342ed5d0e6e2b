"""extract: a PDF as Markdown, JSON or text, and what is said where it cannot be read."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.extraction.hostile import locked
from tests.serving_fakes import PDF

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def letter(make_pdf):
    return make_pdf(["<b>Granite</b>", "The quarry sells granite."], ["Blasting on Tuesdays."], name="letter.pdf")


def test_the_sample_as_markdown_has_its_headings_and_tables(empty, run):
    out = run("extract", PDF, "--pages", "3-4").out
    assert out.startswith("<!-- page 3, printed as 1 -->\n\n")
    assert "\n<!-- page 4, printed as 2 -->\n\n" in out
    assert re.search(r"^#+ \w", out, re.MULTILINE)
    assert "All meters are read every 15 minutes." in out
    assert not empty.exists()  # nothing is put into the workspace


def test_the_form_follows_the_name_of_the_output(empty, run, letter, tmp_path):
    done = run("extract", letter, "--output", tmp_path / "out" / "letter.json", "--json")
    assert done.data == {"state": "ready", "reason": "", "pages": 2, "file": str(tmp_path / "out" / "letter.json")}
    data = json.loads(Path(done.data["file"]).read_text(encoding="utf-8"))
    assert [page["number"] for page in data["pages"]] == [1, 2]
    assert data["pages"][1]["text"] == "Blasting on Tuesdays."
    said = run("extract", letter, "--to", "txt", "--output", tmp_path / "letter.md")
    assert said.out == f"2 pages in {tmp_path / 'letter.md'}\n"
    assert (tmp_path / "letter.md").read_text(encoding="utf-8").endswith("\n\fBlasting on Tuesdays.\n")


@pytest.mark.parametrize(
    ("pages", "words"), [("2-1", "no range of pages"), ("one", "no range of pages"), ("1,9", "has no page 9")]
)
def test_pages_that_are_not_there(empty, run, letter, pages, words):
    failed = run("extract", letter, "--pages", pages, "--json")
    assert (failed.status, words in failed.data["error"]["what"]) == (2, True)


def test_a_locked_file_asks_for_its_password(empty, run, tmp_path):
    file = locked(tmp_path / "locked.pdf", "Behind the lock.", "secret")
    failed = run("extract", file, "--json")
    assert failed.status == 1
    assert "protected by a password" in failed.data["error"]["what"]
    assert "--password-file" in failed.data["error"]["hint"]
    (tmp_path / "password").write_text("secret\n")
    opened = run("extract", file, "--password-file", tmp_path / "password")
    assert (opened.status, "Behind the lock." in opened.out) == (0, True)
    (tmp_path / "password").write_text("wrong\n")
    wrong = run("extract", file, "--password-file", tmp_path / "password")
    assert (wrong.status, "does not open locked.pdf" in wrong.err) == (1, True)


def test_broken_missing_and_scanned_files(empty, run, tmp_path, draw_picture):
    (tmp_path / "broken.pdf").write_bytes(b"no PDF at all")
    broken = run("extract", tmp_path / "broken.pdf")
    assert (broken.status, broken.out) == (1, "")
    assert "broken.pdf is not a PDF." in broken.err
    assert run("extract", tmp_path / "none.pdf").status == 2
    scanned = run("extract", draw_picture, "--json")
    assert scanned.status == 1
    assert "its pages are pictures" in scanned.data["error"]["what"]
    assert "--extractor visual" in scanned.data["error"]["hint"]


@pytest.fixture
def draw_picture(tmp_path):
    from PIL import Image

    Image.new("L", (400, 300), 200).save(tmp_path / "scan.pdf")
    return tmp_path / "scan.pdf"


def test_the_example_of_the_docs(empty, run, monkeypatch):
    page = (ROOT / "docs" / "extraction.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```console\n\$ pdfqa (extract .*?)\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(ROOT)
    assert run(*shlex.split(example[0])).out.startswith(example[1])
