import json
import threading

import numpy as np
import pytest

from pdfqa_core.errors import StoppedError
from pdfqa_core.retrieval import BM25, Hybrid, Index, fingerprint
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


def damage_bit(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(bytes(content))


DAMAGES = {
    "bit": damage_bit,
    "gone": lambda file: file.unlink(),
    "pickle": lambda file: file.write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR."),
}


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("pattern", ["manifest.json", "*.passages.npz", "*.vectors.npy"])
def test_damage_means_building_again(tmp_path, kind, pattern):
    good = open_index(tmp_path, three())
    for file in folder_of(tmp_path).glob(pattern):
        DAMAGES[kind](file)
    check_same(open_index(tmp_path, three()), good)
    documents = three()
    check_same(open_index(tmp_path, documents), good)
    assert documents.called == []


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 99},
        {"recipe": "other"},
        {"model_hash": "other"},
        {"dimension": 63},
        {"documents": {"a": {"passages": 2}}},
    ],
)
def test_a_manifest_of_something_else_is_not_believed(tmp_path, change):
    good = open_index(tmp_path, three())
    file = folder_of(tmp_path) / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    check_same(open_index(tmp_path, three()), good)


def test_a_document_with_words_that_are_read_otherwise_now_is_built_again_with_the_vectors_it_has(tmp_path):
    there = {"a": ["first plan", "café “no” — 1,800"], "b": ["हिन्दी"], "c": ["10⁶ 地図"]}
    good = open_index(tmp_path, Documents(**there))
    file = folder_of(tmp_path) / "manifest.json"
    manifest = json.loads(file.read_text())
    for entry in manifest["documents"].values():
        del entry["rules"]  # as versions before wrote it
    file.write_text(json.dumps(manifest))
    documents, encoder = Documents(**there), FakeEncoder()
    check_same(open_index(tmp_path, documents, encoder), good)
    assert documents.called == ["b", "c"]
    assert encoder.encoded == []
    again = Documents(**there)
    open_index(tmp_path, again)
    assert again.called == []


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


def test_a_folder_that_cannot_be_written_means_an_index_in_memory(tmp_path):
    (tmp_path / "indexes").write_text("a file where the folder should be")
    index = open_index(tmp_path / "indexes", three())
    assert len(index.notes) == 1
    assert "cannot be written" in index.notes[0]
    assert index.folder is None
    assert Hybrid(index).search("vaccines", 1)[0].passage.text == "third vaccines"


def test_text_that_utf8_cannot_say_survives(tmp_path):
    wild = "lone \ud800 surrogate, \x00 null, 漢字 🙂"
    built = open_index(tmp_path, Documents(a=[wild]))
    opened = open_index(tmp_path, Documents(a=["not called"]))
    assert texts(opened) == texts(built) == [wild]


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
