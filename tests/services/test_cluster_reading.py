"""PDFs read by a cluster have the pages, and broken ones the words, that they have here."""

from pathlib import Path

from pdfqa_core.cluster import LostError
from pdfqa_core.services import LOCAL_OWNER, SAMPLE
from pdfqa_core.services.readings import read_pdf
from pdfqa_core.settings import ExtractionSettings
from tests.cluster.fakes import FakeCluster
from tests.services.helpers import BM25, built

CHOSEN = ExtractionSettings(workers=1)


def read(path: Path, cluster=None, **more):
    return read_pdf(path, CHOSEN, None, lambda _: None, document_id="doc", filename="plan.pdf", cluster=cluster, **more)


def test_the_pages_are_those_of_this_computer():
    path = min(SAMPLE.glob("*.pdf"))
    cluster = FakeCluster()
    assert read(path, cluster) == read(path)
    assert cluster.sizes == [1]


def test_a_broken_file_ends_in_the_same_words(tmp_path):
    path = tmp_path / "plan.pdf"
    path.write_bytes(b"%PDF-1.7\ntorn")
    assert read(path, FakeCluster()) == read(path)


def test_a_file_that_kills_every_worker_is_damaged():
    result = read(min(SAMPLE.glob("*.pdf")), FakeCluster(error=LostError("gone")))
    assert (result.state.value, result.pages) == ("broken", ())
    assert result.reason.startswith("plan.pdf is damaged: reading it failed.")


def test_what_a_recipe_wants_read_in_another_way_is_read_there(open_services):
    untabled, cluster = BM25.changed("extraction", tables=False), FakeCluster()
    services = open_services(cluster=cluster)
    built(services, untabled)
    assert cluster.sizes == [1]
    assert services.documents.unread(LOCAL_OWNER, untabled) == ()
    assert [reading.extractor for reading in services.documents.kept.readings(LOCAL_OWNER)] == [
        "direct",
        "direct, no tables",
    ]
    built(services, untabled)
    assert cluster.sizes == [1]
