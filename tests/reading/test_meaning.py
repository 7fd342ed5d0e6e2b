import numpy as np

from pdfqa_core.reading import Meaning


def lengths(texts):
    return np.array([[len(text), 1] for text in texts], dtype=np.float32)


def test_vectors_come_in_the_order_of_the_texts():
    assert Meaning(lengths).vectors(["aaa", "b", "aaa"]).tolist() == [[3, 1], [1, 1], [3, 1]]
    assert Meaning(lengths).vectors([]).shape == (0, 0)


def test_what_is_known_is_not_encoded_again_until_it_is_forgotten():
    calls = []
    meaning = Meaning(lambda texts: calls.append(list(texts)) or lengths(texts), limit=2)
    meaning.vectors(["a", "bb"])
    meaning.vectors(["bb", "ccc"])
    meaning.vectors(["ccc", "a"])
    assert calls == [["a", "bb"], ["ccc"], ["a"]]
    meaning.forget()
    assert meaning.vectors(["a"]).tolist() == [[1, 1]]
    assert calls[3:] == [["a"]]
