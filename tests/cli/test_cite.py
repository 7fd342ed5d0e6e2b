"""cite: a PDF as BibTeX or CSL-JSON, and what is said where the file says too little."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.serving_fakes import PDF

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def paper(tmp_path):
    from reportlab.pdfgen.canvas import Canvas

    def write(author="Ann Smith", words="arXiv:2301.01234v2 [cs.CL] 3 Jan 2023"):
        canvas = Canvas(str(tmp_path / "paper.pdf"))
        canvas.setTitle("Granite in the North")
        canvas.setAuthor(author)
        canvas.drawString(70, 700, words)
        canvas.save()
        return tmp_path / "paper.pdf"

    return write


def test_bibtex_and_csl(empty, run, paper, tmp_path):
    done = run("cite", paper())
    assert (done.status, done.out.splitlines()[0]) == (0, "@misc{smith2023granite,")
    assert "  eprint = {2301.01234},\n" in done.out
    said = run("cite", paper(), "--to", "csl", "--output", tmp_path / "out" / "refs.json", "--json")
    assert said.data == {"file": str(tmp_path / "out" / "refs.json")}
    (item,) = json.loads((tmp_path / "out" / "refs.json").read_text(encoding="utf-8"))
    assert (item["id"], item["author"]) == ("smith2023granite", [{"family": "Smith", "given": "Ann"}])
    assert run("cite", paper(), "--json").data["entry"] == done.out
    assert not empty.exists()


def test_the_date_of_a_file_need_not_be_that_of_its_text(empty, run, paper):
    assert run("cite", paper()).err == ""
    assert run("cite", paper(words="The North, 1912")).err.startswith("The date is the day the file was made")


def test_a_file_that_says_too_little_is_no_entry(empty, run, paper):
    failed = run("cite", paper(author=""), "--json")
    assert failed.status == 1
    assert failed.data["error"] == {
        "what": "paper.pdf cannot be cited. The file does not say its author.",
        "hint": "Take the entry from https://arxiv.org/abs/2301.01234. "
        "It does say: title “Granite in the North”; date 2023-01.",
    }


def test_the_example_of_the_docs(empty, run, monkeypatch):
    page = (ROOT / "docs" / "documents.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```console\n\$ pdfqa (cite .*?)\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(ROOT)
    assert PDF.name in example[0]
    assert run(*shlex.split(example[0])).err == example[1]
