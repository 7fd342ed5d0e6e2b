"""How fast measures are computed, and what people wait for who work with a study of 10,000 answers.

  words      ROUGE-L of 10,000 pairs of 50 words, against rouge_score; the values are compared too
  bertscore  400 pairs of 5 to 120 words in batches sorted by length, against the plain loop of one pair after the other
  study      the clicks of somebody who rates in a workspace, agreement, result tables and files of a study of 10,000
             answers and two people, each on three passages of 100 words, in conversations of eight turns, which are
             resampled; beside scikit-learn's kappa alone
Seconds are by the clock, the least of three rounds (BERTScore: one), in turn; last the ratio to the baseline.

    python benchmarks/metrics_speed.py [--quick] [--part words|bertscore|study]
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from common import options, rounds, row

from pdfqa_core.exports.studies import rating_rows, write_ratings, write_study
from pdfqa_core.metrics.bertscore import bertscore, greedy_match
from pdfqa_core.metrics.rouge import rouge_l
from pdfqa_core.models.metrics import token_embedder
from pdfqa_core.protocols.annotation import CRITERIA, agreement_table, by_annotator
from pdfqa_core.protocols.study_measures import result_rows, study_agreement
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from pdfqa_core.storage import StudyTurn
from pdfqa_core.storage.records import Annotator, StudyCopy
from pdfqa_core.study_types import Rating, Study
from pdfqa_core.types import Answer, Hit, Passage, Span, Turn

ROUNDS, TURNS, PASSAGES = 3, 8, 3
ANSWER = CRITERIA[1:2]
LEFT = 10  # items that are still open
VOCABULARY = ["the", "a", "an", "of", "and", *(f"word{n}" for n in range(5_000))]
WEIGHTS = [1 / rank for rank in range(1, len(VOCABULARY) + 1)]


def text(rng: random.Random, words: int) -> str:
    """Return words of a Zipf vocabulary."""
    return " ".join(rng.choices(VOCABULARY, WEIGHTS, k=words))


def least(ways: Mapping[str, Callable[[], object]], times: int = ROUNDS) -> dict[str, float]:
    """Print and return the least seconds of each way."""
    found = {name: min(taken) for name, taken in rounds(ways, times).items()}
    for name, seconds in found.items():
        row(name, f"{seconds:.2f} s", first=58)
    return found


def words(quick: bool) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    rng, scorer = random.Random(0), RougeScorer(["rougeL"], use_stemmer=False)
    golds = [text(rng, 50) for _ in range(1_000 if quick else 10_000)]
    pairs = [(f"{gold[: len(gold) // 2]} {text(rng, 25)}", gold) for gold in golds]

    def ours() -> list[float]:
        return [rouge_l(said, [gold]) or 0.0 for said, gold in pairs]

    def theirs() -> list[float]:
        return [scorer.score(gold, said)["rougeL"].fmeasure for said, gold in pairs]

    worst = max(abs(a - b) for a, b in zip(ours(), theirs(), strict=True))
    print(f"{len(pairs):,} pairs; largest difference of a value from rouge_score: {worst:.1e}")
    taken = least({"ROUGE-L": ours, "rouge_score": theirs})
    print(f"rouge_score / ours: {taken['rouge_score'] / taken['ROUGE-L']:.1f}")


def meaning(quick: bool) -> None:
    rng, embedder = random.Random(0), token_embedder()
    lengths = [round(rng.triangular(5, 120, 20)) for _ in range(80 if quick else 400)]
    one, other = ([text(rng, length) for length in lengths] for _ in range(2))

    def loop() -> list[float]:
        found = []
        for pair in zip(one, other, strict=True):
            (first,), (second,) = (embedder.embed([part]) for part in pair)
            marks = [[float(not special) for special in part.special] for part in (first, second)]
            found.append(greedy_match(first.vectors, second.vectors, *marks).f1)
        return found

    batched = partial(bertscore, one, [[gold] for gold in other], embedder)
    worst = max(abs(a.f1 - b) for a, b in zip(batched().items, loop(), strict=True) if a is not None)
    print(f"{len(lengths)} pairs; largest difference of an F1 from the plain loop: {worst:.1e}")
    taken = least({"BERTScore, sorted batches": batched, "plain loop": loop}, 1)
    print(f"plain loop / sorted batches: {taken['plain loop'] / taken['BERTScore, sorted batches']:.2f}")


# ------------------------------------------------------------------ a study


def made_study(items: int) -> StudyCopy:
    """Return a study of so many answers; two people agree on nine of ten."""
    rng, now = random.Random(0), datetime(2026, 1, 1, tzinfo=UTC)
    turns, ratings = [], []
    for place in range(items):
        hits = []
        for rank in range(1, 1 + PASSAGES):
            shown = text(rng, 100)
            passage = Passage(f"{place}-{rank}", (Span("d" * 64, rank, 0, len(shown)),), shown)
            hits.append(Hit(passage, 1 / rank, rank, "bm25", {"bm25": 1 / rank}))
        asked = "How large is it?"
        turn = Turn(f"t{place}", place % TURNS + 1, asked, asked, Answer("Two metres. " * 10, hits=tuple(hits)))
        turns.append(StudyTurn(turn, f"c{place // TURNS}", f"Talk {place // TURNS}", {}))
        right = rng.random() < 0.7
        for name in ("Ada", "Ben"):
            value = str(int(right if rng.random() < 0.95 else not right))
            ratings.append(Rating("s", turn.id, name, "answer", value, "", 5.0, now + timedelta(seconds=place)))
    study = Study("s", "Large", now, "", tuple(one.turn.id for one in turns))
    return StudyCopy(study, tuple(turns), (Annotator("Ada", now), Annotator("Ben", now)), tuple(ratings))


def clicks(copy: StudyCopy) -> None:
    """Measure what somebody who rates waits for, in a workspace that holds the study, its last items still open."""
    left = set(copy.study.turn_ids[-LEFT:])
    ratings = tuple(one for one in copy.ratings if one.turn_id not in left)
    asked = replace(copy, study=replace(copy.study, criteria=ANSWER), ratings=ratings)
    with tempfile.TemporaryDirectory() as folder, Services.open(Path(folder), Settings()) as services:
        study_id = services.studies.files.take_in(LOCAL_OWNER, write_study(asked), "study.zip").id
        studies, place = services.studies, (LOCAL_OWNER, study_id, "Ada")
        turn = studies.next(*place)
        least({
            "queue: the next item": partial(studies.next, *place),
            "a choice is saved": partial(studies.save, *place, turn, {(turn, ANSWER[0].name): "1"}, draft=True),
            "the item and the form": partial(studies.item, *place, turn),
            "who is how far": partial(studies.results, *place),
        })  # fmt: skip


def study(quick: bool) -> None:
    from sklearn.metrics import cohen_kappa_score

    copy = made_study(1_000 if quick else 10_000)
    given = by_annotator(copy.ratings)
    talks = {one.turn.id: one.conversation_id for one in copy.turns}
    turns = [(one.conversation_title, one.turn) for one in copy.turns]
    first, second = ([rating.value for rating in given[name].values()] for name in ("Ada", "Ben"))
    people = {"annotators": ("Ada", "Ben"), "conversations": talks}
    kappa, pair = (
        "scikit-learn: kappa alone, without an interval",
        "agreement of the pair, all statistics with intervals",
    )
    clicks(copy)
    taken = least({
        kappa: partial(cohen_kappa_score, first, second),
        pair: partial(agreement_table, given["Ada"], given["Ben"], ANSWER, **people),
        "agreement report: alpha, AC1, the pair, over time": partial(study_agreement, given, ANSWER, talks),
        "result tables": partial(result_rows, turns, given, ANSWER),
        "the study as ZIP": partial(write_study, copy),
        **{
            f"ratings as {kind}": lambda kind=kind: write_ratings(
                rating_rows(copy.study, copy.turns, copy.ratings), kind
            )
            for kind in ("csv", "wide", "jsonl", "parquet")
        },
    })  # fmt: skip
    print(f"agreement of the pair / kappa alone: {taken[pair] / taken[kappa]:.1f}")


PARTS: Mapping[str, Callable[[bool], None]] = {"words": words, "bertscore": meaning, "study": study}


def main() -> None:
    parser = options(__doc__, quick="a fifth or a tenth of the pairs and items")
    parser.add_argument("--part", choices=PARTS, default="study")
    chosen = parser.parse_args()
    PARTS[chosen.part](chosen.quick)


if __name__ == "__main__":
    main()
