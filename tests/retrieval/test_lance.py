"""The index in LanceDB finds what the one in memory finds, changes only what changed, and forgets."""

import numpy as np
import pytest

from pdfqa_core.errors import StoppedError, StorageError, UsageError
from pdfqa_core.retrieval import BM25, Dense, Hybrid, Index, ReciprocalRankFusion
from pdfqa_core.retrieval.build import make_retriever
from pdfqa_core.retrieval.lance import LanceIndex, forget_document, installed
from pdfqa_core.retrieval.lance.tables import Tables
from pdfqa_core.retrieval.strategies import ConvexCombination
from pdfqa_core.types import Passage, Query, Span
from tests.retrieval.fakes import FakeEncoder
from tests.retrieval.test_index import RECIPE, Documents, three

pytestmark = pytest.mark.skipif(not installed(), reason="needs lancedb and pylance (requirements-lance.txt)")


class Topics(FakeEncoder):
    """Vectors around 60 topics, as those of sentences are: the number at the end of a text draws its vector."""

    def encode(self, texts, *, question=False, on_progress=None, stop=None):
        topics = np.random.default_rng(5).normal(size=(60, self.dimension))
        rows = []
        for text in texts:
            draw = np.random.default_rng([question, *text.encode("utf-8", "replace")])
            rows.append(topics[draw.integers(60)] + 0.7 * draw.normal(size=self.dimension))
        made = np.asarray(rows, dtype=np.float32).reshape(len(rows), self.dimension)
        return made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9)


def drawn(count, languages=("english",), per_document=250):
    """Return documents of passages of 30 words, drawn by Zipf's law."""
    draw = np.random.default_rng(0)
    groups = {}
    for number in range(count):
        name = f"doc'{number // per_document}"
        language = languages[number // per_document % len(languages)]
        text = " ".join(f"word{n}s" for n in np.minimum(draw.zipf(1.2, 30), 3000))
        spans = (Span(name, number % per_document // 3 + 1, 0, len(text)),)
        groups.setdefault(name, []).append(Passage(f"p{number}", spans, text, f"Heading {number % 7}", language))
    return {name: (lambda group=group: group) for name, group in groups.items()}


def both(tmp_path, documents, encoder=None):
    memory = Index.open_or_build(tmp_path, RECIPE, documents, encoder=encoder, embeddings=encoder is not None)
    return memory, opened(tmp_path, documents, encoder)


def opened(tmp_path, documents, encoder=None, **options):
    return LanceIndex.open_or_build(tmp_path, RECIPE, documents, encoder=encoder, **options)


def asked(index, count=12):
    draw = np.random.default_rng(3)
    texts = [index.passages[int(row)].text.split() for row in draw.integers(0, len(index.passages), count)]
    return [" ".join(draw.choice(words, 5)) for words in texts]


def agreement(mine, theirs):
    """Return the share of the hits `theirs` that `mine` has, or others with the same scores."""
    scores = [hit.score for hit in mine]
    kept = {hit.passage.id for hit in mine}
    same = sum(hit.passage.id in kept or bool(np.isclose(hit.score, scores).any()) for hit in theirs)
    return same / max(len(theirs), 1)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return both(tmp_path_factory.mktemp("pair"), drawn(3000), Topics())


@pytest.mark.parametrize("retriever", [BM25, Dense, Hybrid, ConvexCombination])
def test_hits_are_those_of_the_index_in_memory(pair, retriever):
    memory, lance = pair
    one, other = retriever(memory), retriever(lance)
    other.prepare()
    for question in asked(memory):
        mine, theirs = other.search(question, 10), one.search(question, 10)
        assert np.allclose([hit.score for hit in mine], [hit.score for hit in theirs], atol=1e-5)
        assert agreement(mine, theirs) == 1


def test_fusion_of_ranks_differs_only_by_the_ends_of_its_lists(pair):
    # LanceDB's k1 is 1.2: far down, a passage may be no candidate, and those after it rank one place higher.
    one, other = ReciprocalRankFusion(pair[0]), ReciprocalRankFusion(pair[1])
    found = [({h.passage.id for h in one.search(q, 10)}, {h.passage.id for h in other.search(q, 10)})
             for q in asked(pair[0], 30)]  # fmt: skip
    assert np.mean([len(mine & theirs) / 10 for mine, theirs in found]) >= 0.97


def test_dense_search_by_the_index_of_vectors_finds_nearly_all(pair):
    memory, lance = pair
    one, other = Dense(memory, exact_below=10**9), Dense(lance, exact_below=1000)
    other.prepare()
    assert lance.tables.vectors_indexed
    found = [agreement(other.search(q, 10), one.search(q, 10)) for q in asked(memory, 40)]
    assert np.mean(found) >= 0.98


@pytest.mark.parametrize(
    "scope", [(frozenset({"doc'3"}), None), (None, (2, 9)), (frozenset({"doc'0", "doc'9"}), (5, 80))]
)
def test_a_search_is_limited_to_documents_and_pages(pair, scope):
    memory, lance = pair
    documents, pages = scope
    assert np.array_equal(memory.rows(documents, pages), lance.rows(documents, pages))
    for retriever in (BM25, Dense, Hybrid):
        for question in asked(memory, 4):
            mine = retriever(lance).search(question, 10, documents, pages=pages)
            theirs = retriever(memory).search(question, 10, documents, pages=pages)
            assert agreement(mine, theirs) == 1
            assert len(mine) == len(theirs)


def test_many_passages_of_few_documents_are_compared_exactly(pair):
    memory, lance = pair
    some = frozenset(memory.document_ids[:20])
    for question in asked(memory, 5):
        theirs = Dense(memory).search(question, 10, some)
        assert agreement(Dense(lance).search(question, 10, some), theirs) == 1


def test_passages_and_counts_are_the_same(pair):
    memory, lance = pair
    assert list(lance.passages) == list(memory.passages)
    assert lance.passages[7:9] == list(memory.passages[7:9])
    assert lance.passages_by_term == memory.passages_by_term
    assert lance.document_ids == memory.document_ids
    for name in ("documents", "passages", "vocabulary", "shortest", "median", "percentile_95", "longest"):
        assert getattr(lance.stats, name) == getattr(memory.stats, name)
    assert lance.stats.bytes > 0


def test_weighted_texts_of_a_question_are_searched_for(pair):
    memory, lance = pair
    query = Query("word7s word40s", lexical=(("word7s word40s", 1.0), ("word900s word1200s", 0.5)))
    assert agreement(BM25(lance).search(query, 10), BM25(memory).search(query, 10)) == 1


def test_words_of_other_languages_are_compared_by_their_stems(tmp_path):
    texts = ("Die Verträge wurden gekündigt", "Der Vertrag läuft weiter", "Alle Kosten der Versicherung")
    spans = [(Span("de", n, 0, 9),) for n in range(1, 4)]
    german = [Passage(f"g{n}", spans[n], text, "", "german") for n, text in enumerate(texts)]
    english = [Passage("e", (Span("en", 1, 0, 9),), "The contract is with a die maker", "", "english")]
    memory, lance = both(tmp_path, {"de": lambda: german, "en": lambda: english})
    for question in ("Vertrag", "Verträge gekündigt", "Versicherungen", "contract", "die"):
        mine, theirs = BM25(lance).search(question, 4), BM25(memory).search(question, 4)
        assert [hit.passage.id for hit in mine] == [hit.passage.id for hit in theirs]


def test_a_stem_with_two_words_in_a_passage_counts_twice_as_frequent_and_ranks_alike(pair):
    memory, lance = pair
    for question in asked(memory, 20):
        theirs = BM25(memory, stemming=True).search(question, 10)
        mine = BM25(lance, stemming=True).search(question, 10)
        assert len({hit.passage.id for hit in mine} & {hit.passage.id for hit in theirs}) >= 9


def test_what_is_stored_is_not_built_again_and_a_change_touches_only_its_document(tmp_path):
    opened(tmp_path, three(), FakeEncoder())
    documents, encoder = three(), FakeEncoder()
    index = opened(tmp_path, documents, encoder)
    assert documents.called == []
    assert encoder.encoded == []
    documents = Documents(a=["first plan", "second deductible"], d=["new"], c=["other office"])
    encoder = FakeEncoder()
    index = opened(tmp_path, documents, encoder, sources={"c": "read again"})
    assert documents.called == ["d", "c"]
    assert sorted(encoder.encoded) == ["new", "other office"]
    assert [passage.text for passage in index.passages] == ["first plan", "second deductible", "new", "other office"]
    assert [hit.passage.text for hit in BM25(index).search("office", 3)] == ["other office"]
    assert BM25(index).search("vaccines", 3) == []


def test_lone_surrogates_and_an_empty_document_are_kept(tmp_path):
    memory, lance = both(tmp_path, Documents(a=["broken \ud800 glyph"], b=[]), FakeEncoder())
    assert list(lance.passages) == list(memory.passages)
    assert Hybrid(lance).search("glyph", 1)[0].passage.text == "broken \ud800 glyph"


def test_an_index_without_passages_finds_nothing(tmp_path):
    index = opened(tmp_path, {}, FakeEncoder())
    assert Hybrid(index).search("anything", 3) == []
    assert index.stats.passages == 0


def test_a_stop_keeps_the_documents_that_were_written(tmp_path, monkeypatch):
    monkeypatch.setattr("pdfqa_core.retrieval.lance.index.GROUP", 2)

    class Stop:
        def __init__(self, documents):
            self.documents = documents

        def is_set(self):
            return "b" in self.documents.called

    documents = three()
    with pytest.raises(StoppedError):
        opened(tmp_path, documents, stop=Stop(documents))
    again = three()
    index = opened(tmp_path, again)
    assert again.called == ["b", "c"]
    assert len(index.passages) == 5
    assert [hit.passage.text for hit in BM25(index).search("copay", 3)] == ["fifth copay"]


def test_passages_that_are_there_twice_are_written_again(tmp_path):
    index = opened(tmp_path, three())
    index.tables.table.add(index.tables.table.to_lance().to_table().slice(0, 1))
    documents = three()
    again = opened(tmp_path, documents)
    assert len(documents.called) == 1
    assert [passage.text for passage in again.passages] == [passage.text for passage in index_of(three())]


def index_of(documents):
    return [passage for provider in documents.values() for passage in provider()]


def bytes_below(folder):
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_a_removed_document_leaves_no_bytes(tmp_path):
    documents = drawn(300, per_document=20)
    documents["secret"] = lambda: [Passage("s", (Span("secret", 1, 0, 5),), "Zanzibar quokka", "Hidden heading")]
    index = opened(tmp_path, documents, Topics())
    vector = Topics().encode(["Hidden heading\nZanzibar quokka"])[0].tobytes()
    folder = tmp_path / "lance"
    assert vector in bytes_below(folder)
    forget_document(tmp_path, "secret")
    left = bytes_below(folder)
    for trace in (b"Zanzibar", b"quokka", b"Hidden", b'secret"', vector):
        assert trace not in left
    # Text may lie there compressed: nothing of an older version, and no index, may be left.
    table = Tables(folder, index.tables.name).table
    assert [part.num_deletions for part in table.to_lance().get_fragments()] == [0]
    assert len(table.list_versions()) == 1
    assert len(list(folder.rglob("*.lance/data/*"))) == 2
    assert not [file for file in folder.rglob("_indices/**/*") if file.is_file()]
    del documents["secret"]
    again = opened(tmp_path, documents, Topics())
    assert len(again.passages) == 300
    assert "quokka" not in again.passages_by_term


def test_what_cannot_be_read_is_told(tmp_path):
    index = opened(tmp_path, three())
    for file in (tmp_path / "lance").rglob("data/*.lance"):
        file.unlink()
    with pytest.raises(StorageError, match="could not be used"):
        index.at([0])


def test_late_interaction_says_that_it_does_not_search_here(tmp_path):
    index = opened(tmp_path, three())
    with pytest.raises(UsageError, match="index memory"):
        make_retriever(index, {"retriever": "late_interaction"}, models=None)
