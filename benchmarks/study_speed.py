"""A study of 10,000 items and two people: clicks, agreement and files in seconds, beside scikit-learn's kappa alone.

Seconds are by the clock and of the processor, the least of three runs. Items are answers in conversations of eight
turns, 1,250 of them, so that conversations are resampled. The clicks are those of somebody who rates in a workspace,
the last ten items still open. Each answer stands on three passages of 100 words. --quick: 1,000 items.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sklearn.metrics import cohen_kappa_score

from pdfqa_core.exports.studies import rating_rows, write_ratings, write_study
from pdfqa_core.protocols.annotation import CRITERIA, agreement_table, by_annotator
from pdfqa_core.protocols.study_measures import result_rows, study_agreement
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from pdfqa_core.storage import StudyTurn
from pdfqa_core.storage.records import Annotator, StudyCopy
from pdfqa_core.study_types import Rating, Study
from pdfqa_core.types import Answer, Hit, Passage, Span, Turn

ANSWER = CRITERIA[1:2]
TURNS = 8
PASSAGES, WORDS = 3, 100
LEFT = 10  # items that are still open


def study(items: int) -> StudyCopy:
    """Return a study of so many answers; two people agree on nine of ten."""
    rng, now = random.Random(0), datetime(2026, 1, 1, tzinfo=UTC)
    turns, ratings = [], []
    for place in range(items):
        answer = Answer(
            "Two metres. " * 10, hits=tuple(hit(rng, f"{place}-{rank}", rank) for rank in range(1, 1 + PASSAGES))
        )
        turn = Turn(f"t{place}", place % TURNS + 1, "How large is it?", "How large is it?", answer)
        turns.append(StudyTurn(turn, f"c{place // TURNS}", f"Talk {place // TURNS}", {}))
        right = rng.random() < 0.7
        for name in ("Ada", "Ben"):
            value = str(int(right if rng.random() < 0.95 else not right))
            ratings.append(Rating("s", turn.id, name, "answer", value, "", 5.0, now + timedelta(seconds=place)))
    made = Study("s", "Large", now, "", tuple(one.turn.id for one in turns))
    return StudyCopy(made, tuple(turns), (Annotator("Ada", now), Annotator("Ben", now)), tuple(ratings))


def hit(rng: random.Random, name: str, rank: int) -> Hit:
    """Return a passage of words that no other has in this order."""
    text = " ".join(f"word{rng.randrange(5_000)}" for _ in range(WORDS))
    return Hit(Passage(name, (Span("d" * 64, rank, 0, len(text)),), text), 1 / rank, rank, "bm25", {"bm25": 1 / rank})


def clicks(copy: StudyCopy) -> None:
    """Measure what somebody who rates waits for, in a workspace that holds the study."""
    left = set(copy.study.turn_ids[-LEFT:])
    ratings = tuple(one for one in copy.ratings if one.turn_id not in left)
    asked = replace(copy, study=replace(copy.study, criteria=ANSWER), ratings=ratings)
    with tempfile.TemporaryDirectory() as folder, Services.open(Path(folder), Settings()) as services:
        study_id = services.study_files.take_in(LOCAL_OWNER, write_study(asked), "study.zip").id
        studies, place = services.studies, (LOCAL_OWNER, study_id, "Ada")
        turn = studies.next(*place)
        value = {(turn, ANSWER[0].name): "1"}
        measured("queue: the next item", lambda: studies.next(*place))
        measured("a choice is saved", lambda: studies.save(*place, turn, value, draft=True))
        measured("the item and the form", lambda: studies.item(*place, turn))
        measured("who is how far", lambda: studies.results(LOCAL_OWNER, study_id, "Ada"))


def written(copy: StudyCopy, kind: str) -> bytes:
    """Return the ratings as a file."""
    return write_ratings(rating_rows(copy.study, copy.turns, copy.ratings), kind)


def measured(words: str, call: Callable[[], object]) -> None:
    """Print how long a call takes by the clock and keeps the processor busy, the least of three."""
    clock, processor = [], []
    for _ in range(3):
        began, busy = time.perf_counter(), time.process_time()
        call()
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - busy)
    print(f"{words:<58}{min(clock):7.2f} s{min(processor):7.2f} s")


def main() -> None:
    """Measure."""
    copy = study(1_000 if "--quick" in sys.argv else 10_000)
    given = by_annotator(copy.ratings)
    talks = {one.turn.id: one.conversation_id for one in copy.turns}
    turns = [(one.conversation_title, one.turn) for one in copy.turns]
    first, second = ([rating.value for rating in given[name].values()] for name in ("Ada", "Ben"))
    print(f"{len(copy.turns):,} items, 2 annotators")
    clicks(copy)
    measured("scikit-learn: kappa alone, without an interval", lambda: cohen_kappa_score(first, second))
    measured(
        "agreement of the pair, all statistics with intervals",
        lambda: agreement_table(given["Ada"], given["Ben"], ANSWER, annotators=("Ada", "Ben"), conversations=talks),
    )
    measured("agreement report: alpha, AC1, the pair, over time", lambda: study_agreement(given, ANSWER, talks))
    measured("result tables, 1,250 conversations by 3 raters", lambda: result_rows(turns, given, ANSWER))
    for kind in ("csv", "wide", "jsonl", "parquet"):
        measured(f"ratings as {kind}", lambda kind=kind: written(copy, kind))  # type: ignore[misc]
    measured("the study as ZIP", lambda: write_study(copy))


if __name__ == "__main__":
    main()
