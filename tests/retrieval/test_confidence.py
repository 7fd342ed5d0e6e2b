import numpy as np
import pytest

from pdfqa_core.retrieval import BM25, Hybrid, Index, confidence
from pdfqa_core.retrieval.postprocessing import covered, nearest
from pdfqa_core.types import Hit
from tests.retrieval.fakes import FakeEncoder, passage, passages


def hit(text, rank=1, heading="", **parts):
    return Hit(passage(text, heading=heading), 1.0, rank, "test", parts)


def vectors_by(cosines):
    """Return vectors whose cosine with the question is the one of the text; any other text is the question."""
    return lambda texts: np.array([[c := cosines.get(text, 1.0), (1 - c * c) ** 0.5] for text in texts])


# ------------------------------------------------------------------ words


def test_the_words_of_the_question_are_looked_for_by_stem_in_text_and_heading():
    hits = [hit("All meters are read.", heading="Deductible"), hit("nothing")]
    assert covered("Which meter, which deductibles, which refrigerant?", hits) == pytest.approx(2 / 3)


def test_only_five_hits_cover():
    hits = [hit("nothing", rank) for rank in range(1, 6)]
    assert covered("deductible", [*hits, hit("deductible", 6)]) == 0
    assert covered("deductible", [*hits[:4], hit("deductible", 5)]) == 1


def test_words_that_only_ask_need_not_stand_in_the_passages():
    assert covered("How many flats are there?", [hit("84 flats")]) == 1.0
    assert covered("How many?", [hit("84 flats")]) == 0.0


def test_stems_and_stop_words_are_those_of_the_language():
    hits = [hit("Eine Versicherung soll zahlen.")]
    assert covered("Zahlen die Versicherungen?", hits, "german") == 1
    assert covered("Zahlen die Versicherungen?", hits, "none") < 1


@pytest.mark.parametrize("question", ["", "?!"])
def test_nothing_found_or_asked_is_no_confidence(question):
    assert covered(question, [hit("deductible")]) is None
    assert confidence(question, [hit("deductible")], vectors_by({})) == 0
    assert confidence("deductible", [], vectors_by({})) == 0


# ------------------------------------------------------------------ meaning


def test_the_nearest_single_sentence_of_three_hits_counts():
    hits = [hit("Far away. Quite near."), hit("Further.", 2), hit("Near.", 3), hit("Nearest of all.", 4)]
    cosines = {"Far away.": 0.1, "Quite near.": 0.6, "Further.": -0.2, "Near.": 0.5, "Nearest of all.": 0.9}
    assert nearest("question", hits, vectors_by(cosines)) == pytest.approx(0.6)


def test_a_negative_cosine_counts_as_none():
    assert nearest("question", [hit("Opposite.")], vectors_by({"Opposite.": -0.7})) == 0


# ------------------------------------------------------------------ both


def test_each_feature_raises_the_confidence_within_0_and_1():
    hits = [hit("The deductible is high.")]
    values = [confidence("deductible", hits, vectors_by({"The deductible is high.": c})) for c in (0.0, 0.3, 0.6, 1.0)]
    assert values == sorted(values)
    assert 0 < values[0] < values[-1] < 1
    more = confidence("deductible", hits, vectors_by({"The deductible is high.": 0.5}))
    assert confidence("deductible refrigerant", hits, vectors_by({"The deductible is high.": 0.5})) < more


def test_without_vectors_the_words_decide():
    assert confidence("deductible", [hit("deductible", dense=-1.0)]) > 0.5
    assert confidence("refrigerant", [hit("deductible", dense=1.0)]) < 0.5


def test_what_is_there_is_surer_than_what_is_not():
    encoder = FakeEncoder()
    index = Index.in_memory(passages("The deductible is 500 dollars.", "Vaccines are free.", "Cats."), encoder)
    known, unknown = "How many dollars is the deductible?", "Who won the football match?"
    for retriever, vectors in ((BM25(index), None), (Hybrid(index), encoder.encode)):
        sure, unsure = (confidence(q, retriever.search(q, 3), vectors) for q in (known, unknown))
        assert sure > unsure
