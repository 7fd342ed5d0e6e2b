"""What visitors of a demo may keep and have read, and that they do not get in each other's way."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pdfqa_core.errors import DocumentError, PdfQAError, UsageError
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.documents import HOUR, Room
from pdfqa_core.services.tasks import Housekeeping
from pdfqa_core.settings import ServerSettings
from pdfqa_core.types import DocumentState
from tests.services.helpers import BM25, documents, store_of

DIRECT = BM25.extraction


def demo(**server):
    return BM25.changed("server", demo=True, **server)


def file_of(folder, name, size):
    path = folder / name
    path.write_bytes(b"%PDF" + name.encode() + b"x" * (size - 4 - len(name)))
    return path


def test_four_windows_at_once_do_not_pass_the_limit(open_services, tmp_path):
    services = open_services(demo(visitor_mb=1), empty=True)
    files = [[file_of(tmp_path, f"{n}.pdf", 400_000)] for n in range(4)]
    begun, refused, together = [], [], threading.Barrier(4)

    def add(paths):
        together.wait()
        try:
            begun.append(services.documents.jobs.begin("visitor-a", paths, keep=True, extraction=DIRECT))
        except PdfQAError as error:
            refused.append(error)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, files))
    assert (len(begun), len(refused)) == (2, 2)
    assert "may keep 1 MB" in refused[0].what
    for batch in begun:
        list(batch.events())
    assert sum(one.size for one in services.documents.kept.list("visitor-a")) <= 1_000_000
    with pytest.raises(PdfQAError, match="may keep 1 MB"):  # they are stored now, and still count
        services.documents.jobs.begin("visitor-a", [file_of(tmp_path, "more.pdf", 400_000)], extraction=DIRECT)


def test_what_was_refused_stays_where_it_was_and_gives_its_room_back(open_services, tmp_path):
    services = open_services(demo(visitor_mb=1), empty=True)
    big, small = file_of(tmp_path, "big.pdf", 1_200_000), file_of(tmp_path, "small.pdf", 900_000)
    with pytest.raises(PdfQAError, match="may keep"):
        services.documents.jobs.begin("visitor-a", [big], keep=True, extraction=DIRECT)
    assert big.exists()
    assert list((services.workspace / "incoming").glob("*")) == []
    assert len(documents(services.documents.jobs.begin("visitor-a", [small], extraction=DIRECT).events())) == 1


def test_all_visitors_together_have_a_limit_and_one_pdf_counts_once(open_services, tmp_path):
    services = open_services(demo(visitor_mb=1, total_mb=1), empty=True)
    shared, other = file_of(tmp_path, "shared.pdf", 700_000), file_of(tmp_path, "other.pdf", 700_000)
    for owner in ("visitor-a", "visitor-b"):
        assert len(documents(services.documents.ingest(owner, [shared]))) == 1
    with pytest.raises(PdfQAError, match="This demo is full") as raised:
        list(services.documents.ingest("visitor-c", [other]))
    assert raised.value.hint


def test_a_page_that_does_not_say_whose_it_is_leaves_nothing(open_services, letter):
    services = open_services(demo(), empty=True)
    with pytest.raises(UsageError, match="does not know whose"):
        services.documents.jobs.begin("", [letter], keep=True, extraction=DIRECT)
    assert letter.exists()


def test_pages_are_limited_and_the_file_says_why(open_services, make_pdf):
    services = open_services(demo(visitor_pages=3), empty=True)
    two, other = make_pdf(["One."], ["Two."], name="two.pdf"), make_pdf(["Three."], ["Four."], name="other.pdf")
    found = [documents(services.documents.ingest("visitor-a", [path]))[0] for path in (two, other)]
    assert [one.state for one in found] == [DocumentState.READY, DocumentState.TOO_LARGE]
    more = documents(services.documents.ingest("visitor-a", [make_pdf(["Five."], name="more.pdf")]))[0]
    assert (more.state, more.page_count) == (DocumentState.READY, 1)
    full = documents(services.documents.ingest("visitor-a", [make_pdf(["Six."], name="full.pdf")]))[0]
    assert full.state is DocumentState.TOO_LARGE
    assert "Your documents have 3 pages; a visitor of this demo may keep 3." in full.reason
    assert documents(services.documents.ingest("visitor-b", [two]))[0].state is DocumentState.READY


def test_an_hour_of_reading_has_so_many_seconds(open_services):
    services, now = open_services(empty=True), [1000.0]
    with store_of(services) as store:
        room = Room(store, ServerSettings(demo=True, visitor_seconds=60), lambda: now[0])
        assert room.allowed("visitor-a", "x", DIRECT) == DIRECT
        with room.reading("visitor-a"):
            now[0] += 58
        assert room.seconds_left("visitor-a") == 2
        with pytest.raises(DocumentError, match="You have used the 1 minutes of reading") as raised:
            room.allowed("visitor-a", "x", DIRECT)
        assert raised.value.state is DocumentState.TOO_SLOW
        assert room.seconds_left("visitor-b") == 60
        now[0] += HOUR + 1
        assert room.seconds_left("visitor-a") == 60
        assert Room(store, ServerSettings()).seconds_left(LOCAL_OWNER) is None


def test_on_a_demo_one_place_is_kept_for_the_others(open_services, make_pdf):
    services = open_services(demo(), empty=True)
    slots = services.documents.slots
    with slots.take(99, owner="visitor-a") as taken:
        assert taken == slots.count - 1
        read = documents(services.documents.ingest("visitor-b", [make_pdf(["Read meanwhile."])]))
        assert read[0].state is DocumentState.READY


def test_chores_are_done_by_the_clock_and_one_that_fails_is_done_again():
    done, failed, order = threading.Event(), [], []

    def fail():
        failed.append(1)
        raise OSError("no")

    def last():
        order.append("last")
        if len(failed) > 1:
            done.set()

    keeping = Housekeeping(fail, last=last, every=0.01)
    keeping.start(lambda: order.append("another"))
    assert done.wait(30)
    keeping.close()
    assert order[:4] == ["another", "last"] * 2
