"""Folders into the workspace, collections, and questions to them."""

from __future__ import annotations

import shutil

import pytest

from tests.serving_fakes import QUESTIONS

METERS = QUESTIONS["q03"]["question"]
QUICK = ("--retriever", "bm25", "--json")


@pytest.fixture
def folder(tmp_path, make_pdf):
    """A folder with a letter, a draft and notes."""
    root = tmp_path / "town"
    (root / "drafts").mkdir(parents=True)
    shutil.move(make_pdf(["The quarry at Oldham sells granite."], name="letter.pdf"), root / "letter.pdf")
    shutil.move(make_pdf(["A draft about granite."], name="draft.pdf"), root / "drafts" / "draft.pdf")
    (root / "notes.txt").write_text("notes")
    return root


def test_a_folder_is_read_into_a_collection_with_a_summary(workspace, run, folder):
    done = run("ingest", folder, "--exclude", "drafts/*", "--collection", "Town", "--retriever", "bm25")
    assert done.status == 0
    assert "letter.pdf: ready, 1 pages" in done.out
    assert "1 read: 1 ready.\nLeft out: " in done.out
    assert f"{folder / 'drafts' / 'draft.pdf'}: left out by drafts/*" in done.out
    assert "1 not *.pdf" in done.out
    assert "In the collection Town." in done.out
    assert run("collections", "--json").data["collections"][0]["documents"] == ["letter.pdf"]
    assert run("collections").out == "Town\n  letter.pdf\n"


def test_one_broken_file_makes_the_status_1_and_the_others_are_read(workspace, run, folder):
    (folder / "broken.pdf").write_bytes(b"no PDF at all")
    done = run("ingest", folder, "--retriever", "bm25")
    assert done.status == 1
    assert "3 read: 2 ready, 1 broken." in done.out


def test_a_question_to_a_collection_is_answered_from_it(workspace, run, folder):
    run("ingest", folder / "letter.pdf", "--collection", "Letters", *QUICK)
    found = run("search", "What does the quarry sell?", "--collection", "letters", *QUICK).data["hits"]
    assert {hit["filename"] for hit in found} == {"letter.pdf"}
    asked = run("ask", METERS, "--collection", "Letters", "--reader", "extractive", *QUICK)
    assert {hit["filename"] for hit in asked.data["hits"]} <= {"letter.pdf"}
    unknown = run("ask", METERS, "--collection", "Bills")
    assert unknown.status == 2
    assert "There is no collection 'Bills'. Known: Letters." in " ".join(unknown.err.split()).replace(
        " Known", " Known"
    )
