"""Child processes of the crash tests: write without end, say on standard output what was acknowledged."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

from pdfqa_core.storage import Store
from tests.storage.conftest import document, pages_of, rating

PAGES = 20


def write_ratings(store: Store, study_id: str, first: int) -> None:
    for number in itertools.count(first):
        value = f"{number}"
        store.studies.save_ratings(
            [rating(study_id, "t1", value=value), rating(study_id, "t1#1", criterion="passage", value=value)]
        )
        acknowledge(value)


def write_documents(store: Store, _study_id: str, first: int) -> None:
    for number in itertools.count(first):
        content = f"%PDF {number}".encode() + b"x" * 50_000
        document_id = store.files.store(content)
        pages = pages_of(document_id, *(f"{number} " * 500 for _ in range(PAGES)))
        store.documents.add(document(content), "direct", pages)
        acknowledge(document_id)


def write_uploads(store: Store, _study_id: str, first: int) -> None:
    for number in itertools.count(first):
        acknowledge(store.files.store(f"%PDF {number}".encode() + b"x" * 50_000))


def acknowledge(what: str) -> None:
    os.write(1, f"{what}\n".encode())


if __name__ == "__main__":
    kind, workspace, url, study_id, first = sys.argv[1:]
    with Store.open(Path(workspace), url) as opened:
        {"ratings": write_ratings, "documents": write_documents, "uploads": write_uploads}[kind](
            opened, study_id, int(first)
        )
