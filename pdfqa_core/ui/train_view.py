"""What the Train tab shows: the path with its steps, what was made, curves, scores before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pdfqa_core.metrics.statistics import Summary
from pdfqa_core.services import Outcome, SyntheticQuestion
from pdfqa_core.services.training import TrainJob, Work
from pdfqa_core.synthesis import RULES
from pdfqa_core.training import ROUNDS, Scored
from pdfqa_core.ui.components import plural, render

STEPS = ("generate", "review", "train", "compare")
TITLES = {"generate": "Make questions", "review": "Review them", "train": "Train", "compare": "Compare"}
NEEDS = {
    "generate": "Needs documents. Takes seconds by rules, some seconds a question by the language model.",
    "review": "Needs questions. About five seconds each, one key each.",
    "train": "Needs accepted questions: a few hundred for a model that can be trusted. Minutes to an hour.",
    "compare": "Needs a trained model. Says whether it is better before anything is switched.",
}
ENOUGH = 50  # accepted questions from which training is what comes next
WIDTH, HEIGHT = 360.0, 120.0  # of a plot, in the units of the SVG
MOST_POINTS = 400  # of a curve


@dataclass(frozen=True, slots=True)
class Facts:
    """Where the owner stands on the path: questions by outcome, names of trained models, what goes on."""

    documents: int
    counts: Mapping[Outcome, int]
    models: tuple[str, ...]
    stopped: tuple[str, ...]
    used: str
    job: TrainJob | None

    @property
    def waiting(self) -> int:
        """Questions nobody has decided about."""
        return self.counts.get(Outcome.NEW, 0)

    @property
    def accepted(self) -> int:
        """Questions that were accepted."""
        return self.counts.get(Outcome.ACCEPTED, 0)

    @property
    def made(self) -> int:
        """Questions that no guard dropped."""
        return self.waiting + self.accepted + self.counts.get(Outcome.REJECTED, 0)

    @property
    def going(self) -> str:
        """The step that is under way; "" for none."""
        if self.job is None or not self.job.running:
            return ""
        return "generate" if self.job.work is Work.MAKING else "train"

    @property
    def next(self) -> str:
        """The step that comes next."""
        if not self.made:
            return "generate"
        if self.waiting and self.accepted < ENOUGH and not self.models and not self.stopped:
            return "review"
        return "compare" if self.models else "train" if self.accepted else "generate"

    def done(self, step: str) -> bool:
        """Whether a step needs nothing more."""
        return {
            "generate": self.made > 0,
            "review": self.accepted > 0 and not self.waiting,
            "train": bool(self.models),
            "compare": self.used in self.models,
        }[step]

    def said(self, step: str) -> str:
        """Return in words how far a step is."""
        left = f"{self.waiting:,} to look at" if self.waiting else "all looked at"
        models = plural(len(self.models), "model") if self.models else ""
        waits = self.stopped and not self.going
        stopped = f"{plural(len(self.stopped), 'training')} stopped, can go on" if waits else ""
        found = {
            "generate": plural(self.made, "question") if self.made else "",
            "review": f"{self.accepted:,} accepted, {left}" if self.made else "",
            "train": stopped or models,
            "compare": f"{self.used} is in use" if self.used in self.models else models and f"{models} to compare",
        }
        return found[step] or NEEDS[step]


def path_html(facts: Facts, open_step: str, *, demo: bool) -> str:
    """Return the steps: which are done, which is open, which comes next, which is under way."""
    rows = [
        {
            "name": step,
            "number": number,
            "title": TITLES[step],
            "words": facts.said(step),
            "done": facts.done(step),
            "open": step == open_step,
            "next": step == facts.next and not facts.done(step),
            "going": step == facts.going,
        }
        for number, step in enumerate(STEPS, start=1)
    ]
    return render("train_path", rows=rows, demo=demo)


# ------------------------------------------------------------ questions


def made_by(questions: Sequence[SyntheticQuestion]) -> tuple[tuple[str, int], ...]:
    """Return in words who made the questions, and how many each."""
    counts = Counter("rules" if one.kind == RULES else f"{one.model} ({one.kind})" for one in questions)
    return tuple(counts.most_common())


def made_html(questions: Sequence[SyntheticQuestion], filenames: Mapping[str, str], job: TrainJob | None) -> str:
    """Return how many questions there are of each document, who made them, and why some were dropped."""
    kept = [one for one in questions if one.outcome is not Outcome.DROPPED]
    dropped = [one for one in questions if one.outcome is Outcome.DROPPED]
    by_document: dict[str, Counter[str]] = {}
    for one in questions:
        by_document.setdefault(one.document_id, Counter())[one.outcome.value] += 1
    rows = [(filenames.get(name, "removed"), counts) for name, counts in by_document.items()]
    result = job.result if job is not None and job.work is Work.MAKING and not job.running else None
    return render(
        "train_made",
        count=len(kept),
        makers=made_by(kept),
        rows=sorted(rows, key=lambda row: row[0]),
        dropped=len(dropped),
        reasons=Counter(one.reason for one in dropped).most_common(),
        result=result,
        rejected=sum(one.outcome is Outcome.REJECTED for one in kept),
    )


def pages_of(one: SyntheticQuestion) -> str:
    """Return where a passage stands: "p. 3", "p. 3–4"."""
    pages = sorted({span.page for span in one.spans})
    return f"p. {pages[0]}" if len(pages) == 1 else f"p. {pages[0]}–{pages[-1]}"


# ------------------------------------------------------------ training


def curves_html(job: TrainJob, steps: int, k: int) -> str:
    """Return the loss of each step and the scores on held-out questions as two plots; empty before there is any."""
    if not job.losses and not job.scores:
        return ""
    total = steps * ROUNDS

    def x(number: int, step: int) -> float:
        return round(WIDTH * min(1.0, ((number - 1) * steps + step) / total), 1)

    losses = job.losses[:: max(1, len(job.losses) // MOST_POINTS)]
    top = max((loss for _, _, loss in job.losses), default=1.0) or 1.0

    def line(points: Sequence[tuple[float, float]], highest: float) -> str:
        return " ".join(f"{at},{round(HEIGHT * (1 - value / highest), 1)}" for at, value in points)

    def points(of: str) -> list[tuple[float, float]]:
        return [(x(one.round, one.step), getattr(one, of)) for one in job.scores]

    last = job.scores[-1] if job.scores else None
    return render(
        "train_curves",
        width=WIDTH,
        height=HEIGHT,
        middle=WIDTH / ROUNDS,
        total=total,
        top=f"{top:.2f}",
        k=k,
        measured=job.prepared is None or job.prepared.held_out > 0,
        loss=line([(x(number, step), loss) for number, step, loss in losses], top),
        now=job.losses[-1] if job.losses else None,
        last=last,
        best=_best(job.scores),
        hits=line(points("hit_rate"), 1.0),
        mrr=line(points("mrr"), 1.0),
        dots=[(at, round(HEIGHT * (1 - value), 1)) for at, value in points("hit_rate")],
    )


def _best(scores: Sequence[Scored]) -> Scored | None:
    return max(scores, key=lambda one: one.key, default=None)


# ------------------------------------------------------------ before and after


def compared_rows(rows: Mapping[str, tuple[Summary, Summary, Summary]]) -> list[dict[str, Any]]:
    """Return the rows of a table before and after; each value is (before, after, difference).

    The tone of a difference is "good", "bad" or "".
    """
    found = []
    for name, (before, after, difference) in rows.items():
        low, high = difference.low, difference.high
        tone = "" if low is None or high is None else "good" if low > 0 else "bad" if high < 0 else ""
        interval = "" if low is None or high is None else f"[{low:+.3f}, {high:+.3f}]"
        gain = "–" if difference.mean is None else f"{difference.mean:+.3f}"
        cells = (_cell(before), _cell(after))
        found.append(
            {"name": name, "cells": cells, "difference": gain, "interval": interval, "tone": tone, "n": before.n}
        )
    return found


def _cell(summary: Summary) -> tuple[str, float, float, float, bool]:
    """Return a mean, left and width of its interval, the mean in percent of the bar, and whether there is a bar."""
    if summary.mean is None:
        return "–", 0.0, 0.0, 0.0, False
    if summary.low is None or summary.high is None:
        return f"{summary.mean:.3f}", 0.0, 0.0, 0.0, False
    low, high, mean = (round(100 * min(1.0, max(0.0, one)), 1) for one in (summary.low, summary.high, summary.mean))
    return f"{summary.mean:.3f}", low, round(high - low, 1), mean, True
