"""The index in LanceDB in object storage does what it does in a folder, and says what is wrong with the storage.

The storage is LocalBucket on this computer, which keeps buckets as folders; here it also deletes many objects at once
and knows one access key. What it signs with that key is not checked.
"""

import socket
import threading
import xml.etree.ElementTree as ET
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import ThreadingHTTPServer

import pytest

from pdfqa_core.errors import StorageError
from pdfqa_core.retrieval import BM25, Dense, Hybrid, Index
from pdfqa_core.retrieval.lance import LanceIndex, Place, forget_document, installed
from pdfqa_core.retrieval.lance.tables import Tables
from pdfqa_core.types import Passage, Span
from tests.retrieval.fakes import FakeEncoder
from tests.retrieval.test_index import RECIPE, Documents, three
from tests.retrieval.test_lance import Topics, agreement, asked, bytes_below, drawn

localbucket = pytest.importorskip("localbucket", reason="needs localbucket (requirements-dev.txt)")
pytestmark = [
    pytest.mark.skipif(not installed(), reason="needs lancedb and pylance (requirements-lance.txt)"),
    pytest.mark.timeout(120),  # LanceDB alone waits three minutes for a storage that never answers
]

KEY = "reader"
WRITTEN_IF_NEW = []  # names of objects that must not take the place of others


class Storage(localbucket.S3Handler):
    """LocalBucket, with `DeleteObjects` (unless `keeps`) and an access key."""

    keeps = False

    def setup(self):
        super().setup()
        self.server.connections.append(self.connection)

    def log_message(self, *args):
        pass

    def _dispatch(self, action):
        def allowed(bucket, key):
            if f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
                self._read_body()
                raise localbucket.S3Error(HTTPStatus.FORBIDDEN, "InvalidAccessKeyId", "There is no such key.")
            if self.headers.get("If-None-Match") == "*":
                WRITTEN_IF_NEW.append(key)
            action(bucket, key)

        super()._dispatch(allowed)

    def _post_request(self, bucket, key):
        if key or "delete" not in self.query or self.keeps:
            super()._post_request(bucket, key)
            return
        root = ET.Element("DeleteResult")
        for name in [one.text for one in ET.fromstring(self._read_body()).iter() if one.tag.endswith("Key")]:
            self._object_path(bucket, name).unlink(missing_ok=True)
            ET.SubElement(ET.SubElement(root, "Deleted"), "Key").text = name
        self._send_xml(root)


@contextmanager
def serving(folder, **attributes):
    """Run a storage whose buckets are the folders in `folder`, and give its server."""
    kind = type("Storage", (Storage,), {"data_root": folder, **attributes})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        server.connections = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            for connection in server.connections:
                with suppress(OSError):  # closed already
                    connection.shutdown(socket.SHUT_RDWR)


def use(environment, port, key=KEY):
    values = {"ENDPOINT": f"http://127.0.0.1:{port}", "ALLOW_HTTP": "true", "REGION": "us-east-1",
              "ACCESS_KEY_ID": key, "SECRET_ACCESS_KEY": "secret"}  # fmt: skip
    for name, value in values.items():
        environment.setenv(f"AWS_{name}", value)


@pytest.fixture(scope="module")
def buckets(tmp_path_factory):
    """The folder of all buckets of a running storage, which the environment names."""
    folder = tmp_path_factory.mktemp("buckets")
    with serving(folder) as server, pytest.MonkeyPatch.context() as environment:
        use(environment, server.server_port)
        yield folder


@pytest.fixture
def bucket(buckets):
    """The folder of an empty bucket with a name of its own: LanceDB keeps connections by it."""
    folder = buckets / f"bucket-{len(list(buckets.iterdir()))}"
    folder.mkdir()
    return folder


def address(bucket):
    return f"s3://{bucket.name}/pdfqa"


def opened(root, where, documents, encoder=None, **options):
    return LanceIndex.open_or_build(Place.of(root, where), root, RECIPE, documents, encoder=encoder, **options)


@pytest.fixture(scope="module")
def pair(buckets, tmp_path_factory):
    root, bucket = tmp_path_factory.mktemp("root"), buckets / "pair"
    bucket.mkdir()
    documents = drawn(1500)
    memory = Index.open_or_build(root, RECIPE, documents, encoder=Topics(), embeddings=True)
    return memory, opened(root, address(bucket), documents, Topics()), root, bucket


@pytest.mark.parametrize("retriever", [BM25, Dense, Hybrid])
@pytest.mark.parametrize("scope", [(None, None), (frozenset({"doc'1", "doc'3"}), (2, 60))])
def test_hits_are_those_of_the_index_in_memory(pair, retriever, scope):
    memory, lance, *_ = pair
    documents, pages = scope
    for question in asked(memory, 10):
        theirs = retriever(memory).search(question, 10, documents, pages=pages)
        mine = retriever(lance).search(question, 10, documents, pages=pages)
        assert len(mine) == len(theirs)
        assert agreement(mine, theirs) == 1


def test_vectors_are_indexed_there(pair):
    memory, lance, *_ = pair
    dense = Dense(lance, exact_below=1000)
    dense.prepare()
    assert lance.tables.vectors_indexed
    found = [agreement(dense.search(q, 10), Dense(memory).search(q, 10)) for q in asked(memory, 20)]
    assert sum(found) / len(found) >= 0.95


def test_a_second_instance_opens_what_lies_there(pair):
    memory, first, root, bucket = pair

    def never():
        raise AssertionError("built again")

    index = opened(root, address(bucket), dict.fromkeys(drawn(1500), never), Topics())
    assert list(index.passages) == list(memory.passages)
    assert index.passages_by_term == first.passages_by_term
    assert index.stats.bytes > 0
    assert index.folder is None


def test_versions_are_written_only_if_new_so_that_none_overwrites_another(pair):
    assert any("_versions" in key for key in WRITTEN_IF_NEW)


def test_a_document_is_added_and_another_removed(bucket, tmp_path):
    opened(tmp_path, address(bucket), three(), FakeEncoder())
    documents = Documents(a=["first plan", "second deductible"], d=["new visit"], c=["other office"])
    index = opened(tmp_path, address(bucket), documents, FakeEncoder(), sources={"c": "read again"})
    assert documents.called == ["d", "c"]
    assert [passage.text for passage in index.passages][2:] == ["new visit", "other office"]
    assert [hit.passage.text for hit in BM25(index).search("visit", 3)] == ["new visit"]
    assert BM25(index).search("copay", 3) == []


def test_a_removed_document_leaves_nothing_in_the_bucket(bucket, tmp_path):
    documents = drawn(100, per_document=20)
    documents["secret"] = lambda: [Passage("s", (Span("secret", 1, 0, 5),), "Zanzibar quokka", "Hidden heading")]
    index = opened(tmp_path, address(bucket), documents, Topics())
    vector = Topics().encode(["Hidden heading\nZanzibar quokka"])[0].tobytes()
    assert vector in bytes_below(bucket)
    place = Place.of(tmp_path, address(bucket))
    forget_document(place, "secret")
    left = bytes_below(bucket)
    for trace in (b"Zanzibar", b"quokka", b"Hidden", b'secret"', vector):
        assert trace not in left
    table = Tables(place, index.tables.name).table
    assert [part.num_deletions for part in table.to_lance().get_fragments()] == [0]
    assert len(table.list_versions()) == 1
    assert len(list(bucket.rglob("*.lance/data/*"))) == 2
    assert not [file for file in bucket.rglob("_indices/**/*") if file.is_file()]
    del documents["secret"]
    assert len(opened(tmp_path, address(bucket), documents, Topics()).passages) == 100


def test_everything_of_an_owner_is_dropped_and_nothing_of_another(bucket, tmp_path):
    for owner in "ab":
        opened(tmp_path / owner, address(bucket), three())
    place, other = (Place.of(tmp_path / owner, address(bucket)) for owner in "ab")
    place.drop()
    assert place.names() == []
    assert len(other.names()) == 2
    folders = {file.relative_to(bucket).parts[1] for file in bucket.rglob("*") if file.is_file()}
    assert folders == {other.where.rpartition("/")[2]}


def test_a_storage_that_does_not_delete_is_told_and_a_second_try_finishes(tmp_path, monkeypatch):
    (tmp_path / "keeping").mkdir()
    with serving(tmp_path, keeps=True) as server:
        use(monkeypatch, server.server_port)
        index = opened(tmp_path, "s3://keeping", three(), FakeEncoder())
        place = Place.of(tmp_path, "s3://keeping")
        with pytest.raises(StorageError, match=r"still lies in files in s3://keeping/.*DeleteObjects"):
            forget_document(place, "c")
        assert b"copay" in bytes_below(tmp_path / "keeping")
        assert Tables(place, index.tables.name).table.count_rows("passage LIKE '%copay%'") == 0
        server.RequestHandlerClass.keeps = False
        forget_document(place, "c")
        assert b"copay" not in bytes_below(tmp_path / "keeping")


def test_a_bucket_may_have_dots_in_its_name(buckets, tmp_path):
    (buckets / "pdfqa.example.org").mkdir()
    assert len(opened(tmp_path, "s3://pdfqa.example.org", three()).passages) == 5


def failing(root, where):
    with pytest.raises(StorageError) as error:
        opened(root, where, three())
    return str(error.value)


def test_a_bucket_that_there_is_not_is_told(buckets, tmp_path):
    said = failing(tmp_path, "s3://nowhere/pdfqa")
    assert said.startswith("The bucket of s3://nowhere/pdfqa/")
    assert said.endswith("does not exist. Make it, or name another one in index_address.")


def test_a_refused_key_is_told(bucket, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "stranger")
    said = failing(tmp_path, address(bucket))
    assert said.startswith(f"The object storage refuses access to {address(bucket)}/")
    assert "AWS_ACCESS_KEY_ID" in said


def test_an_address_without_encryption_has_to_be_allowed(bucket, tmp_path, monkeypatch):
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    assert "Use https, or set AWS_ALLOW_HTTP=true." in failing(tmp_path, address(bucket))


def test_a_storage_that_is_gone_is_told(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    with serving(tmp_path) as server:
        use(monkeypatch, server.server_port)
        index = opened(tmp_path, "s3://gone", three(), FakeEncoder())
    with pytest.raises(StorageError, match="does not answer") as error:
        index.at([0])
    assert error.value.hint == "Check the network and AWS_ENDPOINT, and try again."
    assert "does not answer" in failing(tmp_path, "s3://gone")


def test_a_storage_that_never_answers_is_given_up(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        use(monkeypatch, silent.getsockname()[1])
        with pytest.raises(StorageError, match="does not answer"):
            Place("s3://silent/pdfqa", patience=1).names()
