"""The card of a model that was trained here: README.md in its folder, with the header that the hub reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pdfqa_core.metrics.statistics import Summary
from pdfqa_core.training.ranks import Compared, said
from pdfqa_core.training.record import TrainingRecord

CARD = "README.md"
NOT_STATED = "not stated"  # of a licence
BUNDLED_REPO = "sentence-transformers/all-MiniLM-L6-v2"
Row = tuple[Summary, Summary, Summary]  # before, after, difference

_CARD = """\
---
base_model: {base}
license: {licence_id}
library_name: sentence-transformers
tags: [sentence-similarity, {kind}]
---

# {name}

A {kind} model, fine-tuned from {base} on questions made of passages of one's own PDFs, by PDFQA, on {day}.
The licence of the base model ({licence}) counts for this one too; the documents may set further limits.

## Scores

{held_out} questions about documents that were held out, among all passages, with 95 % intervals:

{scores}

The held-out documents also chose the step at which training ended, so the scores after it are a little too good.
Questions of people are not touched by that.
{people}{warning}
## Rounds

{rounds}

Kept are questions whose passage the new or the out-of-domain retriever ({retriever}) found among the first {k}.

## How it was made

- Data: {examples} questions, hash `{data_hash}`; recipe `{recipe}`
- Hard negatives: {hard_negatives} a question and step, of the first {k} of {retriever}
- At most {steps} steps a round of {batch} questions, AdamW, learning rate {rate:g}, {precision}, seed {seed}
- {minutes:.0f} minutes of training
- {versions}
{notes}"""


def card(record: TrainingRecord) -> str:
    """Return the model's card as Markdown."""
    settings = record.settings
    rounds = (
        [one.round, one.questions, one.kept, one.steps, *map(_number, (one.loss, one.best.hit_rate, one.best.mrr))]
        for one in record.rounds
    )
    licence_id = "unknown" if record.base_licence == NOT_STATED else record.base_licence.lower()
    return _CARD.format(
        base=record.base or BUNDLED_REPO, licence=record.base_licence, licence_id=licence_id,
        kind=record.kind, name=record.name, day=f"{record.made_at:%Y-%m-%d}", held_out=record.held_out,
        scores=_scores(_rows(record.compared)), people=_people(record),
        warning=f"\n**{record.warning}**\n" if record.warning else "",
        rounds=_table(["round", "questions", "kept", "steps", "loss", f"HR@{settings.k}", "MRR"], rounds),
        retriever=record.retriever, k=record.k, examples=record.examples, data_hash=record.data_hash,
        recipe=record.settings_fingerprint, hard_negatives=settings.hard_negatives, steps=settings.steps,
        batch=settings.batch, rate=settings.learning_rate, precision=settings.precision, seed=settings.seed,
        minutes=record.seconds / 60, versions=", ".join(f"{name} {one}" for name, one in record.versions.items()),
        notes="".join(f"- {note}\n" for note in record.notes),
    )  # fmt: skip


def _people(record: TrainingRecord) -> str:
    """Return a section for each file of questions that the model was measured with."""
    return "".join(
        f"\n## On {name}\n\n{next(iter(scores.values())).before.n} questions of people, with 95 % intervals:\n\n"
        f"{_scores(_rows(scores))}\n"
        for name, scores in record.people.items()
        if scores
    )


def _rows(scores: Mapping[str, Compared]) -> dict[str, Row]:
    return {name: (one.before, one.after, one.difference) for name, one in scores.items()}


def _scores(rows: Mapping[str, Row]) -> str:
    cells = ([name, said(old), said(new), said(gain, sign=True)] for name, (old, new, gain) in rows.items())
    return _table(["", "before", "after", "difference"], cells)


def _table(head: list[str], rows: Iterable[list[object]] | Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
