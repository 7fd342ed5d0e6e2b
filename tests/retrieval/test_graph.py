import numpy as np
import pytest

from pdfqa_core.errors import StoppedError
from pdfqa_core.retrieval.graph import BATCH, Graph


def vectors(count, seed=0, dimension=24):
    made = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


class Counting:
    """Notes how many vectors were added, and says stop once that many were."""

    def __init__(self, stop_after=10**9):
        self.added = 0
        self.stop_after = stop_after

    def __call__(self, progress):
        self.added = progress.done

    def is_set(self):
        return self.added >= self.stop_after


def nearest(graph, all_vectors, question, k=10):
    rows = graph.candidates(question, k)
    assert len(set(rows.tolist())) == len(rows)
    return rows[np.argsort(-(all_vectors[rows] @ question))][:k].tolist()


def exact(all_vectors, question, k=10):
    return np.argsort(-(all_vectors @ question))[:k].tolist()


def check_finds(graph, all_vectors):
    for question in vectors(5, seed=9):
        assert nearest(graph, all_vectors, question) == exact(all_vectors, question)


def test_what_is_kept_is_not_built_again(tmp_path):
    made = vectors(300)
    built = Graph.open_or_build(tmp_path, made)
    counting = Counting()
    opened = Graph.open_or_build(tmp_path, made, on_progress=counting)
    assert counting.added == 0
    assert opened.recall == built.recall == 1.0
    check_finds(opened, made)


def test_additions_and_removals_change_only_what_they_touch(tmp_path):
    made = vectors(300)
    Graph.open_or_build(tmp_path, made)
    changed = np.concatenate((made[:100], vectors(40, seed=1), made[150:]))
    counting = Counting()
    check_finds(Graph.open_or_build(tmp_path, changed, on_progress=counting), changed)
    assert counting.added == 40
    again = Counting()
    check_finds(Graph.open_or_build(tmp_path, changed, on_progress=again), changed)
    assert again.added == 0


def test_a_graph_of_which_much_was_removed_is_built_anew(tmp_path):
    made = vectors(300)
    Graph.open_or_build(tmp_path, made)
    counting = Counting()
    graph = Graph.open_or_build(tmp_path, made[:200], on_progress=counting)
    assert counting.added == 200
    assert len(graph.rows) == 200
    check_finds(graph, made[:200])


def test_a_stopped_build_goes_on_where_it_was(tmp_path):
    made = vectors(2 * BATCH + 100, dimension=8)
    stop = Counting(stop_after=BATCH)
    with pytest.raises(StoppedError):
        Graph.open_or_build(tmp_path, made, on_progress=stop, stop=stop)
    counting = Counting()
    graph = Graph.open_or_build(tmp_path, made, on_progress=counting)
    assert counting.added == BATCH + 100
    assert graph.recall > 0.95


@pytest.mark.parametrize("name", ["graph.bin", "graph.labels.npy", "graph.json"])
def test_a_damaged_graph_is_built_again(tmp_path, name):
    made = vectors(60)
    Graph.open_or_build(tmp_path, made)
    (tmp_path / name).write_bytes(b'{"dimension": 24}')
    counting = Counting()
    check_finds(Graph.open_or_build(tmp_path, made, on_progress=counting), made)
    assert counting.added == 60


def test_the_recall_is_that_of_the_search(tmp_path):
    made = vectors(1500, dimension=64)
    graph = Graph.open_or_build(None, made)
    sample = np.unique(np.linspace(0, 1499, 100).astype(int))
    shares = []
    for row in sample:
        best = [r for r in exact(made, made[row], 11) if r != row][:10]
        shares.append(len(set(best) & set(graph.candidates(made[row], 10).tolist())) / 10)
    assert graph.recall == pytest.approx(np.mean(shares), abs=0.01)
    assert graph.recall > 0.8
