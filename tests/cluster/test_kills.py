"""A worker of a local cluster is killed while it reads: nothing is lost and nothing is done twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import psutil
import pytest

from pdfqa_core.models import Models
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.types import Document, DocumentState
from tests.cluster.killing import killing_one
from tests.cluster.test_ray import needs_ray
from tests.services.helpers import BM25
from tests.services.test_two_programs import until

pytestmark = [needs_ray, pytest.mark.linux]
FILES, PAGES = 8, 40
SETTINGS = BM25.changed("extraction", workers=2)  # two files at a time, one for each worker of the cluster


def read_in(folder, files, cluster=None):
    """Read PDFs in; return how each went, their pages, and how often each was stored."""
    with Services.open(folder, SETTINGS, replace(Models.open(folder, SETTINGS), cluster=cluster)) as services:
        stored, add = Counter(), services._store.documents.add

        def counting(document, *others, **more):
            stored[document.filename] += 1
            return add(document, *others, **more)

        object.__setattr__(services._store.documents, "add", counting)
        told = [one for one in services.documents.ingest(LOCAL_OWNER, files) if isinstance(one, Document)]
        listed = services.documents.kept.list(LOCAL_OWNER)
        pages = {one.filename: services.documents.text(LOCAL_OWNER, one.id, SETTINGS) for one in listed}
        return Counter((one.filename, one.state) for one in told), pages, stored


def test_pdfs_are_read_once_though_a_worker_is_killed_while_it_reads(cluster, make_pdf, tmp_path):
    names = [f"report {number}.pdf" for number in range(FILES)]
    files = [
        make_pdf(*([f"Page {page} of {name} on tides and ferries. " * 30] for page in range(PAGES)), name=name)
        for name in names
    ]

    with killing_one(lambda worker: bool(worker.children())) as killed:
        told, pages, stored = read_in(tmp_path / "there", files, cluster)
    here, pages_here, _ = read_in(tmp_path / "here", files)
    assert told == here == Counter((name, DocumentState.READY) for name in names)
    assert stored == dict.fromkeys(names, 1)
    assert pages == pages_here
    assert {len(one) for one in pages.values()} == {PAGES}
    assert len(killed) > 1  # the child that read for the worker
    until(lambda: not any(psutil.pid_exists(one) for one in killed))  # does not read on for nobody
