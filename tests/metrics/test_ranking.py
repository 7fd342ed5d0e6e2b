import math
import random
from collections import namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.evaluation_files import write_qrels, write_run
from pdfqa_core.metrics.ranking import RankingMeasure, hit_rate, ndcg, recall, reciprocal_rank

RunLine = namedtuple("RunLine", "topic docno rank score")
Qrel = namedtuple("Qrel", "topic docno relevance")


def rankings(run, qrels):
    """Return each topic's gains by rank and the gains of all that is relevant, sorted as trec_eval does."""
    gold = {topic: {q.docno: q.relevance for q in qrels if q.topic == topic} for topic in {q.topic for q in qrels}}
    return {
        topic: (
            [
                float(relevant.get(line.docno, 0))
                for line in sorted(run, key=lambda one: (one.score, one.docno), reverse=True)
                if line.topic == topic
            ],
            [float(relevance) for relevance in relevant.values() if relevance > 0],
        )
        for topic, relevant in sorted(gold.items())
    }


def read_run(data):
    return [RunLine(c[0], c[2], int(c[3]), float(c[4])) for c in map(str.split, data.decode().splitlines())]


def read_qrels(data):
    return [Qrel(c[0], c[2], int(c[3])) for c in map(str.split, data.decode().splitlines())]


GAINS = st.lists(st.sampled_from([0.0, 1.0]), max_size=30)


def test_the_first_relevant_rank_decides_mrr_and_hit_rate():
    ranking, gold = [0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0]
    assert reciprocal_rank(ranking, gold) == pytest.approx(1 / 3)
    assert [hit_rate(ranking, gold, k) for k in (1, 2, 3, 10)] == [0.0, 0.0, 1.0, 1.0]
    assert recall(ranking, gold, 4) == pytest.approx(2 / 3)
    assert ndcg(ranking, gold, 4) == pytest.approx(
        (1 / math.log2(4) + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / math.log2(4))
    )


def test_nothing_found_is_zero_and_no_gold_is_unscored():
    for measure in (hit_rate, reciprocal_rank, recall, ndcg):
        assert measure([], [1.0], 5) == 0.0
        assert measure([0.0, 0.0], [], 5) is None


@given(GAINS, st.integers(1, 12))
def test_moving_something_relevant_up_never_lowers_a_measure(ranking, k):
    gold = [1.0] * max(1, int(sum(ranking)))
    for place in range(1, len(ranking)):
        if ranking[place] > ranking[place - 1]:
            better = [*ranking]
            better[place - 1], better[place] = better[place], better[place - 1]
            for name in ("HR", "MRR", "R", "nDCG"):
                assert RankingMeasure(name, k)(better, gold) >= RankingMeasure(name, k)(ranking, gold)


def test_names_are_those_of_the_field():
    assert RankingMeasure.parse("nDCG@10") == RankingMeasure("nDCG", 10)
    assert RankingMeasure.parse("MRR").name == "MRR"
    for wrong in ("ndcg", "HR", "R", "MRR@0", "P@5", ""):
        with pytest.raises(UsageError, match=r"HR@5"):
            RankingMeasure.parse(wrong)


def test_the_same_numbers_as_ir_measures_on_random_graded_runs():
    ir = pytest.importorskip("ir_measures")
    rng = random.Random(7)
    run, qrels = [], []
    for topic in range(40):
        documents = [f"d{n}" for n in range(60)]
        found = rng.sample(documents, 30)
        run += [RunLine(f"t{topic}", name, rank, 50.0 - rank) for rank, name in enumerate(found, start=1)]
        qrels += [Qrel(f"t{topic}", name, rng.choice((0, 1, 2))) for name in rng.sample(documents, 12)]
    names = {"HR@5": ir.Success @ 5, "MRR": ir.RR, "R@10": ir.R @ 10, "nDCG@10": ir.nDCG @ 10}
    reference = {
        (value.query_id, name): value.value
        for name, measure in names.items()
        for value in ir.iter_calc(
            [measure],
            [ir.Qrel(q.topic, q.docno, q.relevance) for q in qrels],
            [ir.ScoredDoc(r.topic, r.docno, r.score) for r in run],
        )
    }
    checked = 0
    for topic, (ranking, gold) in rankings(run, qrels).items():
        for name in names:
            if gold:
                assert RankingMeasure.parse(name)(ranking, gold) == pytest.approx(reference[topic, name], abs=1e-9)
                checked += 1
    assert checked > 100


def test_run_and_qrels_files_survive_a_round_trip():
    written = write_run([("q 1", "file.pdf#7", 0.5), ("q 1", "x", 0.5)], "bm25 over windows")
    assert written.startswith(b"q_1 Q0 file.pdf#7 1 0.5 bm25_over_windows\n")
    read = read_run(written)
    assert [(line.topic, line.docno, line.rank) for line in read] == [("q_1", "file.pdf#7", 1), ("q_1", "x", 2)]
    assert read[0].score > read[1].score  # trec_eval goes by the score alone
    assert read_qrels(write_qrels([("q1", "d")])) == [Qrel("q1", "d", 1)]
