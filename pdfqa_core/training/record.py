"""What is known of a model that was trained here, kept beside its weights; `card` tells it to people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.json_codec import decode
from pdfqa_core.metrics.statistics import Summary
from pdfqa_core.training.base import TrainingSettings
from pdfqa_core.training.checkpoint import RoundRecord, Scored
from pdfqa_core.training.leakage import TrainedOn
from pdfqa_core.training.negatives import NOTHING_HELD_OUT, Compared, said

RECORD = "training.json"
NO_HELP = (
    "Training did not help: on held-out questions the model is not better than the one it started from. Use that one."
)
UNCERTAIN = (
    "The model is better on held-out questions, but so few or so little that it may be chance (the interval of the "
    "difference includes 0)."
)


@dataclass(frozen=True, slots=True)
class TrainingRecord:
    """How a model came about.

    `base` is the model it started from ("" the bundled one), `retriever` the out-of-domain one that hard negatives are
    of, among its first `k`. `trained_on` keeps others from measuring the model with what it has seen. `compared` are
    scores of `held_out` questions before and after, among all passages; `people` are those of questions of people, by
    the name of their file and by measure.
    """

    name: str
    kind: str
    base: str
    base_licence: str
    data_hash: str
    settings_fingerprint: str
    retriever: str
    k: int
    settings: TrainingSettings
    examples: int
    held_out: int
    rounds: tuple[RoundRecord, ...]
    scores: tuple[Scored, ...]
    losses: tuple[tuple[int, int, float], ...]
    compared: Mapping[str, Compared]
    seconds: float
    made_at: datetime
    versions: Mapping[str, str]
    trained_on: TrainedOn
    notes: tuple[str, ...] = ()
    people: Mapping[str, Mapping[str, Compared]] = field(default_factory=dict)

    @property
    def helped(self) -> bool | None:
        """Whether HR@k or, where that is the same, MRR rose on held-out questions; None where none are held out."""
        gains = [one.difference.mean or 0.0 for one in self.compared.values()]
        return gains > [0.0] * len(gains) if gains else None

    @property
    def warning(self) -> str:
        """Sentences where training did not help, on held-out questions or those of people; "" where it did on all."""
        found = [NO_HELP] if self.helped is False else []
        if self.helped and not any(one.better for one in self.compared.values()):
            found.append(UNCERTAIN)
        for name, scores in self.people.items():
            if scores and (words := _on_people(name, scores, helped=self.helped is not False)):
                found.append(words)
        return " ".join(found)

    @property
    def verdict(self) -> str:
        """The warning, else on which questions the model is better; with nothing held out that first."""
        if not self.compared:
            return f"{NOTHING_HELD_OUT} {self.warning}".strip()
        people = "".join(f" and on those of {name}" for name in self.people)
        return self.warning or f"Better than its base on held-out questions{people}; the interval is above 0."


def _on_people(name: str, scores: Mapping[str, Compared], *, helped: bool) -> str:
    """Return what questions of people say where they differ from held-out ones, or tell against the model."""
    n = next(iter(scores.values())).before.n
    better = any(one.better for one in scores.values())
    worse = any(one.worse for one in scores.values())
    gains = ", ".join(f"{measure} {said(one.difference, sign=True)}" for measure, one in scores.items())
    if better and not worse:
        return "" if helped else f"On the {n} questions of people in {name} it is better, though ({gains})."
    found = "is no better"
    if worse:
        found = "is better by one measure, worse by another" if better else "is worse"
    ending = (
        "What it learnt from made questions need not help people: use the model that it started from, or measure with "
        "more of their questions."
    )
    return f"On the {n} questions of people in {name} it {found} ({gains}). {ending}"


def read_record(folder: Path) -> TrainingRecord | None:
    """Return the record in a model's folder; None where the model was not trained here, or it is damaged."""
    try:
        return decode(TrainingRecord, (folder / RECORD).read_bytes())
    except (OSError, UsageError):
        return None


# ----------------------------------------------------------------------------------------------------
# The card of a model that was trained here: README.md in its folder, with the header that the hub reads.

CARD = "README.md"
NOT_STATED = "not stated"  # of a licence
BUNDLED_REPO = "sentence-transformers/all-MiniLM-L6-v2"
Row = tuple[Summary, Summary, Summary]  # before, after, difference

_HELD_OUT = """\
{held_out} questions about documents that were held out, among all passages, with 95 % intervals:

{scores}

The held-out documents also chose the step at which training ended, so the scores after it are a little too good.
Questions of people are not touched by that."""
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

{scores}
{people}{warning}
## Rounds

{rounds}

Kept are questions whose passage the new or the out-of-domain retriever ({retriever}) found among the first {k}.

## How it was made

- Data: {examples} questions, hash `{data_hash}`; recipe `{recipe}`
- Hard negatives: {hard_negatives} a question and step, of the first {k} of {retriever}
- Compared by {similarity}
- At most {steps} steps a round of {batch} questions, AdamW, learning rate {rate:g}, {precision}, seed {seed}
- {minutes:.0f} minutes of training
- {versions}
{notes}"""


def card(record: TrainingRecord) -> str:
    """Return the model's card as Markdown."""
    settings = record.settings
    rounds = (
        [one.round, one.questions, one.kept, one.steps, *map(_number, (one.loss, *one.best_scores))]
        for one in record.rounds
    )
    licence_id = "unknown" if record.base_licence == NOT_STATED else record.base_licence.lower()
    return _CARD.format(
        base=record.base or BUNDLED_REPO,
        licence=record.base_licence,
        licence_id=licence_id,
        kind=record.kind,
        name=record.name,
        day=f"{record.made_at:%Y-%m-%d}",
        scores=_HELD_OUT.format(held_out=record.held_out, scores=_scores(_rows(record.compared)))
        if record.compared
        else NOTHING_HELD_OUT,
        people=_people(record),
        warning=f"\n**{record.warning}**\n" if record.warning else "",
        rounds=_table(["round", "questions", "kept", "steps", "loss", f"HR@{settings.k}", "MRR"], rounds),
        retriever=record.retriever,
        k=record.k,
        examples=record.examples,
        data_hash=record.data_hash,
        recipe=record.settings_fingerprint,
        similarity="inner product" if settings.similarity == "dot" else "cosine",
        hard_negatives=settings.hard_negatives,
        steps=settings.steps,
        batch=settings.batch,
        rate=settings.learning_rate,
        precision=settings.precision,
        seed=settings.seed,
        minutes=record.seconds / 60,
        versions=", ".join(f"{name} {one}" for name, one in record.versions.items()),
        notes="".join(f"- {note}\n" for note in record.notes),
    )


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
