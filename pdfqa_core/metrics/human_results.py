"""What the ratings of people say of a system: accuracy of answers and HR@k of passages, by turn, conversation, intent.

Pure functions over judged turns; knows nothing of studies, files or screens. The protocol is MaHuEval (manual human
evaluation of conversational question answering).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import fsum

from pdfqa_core.metrics.statistics import Interval, Summary, cluster_bootstrap, exact_interval

RESAMPLES = 2_000
CUTOFFS = (1, 3, 5, 10)  # of HR@k, with the number of passages that were shown
MAJORITY, ADJUDICATED = "majority", "adjudicated"
POOLED = "all evaluators"  # the turns of all of them, each as its own evaluator judged it
ACCURACY = "accuracy"
OVERALL, TURN, CONVERSATION, INTENT, SYSTEM = "overall", "turn", "conversation", "intent", "system"
GROUPS = (OVERALL, SYSTEM, TURN, INTENT, CONVERSATION)
NO_INTENT = "not agreed"


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """A turn as one rater sees it. `answer` is 1 (correct), 0, or None where the rater has not judged it.

    `passages` holds the same for each passage that was shown, by rank. `intent` is empty where the rater named none.
    `scores` are what the rater said under other criteria with numbers; `system` is who answered, where that is known.
    """

    conversation: str
    number: int
    intent: str = ""
    answer: float | None = None
    passages: tuple[float | None, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    system: str = ""

    def hit(self, k: int) -> float | None:
        """Return whether one of the first k passages is relevant; None where what is not judged would decide it.

        A turn without passages is a miss once the rater has judged anything about it.
        """
        first = self.passages[:k]
        if 1.0 in first:
            return 1.0
        seen = bool(first) or self.answer is not None or bool(self.intent)
        return 0.0 if seen and None not in first else None


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A cell of the result tables: a measure of one rater's turns in one group.

    `rater` is an annotator, MAJORITY, ADJUDICATED or POOLED; `group` is one of GROUPS and `value` names the turn
    number, intent or conversation, empty for OVERALL. `summary` is the mean with its interval and n; `conversations`
    counts those that the scored turns come from.
    """

    rater: str
    group: str
    value: str
    measure: str
    summary: Summary
    conversations: int


def majority(values: Sequence[str]) -> str:
    """Return the value that more than half of two or more raters gave; empty where there is none.

    Of two raters it is what both say.
    """
    if len(values) < 2:
        return ""
    most = max(dict.fromkeys(values), key=values.count)
    return most if 2 * values.count(most) > len(values) else ""


def human_results(
    raters: Sequence[tuple[str, Sequence[JudgedTurn]]],
    *,
    intents: Sequence[str] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[ResultRow, ...]:
    """Return accuracy and HR@k of each rater overall, by turn number, by intent and by conversation.

    `raters` gives the turns as each of them sees them; `intents` the order of the intents. Turns whose intent a rater
    did not name, or the raters do not agree on, form the group NO_INTENT. Several systems are groups too;
    conversations are not where each has one turn. A measure that nobody could score is left
    out. The intervals are those of `clustered_mean`: conversations are resampled, within one conversation its turns.
    Source of the protocol: MaHuEval.
    """
    depth = max((len(turn.passages) for _, turns in raters for turn in turns), default=0)
    cutoffs = sorted({*(k for k in CUTOFFS if k < depth), *([depth] if depth else [])})
    measures: list[tuple[str, Callable[[JudgedTurn], float | None]]] = [(ACCURACY, lambda turn: turn.answer)]
    measures += [(f"HR@{k}", lambda turn, k=k: turn.hit(k)) for k in cutoffs]  # type: ignore[misc]
    others = dict.fromkeys(name for _, turns in raters for turn in turns for name in turn.scores)
    measures += [(name, lambda turn, name=name: turn.scores.get(name)) for name in others]  # type: ignore[misc]
    rows = []
    for rater, turns in raters:
        for group, value, chosen in _groups(turns, intents):
            for measure, score in measures:
                scores = [score(turn) for turn in chosen]
                clusters: list[Hashable] = [turn.conversation for turn in chosen]
                counted = {c for c, one in zip(clusters, scores, strict=True) if one is not None}
                if group == CONVERSATION:
                    clusters = [*range(len(chosen))]
                share = measure not in others
                found = clustered_mean(scores, clusters, proportion=share, seed=seed, resamples=resamples)
                rows.append(ResultRow(rater, group, value, measure, found, len(counted)))
    scored = {row.measure for row in rows if row.summary.n}
    return tuple(row for row in rows if row.measure in scored)


def clustered_mean(
    values: Sequence[float | None],
    clusters: Sequence[Hashable],
    *,
    proportion: bool = False,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Summary:
    """Return the mean of the values that are not None with its 95 % interval, None with fewer than two clusters.

    `clusters[i]` names what value i shares with others: clusters are drawn with replacement, as many as there are, and
    the 2.5th and 97.5th percentile of the means are the interval. Where all values of a `proportion` are 0 or all are 1
    it is the exact one for as many independent values as there are clusters; of other values that are all the same
    there is no interval.
    Sources: cluster bootstrap, Davison and Hinkley 1997, section 3.8; Clopper and Pearson 1934.
    """
    sums: dict[Hashable, list[float]] = {}
    for cluster, value in zip(clusters, values, strict=True):
        if value is not None:
            sums.setdefault(cluster, []).append(value)
    scored = [value for group in sums.values() for value in group]
    if not scored:
        return Summary(0, len(values), None, None, None)
    mean = fsum(scored) / len(scored)
    interval, exact = Interval(), proportion and len(sums) > 1 and mean in (0, 1)
    if exact:
        interval = exact_interval(mean, len(sums))
    elif len(sums) > 1:
        parts = tuple(sorted((fsum(group), len(group)) for group in sums.values()))
        interval = _mean_interval(parts, seed, resamples)
    return Summary(len(scored), len(values) - len(scored), mean, interval.low, interval.high, exact)


@lru_cache(maxsize=4096)  # small groups of 0 and 1 are alike: of 1,250 conversations most
def _mean_interval(parts: tuple[tuple[float, int], ...], seed: int, resamples: int) -> Interval:
    import numpy as np

    return cluster_bootstrap(np.array(parts), lambda drawn: drawn[:, 0] / drawn[:, 1], seed=seed, resamples=resamples)


def _groups(turns: Sequence[JudgedTurn], intents: Sequence[str]) -> list[tuple[str, str, list[JudgedTurn]]]:
    """Return (group, value, turns) of every group, turn numbers ascending, intents and conversations in their order."""
    found = [(OVERALL, "", list(turns))]
    systems = dict.fromkeys(turn.system for turn in turns)
    if len(systems) > 1:
        found += [(SYSTEM, name, [turn for turn in turns if turn.system == name]) for name in systems]
    for number in sorted({turn.number for turn in turns}):
        found.append((TURN, str(number), [turn for turn in turns if turn.number == number]))
    named = dict.fromkeys((*intents, *(turn.intent for turn in turns if turn.intent), ""))
    by_intent = {name: [turn for turn in turns if turn.intent == name] for name in named}
    if any(by_intent[name] for name in named if name):
        found += [(INTENT, name or NO_INTENT, chosen) for name, chosen in by_intent.items() if chosen]
    by_conversation: dict[str, list[JudgedTurn]] = {}
    for turn in turns:
        by_conversation.setdefault(turn.conversation, []).append(turn)
    if len(by_conversation) == len(turns) > 1:
        return found
    return found + [(CONVERSATION, name, chosen) for name, chosen in by_conversation.items()]
