import json
import os
import threading

import numpy as np
import pytest

from pdfqa_core.errors import StoppedError, UsageError
from pdfqa_core.retrieval import BM25, Hybrid, Index, fingerprint
from pdfqa_core.types import Passage, Progress, Span
from tests.retrieval.fakes import FakeEncoder, passages

RECIPE = "direct|windows(size=120)"


class Documents(dict):
    """Passage providers that note when they are called."""

    def __init__(self, **texts):
        self.called = []
        super().__init__({i: self.provider(i, t) for i, t in texts.items()})

    def provider(self, document_id, texts):
        def provide():
            self.called.append(document_id)
            return passages(*texts, document_id=document_id)

        return provide


def three():
    return Documents(a=["first plan", "second deductible"], b=["third vaccines"], c=["fourth office", "fifth copay"])


def texts(index):
    return [p.text for p in index.passages]


def open_index(root, documents, encoder=None, **options):
    encoder = encoder or FakeEncoder()
    return Index.open_or_build(root, RECIPE, documents, encoder=encoder, embeddings=True, **options)


def folder_of(root, encoder=None):
    return root / fingerprint(RECIPE, (encoder or FakeEncoder()).model_hash)


def check_same(one, other):
    assert one.passages == other.passages
    assert np.array_equal(one.embeddings, other.embeddings)
    for question in ("plan deductible", "vaccines", "office copay"):
        assert Hybrid(one).search(question, 5) == Hybrid(other).search(question, 5)


def test_a_document_whose_text_is_another_is_built_again_and_only_that_one(tmp_path):
    open_index(tmp_path, three(), sources={"a": "direct 1", "b": "direct 1"})
    documents, encoder = three(), FakeEncoder()
    documents["b"] = documents.provider("b", ["third vaccines", "read again"])
    index = open_index(tmp_path, documents, encoder, sources={"a": "direct 1", "b": "visual 1"})
    assert documents.called == ["b"]
    assert encoder.encoded == ["read again"]
    assert texts(index)[2:4] == ["third vaccines", "read again"]
    again = three()
    open_index(tmp_path, again, sources={"a": "direct 1", "b": "visual 1"})
    assert again.called == []


def test_what_is_stored_is_not_built_again(tmp_path):
    built = open_index(tmp_path, three())
    documents, encoder = three(), FakeEncoder()
    opened = open_index(tmp_path, documents, encoder)
    assert documents.called == []
    assert encoder.encoded == []
    assert opened.notes == ()
    check_same(built, opened)
    assert opened.build_seconds == pytest.approx(built.build_seconds, abs=0.01)


def test_the_folder_holds_a_manifest_and_no_pickle(tmp_path):
    open_index(tmp_path, three())
    folder = folder_of(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["schema"], manifest["recipe"], manifest["model_hash"]) == (1, RECIPE, "fake")
    assert manifest["dimension"] == 64
    assert [entry["passages"] for entry in manifest["documents"].values()] == [2, 1, 2]
    assert {file.suffix for file in folder.iterdir()} == {".json", ".npz", ".npy"}
    for file in folder.glob("*.np*"):
        assert np.load(file, allow_pickle=False) is not None


def test_an_added_document_is_one_new_segment_and_a_removed_one_is_dropped(tmp_path):
    open_index(tmp_path, three())
    files = set(folder_of(tmp_path).iterdir())
    documents = Documents(
        **{"a": ["first plan", "second deductible"], "c": ["fourth office", "fifth copay"], "d": ["new"]}
    )
    index = open_index(tmp_path, documents)
    assert documents.called == ["d"]
    assert texts(index) == ["first plan", "second deductible", "fourth office", "fifth copay", "new"]
    assert len(files - set(folder_of(tmp_path).iterdir())) == 2
    assert len(set(folder_of(tmp_path).iterdir()) - files) == 2


def test_documents_keep_the_order_they_are_given_in(tmp_path):
    open_index(tmp_path, three())
    turned = three()
    index = open_index(tmp_path, dict(reversed(turned.items())))
    assert turned.called == []
    assert index.document_ids == ("c", "b", "a")


def damage_bit(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(bytes(content))


DAMAGES = {
    "bit": damage_bit,
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-7]),
    "empty": lambda file: file.write_bytes(b""),
    "gone": lambda file: file.unlink(),
    "folder": lambda file: (file.unlink(), file.mkdir()),
    "pickle": lambda file: file.write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR."),
}


@pytest.mark.parametrize("kind", [k for k in DAMAGES if k != "folder"])
@pytest.mark.parametrize("pattern", ["manifest.json", "*.passages.npz", "*.vectors.npy"])
def test_damage_means_building_again(tmp_path, kind, pattern):
    good = open_index(tmp_path, three())
    for file in folder_of(tmp_path).glob(pattern):
        DAMAGES[kind](file)
    check_same(open_index(tmp_path, three()), good)
    documents = three()
    check_same(open_index(tmp_path, documents), good)
    assert documents.called == []


def test_one_damaged_segment_costs_one_document(tmp_path):
    good = open_index(tmp_path, three())
    damage_bit(max(folder_of(tmp_path).glob("*.passages.npz")))
    documents = three()
    check_same(open_index(tmp_path, documents), good)
    assert len(documents.called) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 99},
        {"recipe": "other"},
        {"model_hash": "other"},
        {"dimension": 63},
        {"documents": []},
        {"documents": {"a": {"passages": 2}}},
        {"documents": {"a": 3}},
        {"extra": 1},
    ],
)
def test_a_manifest_of_something_else_is_not_believed(tmp_path, change):
    good = open_index(tmp_path, three())
    file = folder_of(tmp_path) / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    check_same(open_index(tmp_path, three()), good)


def test_a_wrong_number_of_passages_is_noticed(tmp_path):
    good = open_index(tmp_path, three())
    file = folder_of(tmp_path) / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["documents"]["a"]["passages"] = 3
    file.write_text(json.dumps(manifest))
    documents = three()
    check_same(open_index(tmp_path, documents), good)
    assert documents.called == ["a"]


def test_swapped_segments_are_noticed(tmp_path):
    good = open_index(tmp_path, three())
    one, other = sorted(folder_of(tmp_path).glob("*.vectors.npy"))[:2]
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    check_same(open_index(tmp_path, three()), good)


def test_another_model_or_recipe_is_another_folder(tmp_path):
    open_index(tmp_path, three())
    other = FakeEncoder(dimension=16, model_hash="other")
    assert open_index(tmp_path, three(), other).embeddings.shape == (5, 16)
    assert open_index(tmp_path, three()).embeddings.shape == (5, 64)
    changed = Index.open_or_build(tmp_path, "another", {"a": lambda: passages("x", document_id="a")})
    assert texts(changed) == ["x"]
    assert len([p for p in tmp_path.iterdir() if not p.name.startswith("embeddings-")]) == 3


def test_embeddings_are_made_when_they_are_first_needed(tmp_path):
    encoder = FakeEncoder()
    plain = Index.open_or_build(tmp_path, RECIPE, three(), encoder=encoder)
    assert plain.embeddings is None
    assert encoder.encoded == []
    assert BM25(plain).search("vaccines", 1)[0].passage.text == "third vaccines"
    documents = three()
    full = open_index(tmp_path, documents, encoder)
    assert documents.called == []
    assert len(encoder.encoded) == 5
    check_same(full, open_index(tmp_path, three()))
    assert Index.open_or_build(tmp_path, RECIPE, three(), encoder=encoder).embeddings is None


def test_embeddings_without_an_encoder_are_refused(tmp_path):
    with pytest.raises(UsageError):
        Index.open_or_build(tmp_path, RECIPE, three(), embeddings=True)


def test_progress_counts_documents_then_passages(tmp_path):
    seen = []
    open_index(tmp_path, three(), on_progress=seen.append)
    assert seen[0] == Progress("Splitting into passages", 0, 3)
    embedding = [p for p in seen if p.phase == "Embedding passages"]
    assert [(p.done, p.total) for p in embedding] == [(n, 5) for n in range(1, 6)]


class StopAfter:
    """Is set once a number of passages have been embedded."""

    def __init__(self, passages):
        self.left = passages

    def __call__(self, progress):
        if progress.phase == "Embedding passages":
            self.left -= 1

    def is_set(self):
        return self.left <= 0


def test_a_stopped_build_keeps_passages_and_finished_batches(tmp_path):
    many = [f"passage number {n}" for n in range(40)]
    stop = StopAfter(20)
    with pytest.raises(StoppedError):
        open_index(tmp_path, Documents(a=many), on_progress=stop, stop=stop)
    documents, encoder = Documents(a=many), FakeEncoder()
    index = open_index(tmp_path, documents, encoder)
    assert documents.called == []
    assert len(encoder.encoded) == 24
    check_same(index, open_index(tmp_path / "fresh", Documents(a=many)))


class StopAtDocument:
    """Is set when some documents have been split into passages."""

    def __init__(self, documents):
        self.left = documents

    def __call__(self, progress):
        self.left -= progress.phase == "Splitting into passages"

    def is_set(self):
        return self.left < 0


def test_a_build_that_is_stopped_while_splitting_keeps_the_documents_before(tmp_path):
    stop = StopAtDocument(1)
    with pytest.raises(StoppedError):
        open_index(tmp_path, three(), on_progress=stop, stop=stop)
    documents = three()
    open_index(tmp_path, documents)
    assert documents.called == ["c"]


def test_a_folder_that_cannot_be_written_means_an_index_in_memory(tmp_path):
    (tmp_path / "indexes").write_text("a file where the folder should be")
    index = open_index(tmp_path / "indexes", three())
    assert len(index.notes) == 1
    assert "cannot be written" in index.notes[0]
    assert index.folder is None
    assert Hybrid(index).search("vaccines", 1)[0].passage.text == "third vaccines"


def test_left_overs_are_removed(tmp_path):
    open_index(tmp_path, three())
    stale, fresh = (folder_of(tmp_path) / name for name in (".old.tmp", ".new.tmp"))
    stale.write_bytes(b"x")
    fresh.write_bytes(b"x")
    os.utime(stale, (0, 0))
    open_index(tmp_path, three())
    assert not stale.exists()
    assert fresh.exists()


def test_text_that_utf8_cannot_say_survives(tmp_path):
    wild = "lone \ud800 surrogate, \x00 null, 漢字 🙂"
    built = open_index(tmp_path, Documents(a=[wild]))
    opened = open_index(tmp_path, Documents(a=["not called"]))
    assert texts(opened) == texts(built) == [wild]


def test_a_document_without_passages_is_no_obstacle(tmp_path):
    for _ in range(2):
        index = open_index(tmp_path, Documents(a=[], b=["text"]))
        assert texts(index) == ["text"]
        assert index.embeddings.shape == (1, 64)


def test_passages_across_pages_and_headings_are_kept(tmp_path):
    spans = (Span("a", 1, 3, 9), Span("a", 2, 0, 4))
    passage = Passage("id", spans, "text\n\nmore", "Title: Heading")
    for _ in range(2):
        index = Index.open_or_build(tmp_path, RECIPE, {"a": lambda: [passage]})
        assert index.passages == (passage,)


def test_threads_that_open_the_same_index_build_it_once(tmp_path):
    documents, found = three(), []
    threads = [threading.Thread(target=lambda: found.append(open_index(tmp_path, documents))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(documents.called) == ["a", "b", "c"]
    assert len(found) == 4
    for index in found[1:]:
        check_same(index, found[0])


def test_the_graph_is_kept_and_checked(tmp_path):
    index = open_index(tmp_path, three())
    expected = Hybrid(index, exact_below=1).search("vaccines", 3)
    file = folder_of(tmp_path) / "graph.bin"
    kept = file.read_bytes()
    assert Hybrid(open_index(tmp_path, three()), exact_below=1).search("vaccines", 3) == expected
    damage_bit(file)
    assert Hybrid(open_index(tmp_path, three()), exact_below=1).search("vaccines", 3) == expected
    assert file.read_bytes() == kept
    smaller = open_index(tmp_path, Documents(b=["third vaccines"]))
    assert [h.passage.text for h in Hybrid(smaller, exact_below=1).search("vaccines", 3)] == ["third vaccines"]


def test_stats_describe_the_index(tmp_path):
    stats = open_index(tmp_path, Documents(a=["one", "one two three"], b=["one two"])).stats
    assert (stats.documents, stats.passages, stats.vocabulary) == (2, 3, 3)
    assert (stats.shortest, stats.median, stats.longest) == (1, 2, 3)
    assert stats.bytes == sum(f.stat().st_size for f in folder_of(tmp_path).iterdir())
    assert Index.in_memory([]).stats.passages == 0
