from __future__ import annotations

import random
from dataclasses import replace

from pdfqa_core.evaluation_types import Evaluation, ScoredItem, ScoredSystem
from pdfqa_core.metrics.comparison import compare


def test_questions_of_one_conversation_are_resampled_together() -> None:
    chance = random.Random(3)
    talks = [chance.random() for _ in range(12)]
    apart = tuple(
        ScoredItem(f"{talk}-{n}", {"MRR": min(1.0, talks[talk] + chance.random() / 20)})
        for talk in range(12)
        for n in range(6)
    )
    together = tuple(replace(item, conversation=item.id.partition("-")[0]) for item in apart)

    def width(items: tuple[ScoredItem, ...]) -> float:
        evaluation = Evaluation("retrieval", "gold", ("MRR",), (ScoredSystem("one", items),))
        summary = compare(evaluation).cells["one"]["MRR"].summary
        return summary.high - summary.low

    assert width(together) > 1.8 * width(apart)
    assert width(together[: 9 * 6]) == width(apart[: 9 * 6])  # nine conversations are too few to resample
